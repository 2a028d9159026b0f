"""The simulated dispatcher through its binding, and a table that is no text."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from steelyard import _core
from steelyard.cli.commands import cli
from steelyard.errors import InputError
from steelyard.subjects.dispatcher.machine import read_table


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not a text file"):
        read_table(str(tmp_path / "binary"))


def test_a_quantum_finer_than_a_millisecond_counts_in_ticks(tmp_path: Path) -> None:
    place = tmp_path / "fine.table"
    # 200 us: the resolution that `dispadmin -r 1000000` prints
    place.write_text(read_table("standard").text.replace("RES=1000", "RES=1000000"))
    assert read_table(str(place), hz=10_000).levels()[0]["quantum_ms"] == 0.2
    assert read_table(str(place), hz=100).levels()[0]["quantum_ms"] == 10
    life = {"tables": {"ts": read_table(str(place), hz=10_000).text}, "class": "TS", "from": 0, "hz": 10_000}
    told = json.loads(_core.dispatch_life(json.dumps({**life, "behaviour": "cpu-bound", "seconds": 0.1})))
    assert told["quantum_ms"][0] == 0.2


def test_an_endless_quantum_of_real_time_is_refused_by_its_name(tmp_path: Path) -> None:
    place = tmp_path / "rt.table"
    place.write_text(read_table("standard", "RT").text.replace("      1000 ", "        -2 ", 1))
    with pytest.raises(
        InputError, match=r"rt.table:6: quantum -2 is endless \(RT_TQINF\), .*: write 1000000000"
    ):
        read_table(str(place), "RT")


def plan(**changes: Any) -> dict[str, Any]:
    exponential = {"kind": "exponential", "mean_us": 2000}
    return {
        "machine": {"cpus": 4, "clock_ghz": 2.0, "memory_latency_ns": 400, "cache_kib": 4096},
        "tables": {"ts": "standard"},
        "groups": [
            {"name": "oltp", "count": 6, "cpu": exponential, "sleep": exponential, "working_set_kib": 512},
            {"name": "hog", "count": 3, "cpu": {"kind": "fixed", "mean_us": 1e5},
             "sleep": {"kind": "fixed", "mean_us": 0}},
        ],
        "warm_up_s": 1.5, "measure_s": 3, "seed": 7,
    } | changes  # fmt: skip


def simulated(wish: dict[str, Any]) -> dict[str, Any]:
    return json.loads(_core.dispatch_run(json.dumps(wish), lambda line: None))


def rows(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def test_the_result_has_the_shape_of_every_engine() -> None:
    told = simulated(plan())
    assert [(row["phase"], row["start_ns"], row["end_ns"]) for row in rows(told["phases"])] == [
        ("warm-up", 0, 1_500_000_000),
        ("measure", 1_500_000_000, 4_500_000_000),
    ]
    throughput = rows(told["throughput"])
    assert sorted({row["second"] for row in throughput}) == [-2, -1, 0, 1, 2]
    measured = {
        name: sum(r["count"] for r in throughput if r["statement"] == name and r["second"] >= 0)
        for name in ("oltp", "hog", "transaction")
    }
    assert measured["transaction"] == measured["oltp"] + measured["hog"] > 0
    for row in rows(told["latency"]):
        count, *_ = _core.histogram_summary(base64.b64decode(row["histogram_base64"]))
        assert count == row["count"] == measured[row["statement"]]
    assert sum(told["clients"]["transactions"]) == measured["transaction"]
    assert [row["client"] for row in rows(told["clients"])] == list(range(9))


def test_the_samples_account_for_all_time() -> None:
    last = {(row["entity"], row["metric"]): row["value"] for row in rows(simulated(plan())["samples"])}
    parts = ("cpu_ns_total", "wait_ns_total", "sleep_ns_total")
    for entity, threads in (("oltp", 6), ("hog", 3), ("total", 9)):
        assert sum(last[entity, part] for part in parts) == threads * 4.5e9
    ranked = sum(value for (_, metric), value in last.items() if metric == "priority_ns_total")
    assert ranked == 2 * (last["total", "cpu_ns_total"] + last["total", "wait_ns_total"])


def test_the_same_seed_gives_the_same_result_another_does_not() -> None:
    first, second, third = (simulated(plan(seed=seed)) for seed in (7, 7, 8))
    for one in (first, second, third):
        del one["engine"]
    assert first == second != third


def test_the_trace_tells_stints_and_reasons() -> None:
    told = simulated(plan(trace={"threads": ["hog:0"], "from_s": 1, "to_s": 2}))["trace"]
    stints = rows(told["intervals"])
    assert {row["thread"] for row in stints} == {"hog:0"}
    assert all(10**9 <= row["start_ns"] < row["end_ns"] <= 2 * 10**9 for row in stints)
    assert {row["reason"] for row in rows(told["priorities"])} <= {"expired", "waited", "returned"}


def test_of_many_threads_a_thousand_are_told() -> None:
    many = plan(warm_up_s=0, measure_s=0.2)
    many["groups"][0]["count"] = 2500
    told = simulated(many)
    assert told["engine"]["clients_told"] == len(told["clients"]["client"]) <= 1000
    assert told["phases"]["clients"] == [2503]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"machine": {"cpus": 0, "clock_ghz": 1, "memory_latency_ns": 1, "cache_kib": 1}}, "machine.cpus"),
        ({"groups": []}, "groups"),
        ({"tables": {"ts": "RES=1000\n1 2 3\n"}}, "tables.ts: line 2"),
        ({"sets": {"a": [9]}}, "sets.a"),
        ({"sets": {"a": [0, 1, 2, 3]}}, "groups.oltp.set"),
        ({"trace": {"threads": ["nobody:0"], "to_s": 1}}, "trace.threads"),
        ({"measure_s": 0}, "measure_s"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_a_plan_that_cannot_be_run_names_its_field(change: dict[str, Any], field: str) -> None:
    with pytest.raises(_core.PlanError, match=field):
        simulated(plan(**change))


def test_what_the_listener_raises_ends_the_simulation() -> None:
    def refuse(line: str) -> None:
        raise KeyError(line)

    with pytest.raises(KeyError):
        _core.dispatch_run(json.dumps(plan()), refuse)


@pytest.mark.parametrize("class_name", ["RT", "FX", "TS"])
def test_a_life_begins_at_the_level_that_is_asked_for(class_name: str) -> None:
    asked = ["dispatch", "standard", "--trace", "--class", class_name, "--from", "5", "--json"]
    steps = json.loads(CliRunner().invoke(cli, asked).output)["lives"][0]["steps"]
    assert steps[0]["to"] == 5
