"""Dispatch tables and the simulated dispatcher, through the command line and the binding."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from laboratory import Lab
from steelyard import _core
from steelyard.study.errors import InputError
from steelyard.subjects.dispatcher.dispatch_tables import read_table


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return Lab(tmp_path_factory.mktemp("dispatch"))


def test_a_table_is_printed_in_the_form_that_is_read(lab: Lab) -> None:
    text = lab.run("dispatch", "extended").stdout
    (lab.folder / "my.table").write_text(text)
    assert text.startswith("# Time Sharing Dispatcher Configuration\nRES=1000\n")
    assert lab.run("dispatch", "my.table").stdout == text


def test_the_trace_reasons_as_the_author_of_the_study_did(lab: Lab) -> None:
    text = lab.run("dispatch", "extended", "standard", "--trace", "--from", "13").stdout
    assert text.endswith("at 13 it used its slice: next 6 under extended, 3 under standard\n")
    assert "380 ms      6    380 ms  slice used at 13 (tqexp)" in text


@pytest.mark.parametrize(
    ("table", "arguments", "expected"),
    [
        ("standard", ["--from", "29"], [(0, 29), (120, 19), (280, 9), (480, 0)]),
        ("extended", ["--from", "19"], [(0, 19), (380, 9), (760, 4), (1140, 2), (1520, 1), (1900, 0)]),
        ("standard", ["--behaviour", "io-bound"], [(0, 29), (1000, 52), (2000, 59)]),
        ("extended", ["--behaviour", "starved", "--from", "0"], [(0, 0), (3000, 40), (6000, 41), (9000, 42)]),
    ],
)  # fmt: skip
def test_the_trace_in_json_is_the_worked_example(
    lab: Lab, table: str, arguments: list[str], expected: list[tuple[int, int]]
) -> None:
    told = json.loads(lab.run("dispatch", table, "--trace", "--json", *arguments).stdout)
    steps = [(round(step["t_ms"]), step["to"]) for step in told["lives"][0]["steps"]]
    assert steps[: len(expected)] == expected


@pytest.mark.parametrize(
    ("line", "text", "cause"),
    [
        (2, "RES=0", "expected RES=n"),
        (5, "0 0 50 0 50", "quantum 0 is out of range"),
        (6, "200 0 50 0 60", "ts_lwait 60 is not a level"),
        (7, "200 0 50 0", "too few values"),
    ],
)
def test_what_is_wrong_in_a_table_is_told_with_its_line(lab: Lab, line: int, text: str, cause: str) -> None:
    lines = read_table("standard").text.splitlines()
    lines[line - 1] = text
    (lab.folder / "wrong.table").write_text("\n".join(lines))
    done = lab.run("dispatch", "wrong.table", "--trace")
    assert done.returncode == 2
    assert f"wrong.table:{line}: " in done.stderr and cause in done.stderr and "hint:" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["nowhere.table"],
        ["extended", "--class", "FX"],
        ["standard", "--from", "3"],
        ["standard", "--trace", "--from", "60"],
        ["standard", "--trace", "--behaviour", "lazy"],
        ["standard", "--hz", "0"],
    ],
)
def test_bad_input_ends_in_code_2(lab: Lab, arguments: list[str]) -> None:
    done = lab.run("dispatch", *arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr and done.stderr.lower().startswith(("error", "usage"))


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not a text file"):
        read_table(str(tmp_path / "binary"))


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
