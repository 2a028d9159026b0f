"""Latches against this machine: costs of a get, a hand-over and the counters; reads at two threads.

Everything is a ratio within one interleaved run. Uncontended gets are compared with std's mutex of the
same round, hand-overs with a line transfer, two reading threads with one, counters on with counters off.

    python benches/latch.py [--quick] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from typing import Any

from steelyard import _core

READERS = ("reader-slots", "seqlock", "epoch")
COUNTED = ("oracle-x", "oracle-sx", "lwlock")


def spread(values: list[float]) -> dict[str, float]:
    return {"min": min(values), "median": statistics.median(values), "max": max(values)}


def lookups_per_s(cpus: list[int], **what: Any) -> list[float]:
    """Lookups/s of each point. Of the CPU time that the workers got: other jobs take their share too."""
    plan: dict[str, Any] = {
        "protocol": "oracle-x", "workers": "threads", "points": [1], "cpus": cpus, "think_ns": 0,
        "warm_up_s": 0.05, "measure_s": 0.5, "cool_down_s": 0, "seed": 42, **what,
    }  # fmt: skip
    result = json.loads(_core.latch_run(json.dumps(plan), lambda line: None))
    rates: list[float] = []
    for point, workers in enumerate(plan["points"]):
        clients = zip(result["clients"]["point"], result["clients"]["transactions"], strict=True)
        count = sum(done for at, done in clients if at == point)
        samples = result["samples"]
        used_s = sum(
            value / 1e9
            for entity, metric, value in zip(
                samples["entity"], samples["metric"], samples["value"], strict=True
            )
            if entity.startswith(f"point{point}/") and metric.startswith("cpu_")
        )
        rates.append(count * workers / used_s)
    return rates


def gets(cpus: list[int], rounds: int) -> dict[str, Any]:
    rows = json.loads(_core.latch_costs(cpus, rounds))
    line_ns = json.loads(_core.latch_calibrate(cpus))["line_transfer_ns"]
    mutex = {row["round"]: row["uncontended_ns"] for row in rows if row["latch"] == "std-mutex"}
    bare = {
        row["round"]: row["uncontended_without_counters_ns"] for row in rows if row["latch"] == "std-mutex"
    }
    table = {}
    for latch in dict.fromkeys(row["latch"] for row in rows):
        mine = [row for row in rows if row["latch"] == latch]
        handed = [row["hand_over_ns"] for row in mine if row["hand_over_ns"] is not None]
        table[latch] = {
            "uncontended_ns": spread([row["uncontended_ns"] for row in mine]),
            "to_std_mutex": spread([row["uncontended_ns"] / bare[row["round"]] for row in mine]),
            "to_counted_std_mutex": spread([row["uncontended_ns"] / mutex[row["round"]] for row in mine]),
            "hand_over_ns": spread(handed) if handed else None,
            "hand_over_lines": spread([ns / line_ns["median"] for ns in handed])
            if handed and line_ns
            else None,
        }
    return {"line_transfer_ns": line_ns, "latches": table}


def readers(cpus: list[int], rounds: int) -> dict[str, Any]:
    table: dict[str, list[float]] = {latch: [] for latch in READERS}
    for _ in range(rounds):
        for latch, ratios in table.items():
            one, two = lookups_per_s(cpus, protocol=latch, points=[1, 2])
            ratios.append(two / one)
    return {latch: spread(ratios) for latch, ratios in table.items()}


def counters(cpus: list[int], rounds: int) -> dict[str, Any]:
    table: dict[str, list[float]] = {f"{latch}, {n}": [] for latch in COUNTED for n in (1, 2)}
    for number in range(rounds):
        for latch in COUNTED:
            rates: dict[bool, list[float]] = {}
            for counted in (True, False) if number % 2 else (False, True):
                rates[counted] = lookups_per_s(cpus, protocol=latch, points=[1, 2], counters=counted)
            for index in (0, 1):
                table[f"{latch}, {index + 1}"].append(rates[True][index] / rates[False][index])
    return {name: spread(ratios) for name, ratios in table.items()}


def children(cpus: list[int], rounds: int) -> dict[str, Any]:
    table: dict[str, list[float]] = {}
    for _ in range(rounds):
        for latch in ("oracle-x", "oracle-sx"):
            base = lookups_per_s(cpus, protocol=latch, points=[2])[0]
            for affinity in ("uniform", "own"):
                rate = lookups_per_s(cpus, protocol=latch, points=[2], children=64, affinity=affinity)[0]
                table.setdefault(f"{latch}, 64 children, {affinity} keys", []).append(rate / base)
    return {name: spread(ratios) for name, ratios in table.items()}


def simulation(rounds: int) -> dict[str, float]:
    plan: dict[str, Any] = {
        "workers": 12, "hold": {"kind": "exponential", "mean_ns": 440}, "order": "barging",
        "think": {"kind": "exponential", "mean_ns": 8000}, "spin_ns": 20000, "hand_over_ns": 100,
        "wake_ns": 5000, "post_ns": 1000, "duration_ns": 1e9, "seed": 42,
    }  # fmt: skip
    rates: list[float] = []
    for _ in range(rounds):
        begin = time.thread_time()
        events = json.loads(_core.latch_simulate(json.dumps(plan)))["events"]
        rates.append(events / (time.thread_time() - begin) / 1e6)
    return spread(rates)


def show(result: dict[str, Any]) -> None:
    line = result["gets"]["line_transfer_ns"]
    print(f"line transfer, one way: {line['median']:.0f} ns" if line else "one CPU: no line transfers")
    print(f"\n{'get and release (medians)':28}{'ns':>7}{'x std':>8}{'hand-over ns':>14}{'lines':>7}")
    for latch, row in result["gets"]["latches"].items():
        handed = f"{row['hand_over_ns']['median']:14.0f}" if row["hand_over_ns"] else f"{'-':>14}"
        lines = f"{row['hand_over_lines']['median']:7.2f}" if row["hand_over_lines"] else f"{'-':>7}"
        uncontended, ratio = row["uncontended_ns"]["median"], row["to_std_mutex"]["median"]
        print(f"{latch:28}{uncontended:7.1f}{ratio:8.2f}{handed}{lines}")
    for title, key in (
        ("two reading threads / one (lookups by CPU second; asked for: 1.9)", "readers"),
        ("counters on / off (lookups/s, workers)", "counters"),
        ("64 child latches / one, two threads", "children"),
    ):
        print(f"\n{title}: min, median, max")
        for name, row in result[key].items():
            print(f"{name:40}{row['min']:8.2f}{row['median']:8.2f}{row['max']:8.2f}")
    rate = result["simulation_million_events_per_s"]
    print(f"\nsimulation: {rate['median']:.1f} million events per CPU second (asked for: 5)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="few rounds")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    cpus = sorted(os.sched_getaffinity(0))[:2]
    rounds = 3 if arguments.quick else 9
    result = {
        "gets": gets(cpus, rounds),
        "readers": readers(cpus, rounds),
        "counters": counters(cpus, rounds),
        "children": children(cpus, rounds),
        "simulation_million_events_per_s": simulation(rounds),
    }
    if arguments.json:
        print(json.dumps(result))
    else:
        show(result)


if __name__ == "__main__":
    main()
