"""How often a study's interval holds the true ratio, where it is known: two delays of the null subject.

A server that answers `delay_us` after each request gives clients / (delay + overhead) transactions per
second in a closed loop, so two delays have the ratio (d1 + o) / (d2 + o). The overhead o, of timers,
sockets and the engine, is what the baselines of all studies take beyond their delay (median): 50 us more or
less of it move the ratio by 0.1 %. Delays of several milliseconds are worse: the clients of a turn work in
step then, and whether their last round still ends within it is no matter of chance.

    python benches/known_ratio.py [--studies 40] [--delays 1000 1050] [--neighbours]
"""

# pyright: basic
from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from precision import neighbours
from truth import wilson

STUDY = """\
name = "known-ratio"
question = "Is the ratio the one that was built in?"
subject.kind = "null"
[factors.delay]
scope = "server"
setting = "delay_us"
levels = {{ A = {first}, B = {second} }}
[plan]
clients = [{clients}]
warm_up_s = 0.3
measure_s = 1
cool_down_s = 0.1
blocks = {blocks}
seed = {seed}
"""
CLIENTS, BLOCKS = 8, 5


@dataclass(frozen=True)
class Found:
    """The ratio of B's throughput to A's, with its interval, and A's transactions per second."""

    ratio: float
    low: float
    high: float
    baseline_per_s: float

    @property
    def half_width_percent(self) -> float:
        """Of the interval, relative to the ratio."""
        return 50 * (self.high - self.low) / self.ratio


def study(first_us: int, second_us: int, seed: int, blocks: int = BLOCKS) -> Found:
    """A study by the command line."""
    with tempfile.TemporaryDirectory(prefix="steelyard-bench-") as folder:
        path = Path(folder) / "study.toml"
        path.write_text(
            STUDY.format(first=first_us, second=second_us, clients=CLIENTS, blocks=blocks, seed=seed)
        )
        command = [sys.executable, "-m", "steelyard.cli", "run", path, "--json", "--bundle", f"{folder}/b"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    judgement = json.loads(done.stdout)["judgement"]
    (compared,) = (c for c in judgement["comparisons"] if c["metric"] == "throughput_per_s")
    (rate,) = (
        e["value"] for e in judgement["estimates"] if e["metric"] == "throughput_per_s" and e["option"] == "A"
    )
    return Found(compared["ratio"], compared["low"], compared["high"], rate)


def main() -> None:
    parser = argparse.ArgumentParser(description="Coverage of a ratio that is known")
    parser.add_argument("--studies", type=int, default=40)
    parser.add_argument("--delays", type=int, nargs=2, default=[1000, 1050], metavar="US")
    parser.add_argument("--neighbours", action="store_true", help="processes that come and go beside it")
    options = parser.parse_args()
    first_us, second_us = options.delays
    with neighbours(options.neighbours):
        found = [study(first_us, second_us, seed) for seed in range(1, options.studies + 1)]
    overhead_us = statistics.median(1e6 * CLIENTS / one.baseline_per_s for one in found) - first_us
    true = (first_us + overhead_us) / (second_us + overhead_us)
    held = sum(one.low <= true <= one.high for one in found)
    low, high = (100 * end for end in wilson(held, len(found)))
    print(f"true ratio {true:.4f} ({first_us} and {second_us} µs, overhead {overhead_us:.0f} µs)")
    print(f"median of the ratios {statistics.median(one.ratio for one in found):.4f}")
    print(f"median half-width ±{statistics.median(one.half_width_percent for one in found):.2f} %")
    print(
        f"intervals that hold it: {held} of {len(found)},"
        f" {100 * held / len(found):.1f} [{low:.1f}, {high:.1f}] %"
    )


if __name__ == "__main__":
    main()
