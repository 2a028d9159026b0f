"""What the monitors cost: one load, seconds with all of them read and seconds with none, in pairs.

The throughput of a pair's seconds is compared. CPU is that of the reading thread and of the server
processes that serve it, over the seconds with monitors.

    python benches/monitor_cost.py [--quick] [--json] [--clients N]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pairs import is_on, pairs_of, spread, under_load
from steelyard.host.cpus.scheduling import Placement
from steelyard.monitors import Monitor, Target
from steelyard.monitors import make as make_monitor

# readings a second, as the lab's defaults
_RATES_HZ = {"host": 1, "processes": 1, "postgres": 1, "postgres-waits": 10}


@dataclass
class Reader:
    """Reads all monitors in every second that is on, in a thread of its own."""

    target: Target
    cpus: frozenset[int]
    cpu_ns: dict[str, int] = field(default_factory=dict[str, int])
    seconds: int = 0

    def run(self, start_ns: int, seconds: int) -> None:
        """Blocks until the last second is over."""
        os.sched_setaffinity(0, self.cpus)
        monitors = {name: make_monitor(name) for name in _RATES_HZ}
        for monitor in monitors.values():
            monitor.open(self.target)
        backends_ns = self._backends_ns()
        for second in range(max(0, (time.monotonic_ns() - start_ns) // 10**9 + 1), seconds):
            if is_on(second):
                self.seconds += 1
                for tenth in range(10):
                    # the engine tells up to 50 ms late that its first second began
                    due_ns = start_ns + second * 10**9 + tenth * 90_000_000 + 20_000_000
                    time.sleep(max(0, due_ns - time.monotonic_ns()) / 1e9)
                    self._read(monitors, tenth)
            else:
                end_ns = start_ns + (second + 1) * 10**9
                time.sleep(max(0, end_ns - time.monotonic_ns()) / 1e9)
        self.cpu_ns["their backends"] = self._backends_ns() - backends_ns
        for monitor in monitors.values():
            monitor.close()

    def _read(self, monitors: Mapping[str, Monitor], tenth: int) -> None:
        for name, rate_hz in _RATES_HZ.items():
            if rate_hz == 10 or tenth == 3:
                began_ns = time.thread_time_ns()
                list(monitors[name].read())
                self.cpu_ns[name] = self.cpu_ns.get(name, 0) + time.thread_time_ns() - began_ns

    def _backends_ns(self) -> int:
        paths = [Path(f"/proc/{pid}/schedstat") for pid in self.target.own_backends]
        return sum(int(path.read_text().split()[0]) for path in paths)


def measure(clients: int, pairs: int) -> dict[str, Any]:
    def make(target: Target, placement: Placement) -> Reader:
        return Reader(target, placement.engine)

    counts, reader = under_load(clients, pairs, make)
    # the monitors connect in the first pair
    ratios = [counts[on] / counts[off] for on, off in pairs_of(len(counts))]
    share = {name: ns / reader.seconds / 1e7 for name, ns in reader.cpu_ns.items()}
    return {
        "clients": clients,
        "pairs": len(ratios),
        "tps": statistics.median(counts.values()),
        "throughput_ratio": spread(ratios),
        "cpu_percent_of_machine": sum(share.values()) / (os.cpu_count() or 1),
        "cpu_percent": share,
    }


def show(result: dict[str, Any]) -> None:
    ratio = result["throughput_ratio"]
    print(
        f"{result['clients']} clients, {result['pairs']} pairs of seconds, {result['tps']:.0f} transactions/s"
    )
    print(f"  throughput, on : off    {ratio['median']:.4f}, 95 % [{ratio['low']:.4f}, {ratio['high']:.4f}]")
    print(f"  CPU of the machine      {result['cpu_percent_of_machine']:.2f} %")
    for name, percent in result["cpu_percent"].items():
        print(f"    {name:20s}  {percent:.3f} % of one CPU")


def main() -> None:
    parser = argparse.ArgumentParser(description="What the monitors cost under load")
    parser.add_argument("--json", action="store_true", help="the result as JSON on standard output")
    parser.add_argument("--quick", action="store_true", help="40 pairs of seconds in place of 200")
    parser.add_argument("--clients", type=int, default=64)
    chosen = parser.parse_args()
    result = measure(chosen.clients, 40 if chosen.quick else 200)
    if chosen.json:
        print(json.dumps(result, indent=2))
    else:
        show(result)


if __name__ == "__main__":
    main()
