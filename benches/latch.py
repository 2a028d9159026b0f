"""Latches against this machine: costs of a get, a hand-over and the counters; reads at two threads.

Everything is a ratio within one interleaved run. Uncontended gets are compared with std's mutex of the
same round, hand-overs with the line transfer measured beside. Counters on and off, one reading worker and
two, alternate in turns of half a millisecond of one run; a turn in which a worker lost its CPU is left
out. Two readers are also compared with two that share nothing, which is all that two CPUs of this machine
can give. Medians with their 95 % intervals (bootstrap, as in pairs.py).

    python benches/latch.py [--quick] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pairs import spread
from steelyard import _core

READERS = ("reader-slots", "seqlock", "epoch")
COUNTED = ("oracle-x", "oracle-sx", "lwlock", "mcs")
# what the workers do; the mix is that of the study result-cache-latch
MIXES: dict[str, dict[str, Any]] = {
    "nothing but gets": {},
    "the study's mix": {"hold_ns": 100, "think_ns": 3000},
}
PLAN: dict[str, Any] = {
    "protocol": "oracle-x", "workers": "threads", "points": [1],
    "warm_up_s": 0.02, "measure_s": 0.1, "cool_down_s": 0, "seed": 42,
}  # fmt: skip


@dataclass(frozen=True)
class Turns:
    """Lookups a second by circumstance and round, and misses a timed get by circumstance."""

    rates: dict[str, dict[int, float]]
    misses_per_get: dict[str, float]

    def ratio(self, above: str, below: str) -> dict[str, float] | None:
        """Of the rounds that have both."""
        x, y = self.rates[above], self.rates[below]
        return middle(x[number] / y[number] for number in x if number in y)


def alternated(cpus: list[int], circumstances: list[str], rounds: int, **what: Any) -> Turns:
    table = json.loads(_core.latch_turns(json.dumps({**PLAN, "cpus": cpus, **what}), circumstances, rounds))
    rates: dict[str, dict[int, float]] = {}
    misses: dict[str, float] = {}
    for circumstance in circumstances:
        mine = [row for row in table if row["circumstance"] == circumstance]
        broken = {row["round"] for row in mine if not row["whole"]}
        whole = [row for row in mine if row["round"] not in broken]
        by_round = rates.setdefault(circumstance, {})
        for row in whole:
            by_round[row["round"]] = by_round.get(row["round"], 0.0) + row["lookups"] / row["ns"] * 1e9
        timed = sum(row["timed_gets"] for row in whole)
        misses[circumstance] = sum(row["timed_misses"] for row in whole) / max(1, timed)
    return Turns(rates, misses)


def lookups_per_s(cpus: list[int], **what: Any) -> list[float]:
    """Of each point of a whole run, by CPU time that the workers got: other jobs take their share too."""
    plan = {**PLAN, "cpus": cpus, **what}
    result = json.loads(_core.latch_run(json.dumps(plan), lambda line: None))
    rates: list[float] = []
    for point, workers in enumerate(plan["points"]):
        done = sum(row["transactions"] for row in rows(result["clients"]) if row["point"] == point)
        used_ns = sum(
            row["value"]
            for row in rows(result["samples"])
            if row["entity"].startswith(f"point{point}/") and row["metric"].startswith("cpu_")
        )
        rates.append(done * workers / used_ns * 1e9)
    return rates


def rows(table: dict[str, list[Any]]) -> Iterable[dict[str, Any]]:
    return (dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True))


def middle(values: Iterable[float]) -> dict[str, float] | None:
    """Median, its 95 % interval and of how many; None for fewer than three."""
    known = list(values)
    return spread(known) | {"n": len(known)} if len(known) >= 3 else None


def gets(cpus: list[int], rounds: int) -> dict[str, Any]:
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
        if len(cpus) > 1:
            found[latch] |= {
                "hand_over_ns": _known(off, "hand_over_ns"),
                "hand_over_lines": _lines(off, "hand_over_ns"),
                "hand_over_on_to_off": _ratio(on, off, "hand_over_ns"),
                "saturated_ns": _known(off, "saturated_hand_over_ns"),
                "saturated_lines": _lines(off, "saturated_hand_over_ns"),
                "saturated_on_to_off": _ratio(on, off, "saturated_hand_over_ns"),
                "saturated_get_on_to_off": _ratio(on, off, "saturated_get_ns"),
                "misses_per_get_on": _known(on, "saturated_misses_per_get"),
                "misses_per_get_off": _known(off, "saturated_misses_per_get"),
            }
    return {"line_transfer_ns": _known(table, "line_transfer_ns"), "latches": found}


def _known(mine: list[dict[str, Any]], name: str) -> dict[str, float] | None:
    return middle(row[name] for row in mine if row[name] is not None)


def _lines(mine: list[dict[str, Any]], name: str) -> dict[str, float] | None:
    return middle(row[name] / row["line_transfer_ns"] for row in mine if row[name] is not None)


def _ratio(above: list[dict[str, Any]], below: list[dict[str, Any]], name: str) -> dict[str, float] | None:
    pairs = [(x[name], y[name]) for x, y in zip(above, below, strict=True)]
    return middle(x / y for x, y in pairs if x is not None and y is not None)


def readers(cpus: list[int], rounds: int, runs: int) -> dict[str, Any]:
    """Two reading threads against one and against two caches apart; and in whole runs."""
    whole: dict[str, list[float]] = {latch: [] for latch in READERS}
    for _ in range(runs):
        for latch, ratios in whole.items():
            one, two = lookups_per_s(cpus, protocol=latch, points=[1, 2])
            ratios.append(two / one)
    found: dict[str, Any] = {}
    for latch in READERS:
        turns = alternated(cpus, ["one", "two", "apart"], rounds, protocol=latch)
        found[latch] = {
            "two_to_one": turns.ratio("two", "one"),
            "apart_to_one": turns.ratio("apart", "one"),
            "two_to_apart": turns.ratio("two", "apart"),
            "two_to_one_by_cpu": middle(whole[latch]),
        }
    return found


def counters(cpus: list[int], rounds: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for latch in COUNTED:
        for mix, what in MIXES.items():
            names = ["one", "one-uncounted", "two", "two-uncounted"]
            turns = alternated(cpus, names, rounds, protocol=latch, **what)
            for number, name in ((1, "one"), (2, "two")):
                found[f"{latch}, {mix}, {number}"] = {
                    "on_to_off": turns.ratio(name, f"{name}-uncounted"),
                    "misses_per_get_on": turns.misses_per_get[name],
                    "misses_per_get_off": turns.misses_per_get[f"{name}-uncounted"],
                }
    return found


def children(cpus: list[int], rounds: int) -> dict[str, Any]:
    table: dict[str, list[float]] = {}
    for _ in range(rounds):
        for latch in ("oracle-x", "oracle-sx"):
            [base] = lookups_per_s(cpus, protocol=latch, points=[2])
            for affinity in ("uniform", "own"):
                [rate] = lookups_per_s(cpus, protocol=latch, points=[2], children=64, affinity=affinity)
                name = f"{latch}, 64 children, {affinity} keys"
                table.setdefault(name, []).append(rate / base)
    return {name: middle(ratios) for name, ratios in table.items()}


def simulation(rounds: int) -> dict[str, float] | None:
    plan: dict[str, Any] = {
        "workers": 12, "hold": {"kind": "exponential", "mean_ns": 440}, "order": "barging",
        "think": {"kind": "exponential", "mean_ns": 8000}, "spin_ns": 20000, "hand_over_ns": 100,
        "wakes": [{"asleep_ns": 0, "wake_ns": 5000, "post_ns": 1000}], "duration_ns": 1e9, "seed": 42,
    }  # fmt: skip
    rates: list[float] = []
    for _ in range(rounds):
        begin = time.thread_time()
        events = json.loads(_core.latch_simulate(json.dumps(plan)))["events"]
        rates.append(events / (time.thread_time() - begin) / 1e6)
    return middle(rates)


def told(value: dict[str, float] | None, digits: int = 2) -> str:
    return f"{'-':>8}" if value is None else f"{value['median']:8.{digits}f}"


def ranged(value: dict[str, float] | None) -> str:
    if value is None:
        return f"{'-':26}"
    return f"{value['median']:.3f} [{value['low']:.3f}, {value['high']:.3f}]".ljust(26)


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
            cells += [told(row[f"{name}_ns"], 0), told(row[f"{name}_lines"]), told(row[f"{name}_on_to_off"])]
        print(f"{latch:14}" + "".join(cells))


def show(result: dict[str, Any]) -> None:
    show_gets(result["gets"])
    print("\nreaders: two threads : one (asked for: 1.9), two that share nothing : one, two threads : those")
    print("two, and two threads : one in whole runs, by CPU second")
    for latch, row in result["readers"].items():
        print(f"{latch:14}" + "".join(ranged(value) for value in row.values()))
    print("\ncounters on : off, lookups/s; misses a timed get with counters and without")
    for name, row in result["counters"].items():
        misses = f"{100 * row['misses_per_get_on']:7.1f} %{100 * row['misses_per_get_off']:7.1f} %"
        print(f"{name:34}{ranged(row['on_to_off'])}{misses}")
    print("\n64 child latches : one, two threads, by CPU second")
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
    turns = 40 * rounds
    result = {
        "gets": gets(cpus, rounds),
        "readers": readers(cpus, turns, rounds),
        "counters": counters(cpus, turns),
        "children": children(cpus, rounds),
        "simulation_million_events_per_s": simulation(9),
    }
    if arguments.json:
        print(json.dumps(result))
    else:
        show(result)


if __name__ == "__main__":
    main()
