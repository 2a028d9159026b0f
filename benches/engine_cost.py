"""CPU of one build of the load engine over that of another: what a change of the engine costs.

    python benches/engine_cost.py BEFORE AFTER [--rounds 8] [--bindir FOLDER]

BEFORE, AFTER: folders that hold the package `steelyard` with its built core (src of two work trees). Both are
connected to one server and take turns of 100 ms (as in driver_cost.py); a ratio pairs the two of one round.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
from pathlib import Path

from driver_cost import CASES, START_S, Driver, engine, postgres


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--bindir", type=Path)
    given = parser.parse_args()
    with postgres(100_000, True, given.bindir) as server:
        for case in CASES:
            all_of, user = list[float](), list[float]()
            for number in range(given.rounds):
                sources = (given.before, given.after) if number % 2 else (given.after, given.before)
                running = dict[Path, Driver]()
                for source in sources:
                    os.environ["PYTHONPATH"] = str(source.resolve())
                    running[source] = engine(server, case, (given.seconds + START_S) * 2, "auto")
                left = list(running.values())
                while left:
                    left = [driver for driver in left if driver.turn()]
                before, after = running[given.before].cost(), running[given.after].cost()
                all_of.append(after.us / before.us)
                user.append(after.user_us / before.user_us)
            print(f"{case.name}: CPU {_spread(all_of)}, in user mode {_spread(user)}", flush=True)


def _spread(ratios: list[float]) -> str:
    logs = [math.log(ratio) for ratio in ratios]
    half = 2 * statistics.stdev(logs) / math.sqrt(len(logs))
    mean = statistics.fmean(logs)
    return f"{math.exp(mean):.4f} [{math.exp(mean - half):.4f} to {math.exp(mean + half):.4f}]"


if __name__ == "__main__":
    main()
