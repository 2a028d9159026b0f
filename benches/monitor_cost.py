"""What the monitors cost: the same load with all of them once a second, and with none between.

Pairs of runs, in turn on-off and off-on; a ratio compares the two of one pair. With monitors off,
host and processes are read at the edges of phases only, to know the server's CPU.

    python benches/monitor_cost.py [--quick] [--json] [--clients N]
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from steelyard.host.guard import Guard
from steelyard.host.placement import place
from steelyard.lab.runner import Laboratory, Run
from steelyard.study.plan import Slot, options
from steelyard.study.spec import Study
from steelyard.subjects import Bench, make
from steelyard.workloads import work_of

_EDGES_ONLY = {"host": 0.001, "processes": 0.001}
_ALL = {"host": 1.0, "processes": 1.0, "postgres": 1.0, "postgres-waits": 10.0}


@dataclass(frozen=True)
class Figures:
    """One run. shares: percent of one CPU by monitor, in our process; total: backends included."""

    tps: float
    server_us_per_txn: float
    total_share_percent: float
    shares_percent: Mapping[str, float]


class Quiet:
    """Progress that nobody watches."""

    def run_started(self, label: str, block: int, slot: int) -> None:
        """Says nothing."""

    def tick(self, tps: float) -> None:
        """Says nothing."""

    def run_ended(self, label: str, tps: float, status: str) -> None:
        """Says nothing."""


def study(clients: int, seconds: float) -> Study:
    return Study.model_validate(
        {
            "name": "monitor-cost",
            "question": "What do the monitors cost?",
            "subject": {"kind": "postgres"},
            "workload": {"kind": "lookup", "rows": 100_000},
            "factors": {"handle": {"scope": "client", "levels": {"named": "named", "none": "none"}}},
            "plan": {"clients": [clients], "warm_up_s": 1, "measure_s": seconds, "cool_down_s": 0},
        }
    )


@contextmanager
def laboratory(asked: Study) -> Generator[Laboratory]:
    """One whose servers leave nothing behind."""
    placement = place(asked.workload.threads, asked.plan.pin)
    with Guard() as guard:
        folder = Path(tempfile.mkdtemp(prefix="steelyard-bench-"))
        guard.remove_folder(folder)
        bench = Bench(asked, work_of(asked.workload), folder, placement, guard)
        subject = make(bench)
        try:
            yield Laboratory(asked, bench.work, subject, placement, Quiet(), lambda *_: None)
        finally:
            subject.stop()
            shutil.rmtree(folder, ignore_errors=True)


def run(lab: Laboratory, rates_hz: Mapping[str, float], number: int) -> Figures:
    asked = lab.study.model_copy(update={"monitors": dict(rates_hz)})
    slot = Slot(number, 1, options(asked)[0])
    return figures(next(iter(replace(lab, study=asked).block([slot]))))


def figures(done: Run) -> Figures:
    if done.status != "done":
        sys.exit(f"a run failed: {done.cause}")
    phases = done.tables["phases"]
    at = list(phases["phase"]).index("measure")
    start_ns, end_ns = phases["start_ns"][at], phases["end_ns"][at]
    count = sum(done.tables["clients"]["transactions"])
    used = grown(done.tables["samples"], start_ns, end_ns)
    per_ns = 100 / (end_ns - start_ns)
    return Figures(
        tps=count / ((end_ns - start_ns) / 1e9),
        server_us_per_txn=used["processes", "server", "cpu_ns_total"] / count / 1e3,
        total_share_percent=used["processes", "monitors", "cpu_ns_total"] * per_ns,
        shares_percent={
            entity: value * per_ns
            for (monitor, entity, metric), value in used.items()
            if monitor == "monitors" and metric == "cpu_ns_total"
        },
    )


def grown(samples: Mapping[str, Any], start_ns: int, end_ns: int) -> dict[tuple[str, ...], float]:
    """Growth of every counter from its reading nearest to start to the one nearest to end."""
    readings: dict[tuple[str, ...], list[tuple[int, float]]] = {}
    names = ("t_ns", "monitor", "entity", "metric", "value")
    for t_ns, *key, value in zip(*(samples[name] for name in names), strict=True):
        readings.setdefault(tuple(key), []).append((t_ns, value))

    def nearest(series: list[tuple[int, float]], t_ns: int) -> float:
        return min(series, key=lambda reading: abs(reading[0] - t_ns))[1]

    return {
        key: nearest(series, end_ns) - nearest(series, start_ns)
        for key, series in readings.items()
        if key[-1].endswith("_total")
    }


def spread(values: list[float]) -> dict[str, float]:
    return {"min": min(values), "median": statistics.median(values), "max": max(values)}


def measure(clients: int, pairs: int, seconds: float) -> dict[str, Any]:
    on: list[Figures] = []
    off: list[Figures] = []
    asked = study(clients, seconds)
    with laboratory(asked) as lab:
        for number in range(1, pairs + 1):
            turns = [(on, _ALL), (off, _EDGES_ONLY)]
            for kept, rates_hz in turns if number % 2 else reversed(turns):
                kept.append(run(lab, rates_hz, number))
    both = list(zip(on, off, strict=True))
    names = on[0].shares_percent
    return {
        "clients": clients,
        "pairs": pairs,
        "measure_s": seconds,
        "tps_off": spread([figure.tps for figure in off]),
        "tps_ratio": spread([a.tps / b.tps for a, b in both]),
        "server_us_per_txn_ratio": spread([a.server_us_per_txn / b.server_us_per_txn for a, b in both]),
        "lab_percent_on": spread([figure.total_share_percent for figure in on]),
        "lab_percent_off": spread([figure.total_share_percent for figure in off]),
        "monitor_percent": {name: spread([figure.shares_percent[name] for figure in on]) for name in names},
    }


_ROWS = (
    ("throughput without monitors, /s", "tps_off", 0),
    ("throughput, on : off", "tps_ratio", 4),
    ("server CPU per transaction, on : off", "server_us_per_txn_ratio", 4),
    ("lab and its backends, % of a CPU, on", "lab_percent_on", 2),
    ("lab and its backends, % of a CPU, off", "lab_percent_off", 2),
)


def show(result: dict[str, Any]) -> None:
    pairs = f"{result['pairs']} pairs of {result['measure_s']:g} s"
    print(f"{result['clients']} clients, {pairs}; min/median/max")
    rows = [(title, result[key], digits) for title, key, digits in _ROWS]
    for name, values in result["monitor_percent"].items():
        rows.append((f"  {name}, % of a CPU", values, 3))
    for title, values, digits in rows:
        print(f"  {title:40s} " + "/".join(f"{values[p]:.{digits}f}" for p in ("min", "median", "max")))


def main() -> None:
    parser = argparse.ArgumentParser(description="What the monitors cost under load")
    parser.add_argument("--json", action="store_true", help="the results as JSON on standard output")
    parser.add_argument("--quick", action="store_true", help="4 pairs of 4 s in place of 12 of 10 s")
    parser.add_argument("--clients", type=int, default=64)
    chosen = parser.parse_args()
    pairs, seconds = (4, 4.0) if chosen.quick else (12, 10.0)
    result = measure(chosen.clients, pairs, seconds)
    if chosen.json:
        print(json.dumps(result, indent=2))
    else:
        show(result)


if __name__ == "__main__":
    main()
