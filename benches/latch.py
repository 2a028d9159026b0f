"""Latches against this machine: costs of a get, a hand-over and the counters; reads at two threads.

Everything is a ratio within one interleaved run. Uncontended gets are compared with std's mutex of the
same round, hand-overs with a line transfer, counters on with counters off in pairs of short turns. Two
reading threads are compared with one, and with two processes that share nothing: what two CPUs of this
machine give at the best. Medians of pairs with their 95 % intervals (bootstrap, as in monitor_cost.py).

    python benches/latch.py [--quick] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

from monitor_cost import interval
from steelyard import _core

READERS = ("reader-slots", "seqlock", "epoch")
COUNTED = ("oracle-x", "oracle-sx", "lwlock", "mcs")
# workers and what they do; the mix is that of the study result-cache-latch
SETTINGS: dict[str, dict[str, Any]] = {
    "1 worker, nothing but gets": {"points": [1]},
    "2 workers, nothing but gets": {"points": [2]},
    "2 workers, the study's mix": {"points": [2], "hold_ns": 100, "think_ns": 3000},
}


@dataclass(frozen=True)
class Turn:
    """A point of a run: lookups a second of CPU (other jobs take their share of the time) and misses a get
    among those that were timed, which are known without counters too."""

    lookups_per_s: float
    misses_per_get: float


def turns(cpus: list[int], **what: Any) -> list[Turn]:
    plan: dict[str, Any] = {
        "protocol": "oracle-x", "workers": "threads", "points": [1], "cpus": cpus, "think_ns": 0,
        "warm_up_s": 0.02, "measure_s": 0.1, "cool_down_s": 0, "seed": 42, **what,
    }  # fmt: skip
    result = json.loads(_core.latch_run(json.dumps(plan), lambda line: None))
    return [_turn(result, point, workers) for point, workers in enumerate(plan["points"])]


def _turn(result: dict[str, Any], point: int, workers: int) -> Turn:
    done = sum(row["transactions"] for row in rows(result["clients"]) if row["point"] == point)
    used_ns = sum(
        row["value"]
        for row in rows(result["samples"])
        if row["entity"].startswith(f"point{point}/") and row["metric"].startswith("cpu_")
    )
    timed = {row["kind"]: row["count"] for row in rows(result["latch_histograms"]) if row["point"] == point}
    return Turn(done * workers / used_ns * 1e9, timed["wait"] / max(1, timed["hold"]))


def rows(table: dict[str, list[Any]]) -> Iterable[dict[str, Any]]:
    return (dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True))


def middle(values: Iterable[float]) -> dict[str, float]:
    """Median and its 95 % interval."""
    known = list(values)
    low, high = interval(known)
    return {"low": low, "median": statistics.median(known), "high": high}


def gets(cpus: list[int], rounds: int) -> dict[str, Any]:
    line = json.loads(_core.latch_calibrate(cpus))["line_transfer_ns"]
    table = json.loads(_core.latch_costs(cpus, rounds))
    at = {(row["latch"], row["counters"], row["round"]): row for row in table}
    found: dict[str, Any] = {}
    for latch in dict.fromkeys(row["latch"] for row in table):
        on = [at[latch, True, number] for number in range(rounds)]
        off = [at[latch, False, number] for number in range(rounds)]
        std = [at["std-mutex", False, number] for number in range(rounds)]
        found[latch] = {
            "uncontended_ns": middle(row["uncontended_ns"] for row in on),
            "to_std_mutex": _ratio(on, std, "uncontended_ns"),
            "on_to_off": _ratio(on, off, "uncontended_ns"),
        }
        if line is not None:
            found[latch] |= {
                "hand_over_ns": _known(off, "hand_over_ns"),
                "hand_over_on_to_off": _ratio(on, off, "hand_over_ns"),
                "saturated_ns": _known(off, "saturated_hand_over_ns"),
                "saturated_on_to_off": _ratio(on, off, "saturated_hand_over_ns"),
                "saturated_get_on_to_off": _ratio(on, off, "saturated_get_ns"),
                "misses_per_get_on": _known(on, "saturated_misses_per_get"),
                "misses_per_get_off": _known(off, "saturated_misses_per_get"),
            }
    return {"line_transfer_ns": line, "latches": found}


def _known(mine: list[dict[str, Any]], name: str) -> dict[str, float] | None:
    known = [row[name] for row in mine if row[name] is not None]
    return middle(known) if known else None


def _ratio(above: list[dict[str, Any]], below: list[dict[str, Any]], name: str) -> dict[str, float] | None:
    pairs = [(x[name], y[name]) for x, y in zip(above, below, strict=True)]
    known = [x / y for x, y in pairs if x is not None and y is not None]
    return middle(known) if known else None


def readers(cpus: list[int], rounds: int) -> dict[str, Any]:
    """Two threads against one and against two processes, each alone on its CPU with a cache of its own."""
    found: dict[str, list[tuple[float, float]]] = {latch: [] for latch in READERS}
    with ProcessPoolExecutor(2) as pool:
        for _ in range(rounds):
            for latch, ratios in found.items():
                one, two = turns(cpus, protocol=latch, points=[1, 2])
                apart = [pool.submit(turns, [cpu], protocol=latch) for cpu in cpus]
                ceiling = sum(other.result()[0].lookups_per_s for other in apart)
                ratios.append((two.lookups_per_s / one.lookups_per_s, ceiling / one.lookups_per_s))
    return {
        latch: {
            "two_to_one": middle(two for two, _ in ratios),
            "apart_to_one": middle(apart for _, apart in ratios),
            "of_ceiling": middle(two / apart for two, apart in ratios),
        }
        for latch, ratios in found.items()
    }


def counters(cpus: list[int], pairs: int) -> dict[str, Any]:
    cases = {
        f"{latch}, {name}": {"protocol": latch, **what}
        for latch in COUNTED
        for name, what in SETTINGS.items()
    }
    on: dict[str, list[Turn]] = {name: [] for name in cases}
    off: dict[str, list[Turn]] = {name: [] for name in cases}
    for number in range(pairs):
        for name, what in cases.items():
            for counted in (True, False) if number % 2 else (False, True):
                (on if counted else off)[name] += turns(cpus, counters=counted, **what)
    ratios = {
        name: [x.lookups_per_s / y.lookups_per_s for x, y in zip(on[name], off[name], strict=True)]
        for name in cases
    }
    return {
        name: {
            "on_to_off": middle(ratios[name]),
            "misses_per_get_on": statistics.median(turn.misses_per_get for turn in on[name]),
            "misses_per_get_off": statistics.median(turn.misses_per_get for turn in off[name]),
        }
        for name in cases
    }


def children(cpus: list[int], rounds: int) -> dict[str, Any]:
    table: dict[str, list[float]] = {}
    for _ in range(rounds):
        for latch in ("oracle-x", "oracle-sx"):
            base = turns(cpus, protocol=latch, points=[2])[0].lookups_per_s
            for affinity in ("uniform", "own"):
                [turn] = turns(cpus, protocol=latch, points=[2], children=64, affinity=affinity)
                name = f"{latch}, 64 children, {affinity} keys"
                table.setdefault(name, []).append(turn.lookups_per_s / base)
    return {name: middle(ratios) for name, ratios in table.items()}


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
    return middle(rates)


def told(value: dict[str, float] | None, digits: int = 2) -> str:
    return f"{'-':>8}" if value is None else f"{value['median']:8.{digits}f}"


def ranged(value: dict[str, float]) -> str:
    return f"{value['median']:.3f} [{value['low']:.3f}, {value['high']:.3f}]"


def show_gets(result: dict[str, Any]) -> None:
    line = result["line_transfer_ns"]
    print(f"line transfer, one way: {line['median']:.0f} ns" if line else "one CPU: no hand-overs")
    print("hand-over: release to get of one who stood in the queue; saturated: joining it included; both")
    print("without counters. on:off: ns with counters by ns without, a get alone and either hand-over\n")
    titles = ("ns", "x std", "on:off", "handed", "lines", "on:off", "satur.", "lines", "on:off")
    print(f"{'medians':14}" + "".join(f"{title:>8}" for title in titles))
    for latch, row in result["latches"].items():
        cells = [told(row["uncontended_ns"], 1), told(row["to_std_mutex"]), told(row["on_to_off"])]
        for name in ("hand_over", "saturated") if line else ():
            ns = row[f"{name}_ns"]
            lines = ns and {"median": ns["median"] / line["median"]}
            cells += [told(ns, 0), told(lines), told(row[f"{name}_on_to_off"])]
        print(f"{latch:14}" + "".join(cells))


def show(result: dict[str, Any]) -> None:
    show_gets(result["gets"])
    print("\nreaders, lookups by CPU second: two threads / one (asked for: 1.9), two processes that share")
    print("nothing / one, and two threads / those processes")
    for latch, row in result["readers"].items():
        print(f"{latch:16}" + "  ".join(f"{ranged(row[name]):24}" for name in row))
    print("\ncounters on / off, lookups by CPU second; misses a timed get with counters and without")
    for name, row in result["counters"].items():
        misses = f"{100 * row['misses_per_get_on']:7.1f} %{100 * row['misses_per_get_off']:7.1f} %"
        print(f"{name:40}{ranged(row['on_to_off']):26}{misses}")
    print("\n64 child latches / one, two threads")
    for name, row in result["children"].items():
        print(f"{name:40}{ranged(row)}")
    rate = result["simulation_million_events_per_s"]
    print(f"\nsimulation: {rate['median']:.1f} million events per CPU second (asked for: 5)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="few rounds")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    cpus = sorted(os.sched_getaffinity(0))[:2]
    rounds = 9 if arguments.quick else 31
    result = {
        "gets": gets(cpus, rounds),
        "readers": readers(cpus, rounds),
        "counters": counters(cpus, rounds),
        "children": children(cpus, rounds),
        "simulation_million_events_per_s": simulation(9),
    }
    if arguments.json:
        print(json.dumps(result))
    else:
        show(result)


if __name__ == "__main__":
    main()
