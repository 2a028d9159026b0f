"""The simulated dispatcher: events a second on one core, and memory a thread.

Each case runs in a process of its own, the standard and the extended table in turn. An event is a
wake-up, a dispatch, an end of a burst or of a quantum, a preemption, a look for work to steal; the
update, which visits every thread each second, counts as one. Time is CPU time of the simulating
process, reading the plan and writing the result included. Memory is what 100,000 more threads
add to the largest resident size. The last case is the one that is asked to be practical:
128 CPUs, 10,000 threads, 1,000 simulated seconds (--quick: 20 s, and the rest extrapolated).

    python benches/dispatch.py [--quick] [--json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

TARGET_PER_S = 5e6
_LARGE_S = 1000


@dataclass(frozen=True)
class Case:
    """A machine and how many threads of OLTP kind and hogs run on it."""

    name: str
    cpus: int
    oltp: int
    hogs: int
    seconds: float


_RUN = """
import json, resource, sys, time
from steelyard import _core
plan = sys.stdin.read()
begun_s = time.process_time()
result = _core.dispatch_run(plan, lambda line: None)
cpu_s = time.process_time() - begun_s
rss_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
events = json.loads(result)["engine"]["events"]
print(json.dumps({"events": events, "cpu_s": cpu_s, "rss_bytes": rss_bytes}))
"""


def simulate(case: Case, table: str) -> dict[str, Any]:
    mix = [
        (
            "oltp",
            case.oltp,
            {"kind": "exponential", "mean_us": 800},
            {"kind": "exponential", "mean_us": 6000},
        ),
        ("hog", case.hogs, {"kind": "fixed", "mean_us": 100_000}, {"kind": "fixed", "mean_us": 0}),
    ]
    groups = [
        {"name": name, "count": count, "cpu": cpu, "sleep": sleep, "working_set_kib": 256}
        for name, count, cpu, sleep in mix
        if count
    ]
    plan = {
        "machine": {
            "cpus": case.cpus, "cpus_per_chip": 2, "lgroups": max(1, case.cpus // 16), "clock_ghz": 2.28,
            "memory_latency_ns": 550, "cache_kib": 6144,
        },
        "tables": {"ts": table},
        "groups": groups,
        "warm_up_s": 0,
        "measure_s": case.seconds,
        "sample_s": max(1.0, case.seconds / 20),
        "seed": 1,
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", _RUN], input=json.dumps(plan), capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def measure(case: Case, rounds: int) -> dict[str, Any]:
    tables = ("standard", "extended")
    runs: dict[str, list[dict[str, Any]]] = {table: [] for table in tables}
    for number in range(rounds):
        for table in tables if number % 2 == 0 else tables[::-1]:
            runs[table].append(simulate(case, table))
    rates = {t: [run["events"] / run["cpu_s"] for run in runs[t]] for t in tables}
    return {
        "case": case.name,
        "simulated_s": case.seconds,
        "events": {t: runs[t][0]["events"] for t in tables},
        "cpu_s": {t: statistics.median(run["cpu_s"] for run in runs[t]) for t in tables},
        "events_per_s": {t: [min(r), statistics.median(r), max(r)] for t, r in rates.items()},
    }


def bytes_per_thread() -> float:
    few, many = 10_000, 110_000
    sizes = [simulate(Case("memory", 8, count, 0, 0.1), "standard")["rss_bytes"] for count in (few, many)]
    return (sizes[1] - sizes[0]) / (many - few)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer rounds, shorter simulations")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    short_s = 20 if arguments.quick else 120
    cases = [
        Case("8 CPUs, 64 + 4 threads", 8, 64, 4, short_s),
        Case("32 CPUs, 400 + 16 threads", 32, 400, 16, short_s),
    ]
    large = Case("128 CPUs, 9,900 + 100 threads", 128, 9900, 100, 20 if arguments.quick else _LARGE_S)
    rounds = 2 if arguments.quick else 5
    results = [measure(case, rounds) for case in cases] + [measure(large, 1)]
    # what is fixed (start, threads coming) would be extrapolated too: an upper bound
    whole_s = max(results[-1]["cpu_s"].values()) * _LARGE_S / large.seconds
    told = {"cases": results, "large_cpu_s": whole_s, "bytes_per_thread": bytes_per_thread()}
    if arguments.json:
        print(json.dumps(told, indent=2))
        return
    print(f"million events a second of CPU, min/median/max (asked for: {TARGET_PER_S / 1e6:g})")
    for result in results:
        for table, rate in result["events_per_s"].items():
            shown = "/".join(f"{value / 1e6:.2f}" for value in rate)
            print(f"  {result['case']:32} {table:9} {shown:16} {result['cpu_s'][table]:8.2f} s")
    how = "extrapolated" if arguments.quick else "run"
    print(f"128 CPUs, 10,000 threads, {_LARGE_S} simulated s: {whole_s:.0f} s of CPU ({how})")
    print(f"memory: {told['bytes_per_thread']:.0f} bytes a thread")


if __name__ == "__main__":
    main()
