"""CPU of one build of the load engine over that of another: what a change of the engine costs.

    python benches/engine_cost.py BEFORE AFTER [--rounds 8] [--bindir FOLDER]

BEFORE, AFTER: folders that hold the package `steelyard` with its built core (src of two work trees). BEFORE
twice, and AFTER, are connected to one server and take turns of 100 ms (as in driver_cost.py); a ratio pairs
two of one round. The ratio of BEFORE to itself says what the machine adds.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
from pathlib import Path

from driver_cost import CASES, START_S, Case, Cost, Driver, Server, engine, postgres


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--bindir", type=Path)
    given = parser.parse_args()
    sources = {"before": given.before, "before again": given.before, "after": given.after}
    with postgres(100_000, True, given.bindir) as server:
        for case in CASES:
            costs = dict[str, list[Cost]]()
            for number in range(given.rounds):
                for name, cost in _round(sources, number, server, case, given.seconds).items():
                    costs.setdefault(name, []).append(cost)
            for name in ("before again", "after"):
                pairs = list(zip(costs[name], costs["before"], strict=True))
                cpu = _spread([one.us / before.us for one, before in pairs])
                user = _spread([one.user_us / before.user_us for one, before in pairs])
                print(f"{case.name}, {name}: CPU {cpu}, in user mode {user}", flush=True)


def _round(
    sources: dict[str, Path], number: int, server: Server, case: Case, seconds: float
) -> dict[str, Cost]:
    turn = number % len(sources)
    order = list(sources)[turn:] + list(sources)[:turn]
    running = dict[str, Driver]()
    for name in order if number % 2 else reversed(order):
        os.environ["PYTHONPATH"] = str(sources[name].resolve())
        running[name] = engine(server, case, (seconds + START_S) * len(sources), "auto")
    left = list(running.values())
    while left:
        left = [driver for driver in left if driver.turn()]
    return {name: driver.cost() for name, driver in running.items()}


def _spread(ratios: list[float]) -> str:
    logs = [math.log(ratio) for ratio in ratios]
    half = 2 * statistics.stdev(logs) / math.sqrt(len(logs))
    mean = statistics.fmean(logs)
    return f"{math.exp(mean):.4f} [{math.exp(mean - half):.4f} to {math.exp(mean + half):.4f}]"


if __name__ == "__main__":
    main()
