"""Studies of a simulated machine: what is refused, and the simulation against published numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard import _core
from steelyard.errors import InputError
from steelyard.lab.engines.dispatcher import run
from steelyard.study.load_study import find_study
from steelyard.workflow.prepare import PreparedStudy

STUDY = """\
name = "mine"
question = "Which table?"

[subject]
kind = "dispatcher"

[subject.settings]
cpus = 4
cpus_per_chip = 2
clock_ghz = 2.28
memory_latency_ns = 550
cache_kib = 5120
trace_s = 0.5

[workload]
kind = "threads"
scaled = "worker"

[workload.groups.worker]
cpu = { kind = "lognormal", mean_us = 500, cv = 1 }
working_set_kib = 4096

[factors.table]
scope = "server"
levels = { STD = "standard", EXT = "extended" }

[plan]
clients = [4, 16]
warm_up_s = 1
measure_s = 5
cool_down_s = 0
blocks = 5
"""


def refusal(text: str) -> str:
    with pytest.raises(InputError) as refused:
        PreparedStudy.of(text, "mine.toml")
    return f"{refused.value} {refused.value.hint}"


def plan(**changes: Any) -> str:
    times = {"kind": "exponential", "mean_us": 300}
    return json.dumps(
        {
            "machine": {"cpus": 2, "clock_ghz": 2, "memory_latency_ns": 300, "cache_kib": 1024},
            "tables": {"ts": "standard"},
            "groups": [
                {"name": "hog", "count": 1, "cpu": times, "sleep": {"kind": "fixed", "mean_us": 0}},
                {"name": "worker", "count": 1, "cpu": times, "sleep": times},
            ],
            "scaled": "worker",
            "points": [1, 6],
            "block": 1,
            "seed": 7,
            "warm_up_s": 1,
            "measure_s": 3,
            "cool_down_s": 0,
            "trace": {"threads": [], "window_s": 1},
            **changes,
        }
    )


def simulated(**changes: Any) -> dict[str, Any]:
    return json.loads(run(plan(**changes), lambda _line: None))


def test_a_run_is_the_same_for_a_seed_and_another_for_another() -> None:
    assert simulated() == simulated()
    assert simulated()["throughput"] != simulated(seed=8)["throughput"]


def test_points_follow_one_another_and_count_the_scaled_group_alone() -> None:
    result = simulated()
    phases = result["phases"]
    assert list(zip(phases["point"], phases["clients"], phases["phase"], strict=True)) == [
        (0, 1, "warm-up"), (0, 1, "measure"), (1, 6, "warm-up"), (1, 6, "measure")
    ]  # fmt: skip
    assert phases["start_ns"] == [0, 1e9, 4e9, 5e9]
    clients = result["clients"]
    assert list(zip(clients["point"], clients["client"], strict=True)) == [
        (0, 0), *((1, number) for number in range(6))
    ]  # fmt: skip
    rows = result["throughput"]
    done = sum(
        count
        for point, second, statement, count in zip(
            *(rows[name] for name in ("point", "second", "statement", "count")), strict=True
        )
        if point == 1 and second >= 0 and statement == "transaction"
    )
    assert done == sum(n for p, n in zip(clients["point"], clients["transactions"], strict=True) if p == 1)
    assert set(rows["statement"]) == {"transaction", "hog"}


def test_counters_of_a_run_never_fall() -> None:
    samples = simulated()["samples"]
    series: dict[tuple[str, str], list[float]] = {}
    for entity, metric, value in zip(*(samples[name] for name in ("entity", "metric", "value")), strict=True):
        if metric.endswith("_total"):
            series.setdefault((entity, metric), []).append(value)
    assert all((np.diff(values) >= 0).all() for values in series.values())


def test_response_times_are_those_of_the_bursts() -> None:
    import base64

    alone = simulated(points=[1])["latency"]
    at = alone["statement"].index("transaction")
    _, _, mean_ns, _ = _core.histogram_summary(base64.b64decode(alone["histogram_base64"][at]))
    assert mean_ns == pytest.approx(300_000, rel=0.1)


def test_a_mean_sleep_of_nothing_is_no_sleep_whatever_its_distribution() -> None:
    for sleep in ({"kind": "exponential", "mean_us": 0}, {"kind": "lognormal", "mean_us": 0, "cv": 1}):
        groups = [
            {"name": "worker", "count": 1, "cpu": {"kind": "fixed", "mean_us": 300}, "sleep": sleep},
        ]
        samples = simulated(groups=groups)["samples"]
        rows = zip(samples["metric"], samples["value"], strict=True)
        assert {value for metric, value in rows if metric == "voluntary_switches_total"} == {0}


def gained_percent(latency_ns: float, threads: int, set_kib: float) -> float:
    """Throughput under the extended table over that under the standard one, less 100 %."""
    machine = {
        "cpus": 8, "cpus_per_chip": 4, "clock_ghz": 2.28, "memory_latency_ns": latency_ns, "cache_kib": 5120,
    }  # fmt: skip
    worker = {
        "name": "worker", "count": threads, "cpu": {"kind": "lognormal", "mean_us": 187, "cv": 1},
        "sleep": {"kind": "fixed", "mean_us": 0}, "working_set_kib": set_kib,
    }  # fmt: skip
    done: list[int] = []
    for table in ("standard", "extended"):
        run_ = simulated(
            machine=machine, tables={"ts": table}, groups=[worker], points=[threads], warm_up_s=4, measure_s=8
        )
        done.append(sum(run_["clients"]["transactions"]))
    return 100 * (done[1] / done[0] - 1)


@pytest.mark.parametrize("latency_ns", [327.4, 375])
def test_at_the_published_latencies_tables_differ_by_less_than_half_a_percent_where_sets_fit(
    latency_ns: float,
) -> None:
    # SPECjbb2005 counts from one warehouse a CPU to two
    assert gained_percent(latency_ns, 8, 1024) == 0
    assert abs(gained_percent(latency_ns, 16, 1024)) < 0.5


def test_where_sets_do_not_fit_the_extended_table_wins_and_more_so_the_slower_the_memory() -> None:
    near, far = gained_percent(327.4, 32, 4096), gained_percent(553, 32, 4096)
    assert 1 < near < far


def test_a_bad_table_is_refused_with_the_line_of_the_study_and_of_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = _core.dispatch_table("TS", "standard", 100).splitlines()
    text[10] = text[10].replace("200", "-20", 1)
    Path("my.table").write_text("\n".join(text))
    message = refusal(STUDY.replace('"extended"', '"my.table"'))
    assert message.startswith("mine.toml:")
    assert "factors.table.levels.EXT: my.table:11: " in message


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("cpus = 4", "cpu = 4", 'no setting "cpu"; did you mean "cpus"?'),
        ("cpus = 4", 'cpus = "four"', "cpus is a number (given: 'four')"),
        ("cpus = 4", "hz = 100", "the machine needs cpus"),
        ("cpus = 4", "cpus = 0", "machine.cpus: 0 is not 1 to 4096"),
        ("cpus = 4", 'cpus = 4\n"set.db" = "0-9"', "sets.db: there is no CPU 4: the machine has 4"),
        ('scaled = "worker"', 'scaled = "wroker"', 'scaled: no group "wroker"; did you mean "worker"?'),
        ("cv = 1", "cw = 1", 'unknown key "cw"; did you mean "cv"?'),
        ("working_set_kib = 4096", "count = 4", "plan.clients are the numbers of threads of this group"),
        ("working_set_kib = 4096", 'class = "RT"\nnice = 3', "has no effect: class is 'RT', not 'TS or IA'"),
        ("working_set_kib = 4096", 'set = "db"', 'no processor set "db" in sets'),
        ("trace_s = 0.5", 'trace_threads = "worker:16"', 'no thread "worker:16"'),
        ("blocks = 5", "blocks = 5\n[monitors]\nhost = 1", "has its own clock"),
    ],
)
def test_what_a_simulated_machine_cannot_do_is_refused_early(old: str, new: str, message: str) -> None:
    assert message in refusal(STUDY.replace(old, new))


def test_keys_of_groups_are_factors_of_scope_client() -> None:
    text = STUDY.replace(
        "[plan]",
        '[factors.sleep]\nscope = "client"\nsetting = "worker.cpu.mean_us"\nlevels = { L = 100, H = 900 }\n'
        '[factors.class]\nscope = "client"\nsetting = "worker.class"\nlevels = { T = "TS", F = "FX" }\n'
        "[plan]",
    )
    assert len(PreparedStudy.of(text, "mine.toml").options) == 8


@pytest.mark.parametrize("name", ["dispatch-table", "dispatch-oltp", "dispatch-latency", "dispatch-sleep"])
def test_the_studies_that_ship_pair_the_tables(name: str) -> None:
    study, _ = find_study(name)
    assert study.subject.kind == "dispatcher"
    assert study.factors["table"].levels == {"STD": "standard", "EXT": "extended"}
