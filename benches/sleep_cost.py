"""What it costs to see every sleep for a latch: one load that contends, seconds with the probes and without.

As benches/probe_cost.py, but the probes are made for each second that is on and taken away after it: the
breakpoints that they are would otherwise stay in the server, hit and counted by nobody. 16 clients of the
workload `orders`, each commit waiting for the disk: most sleeps are for WALWrite.

    python benches/sleep_cost.py [--pairs N] [--json] [--clients N] [--bindir DIR] [--nothing]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from dataclasses import dataclass, field
from typing import Any

from pairs import is_on, spread, under_load
from steelyard import _core
from steelyard.host.cpus.scheduling import Placement
from steelyard.host.kernel import new_group
from steelyard.monitors import Target
from steelyard.monitors.system.processes import ProcessMonitor

# seconds on, then seconds off; the first of each, in which the probes come or go, does not count
_STRETCH_S = 4
_FIGURES = ("throughput", "server CPU a transaction")


@dataclass
class Switcher:
    """Probes in every second that is on; keeps the CPU time of each role at every edge."""

    target: Target
    cpus: frozenset[int]
    nothing: bool
    edges: list[dict[str, float]] = field(default_factory=list[dict[str, float]])
    sleeps: int = 0
    lost: int = 0

    def run(self, start_ns: int, seconds: int) -> None:
        """Blocks until the last second is over."""
        os.sched_setaffinity(0, self.cpus)
        monitor = ProcessMonitor()
        monitor.open(self.target)
        probe: _core.Probe | None = None
        for second in range(seconds + 1):
            due_ns = start_ns + second * 10**9
            time.sleep(max(0, due_ns - time.monotonic_ns()) / 1e9)
            self.edges.append({s.entity: s.value for s in monitor.read() if s.metric == "cpu_ns_total"})
            if second % _STRETCH_S:
                continue
            if probe is not None:
                told = json.loads(probe.finish() or "{}")
                self.lost += told["lost"]
                self.sleeps += sum(told["latches"]["sleeps"])
                probe = None
            if is_on(second // _STRETCH_S) and second < seconds and not self.nothing:
                probe = self._probe()
                probe.open("measure", second, due_ns, due_ns + _STRETCH_S * 10**9)
        monitor.close()

    def _probe(self) -> _core.Probe:
        plan = {
            "roots": [{"pid": pid, "role": role} for role, pid in self.target.pids.items()],
            "latches": {"program": f"/proc/{self.target.pids['server']}/exe", "group": new_group()},
            "cpus": sorted(self.cpus),
        }
        probe = _core.Probe(json.dumps(plan))
        if probe.refused:
            raise SystemExit(f"error: {probe.refused}")
        return probe


def measure(clients: int, pairs: int, bindir: str, nothing: bool) -> dict[str, Any]:
    def make(target: Target, placement: Placement) -> Switcher:
        return Switcher(target, placement.engine, nothing)

    changes = {
        "subject": {"kind": "postgres", "bindir": bindir, "settings": {"fsync": True}},
        "workload": {"kind": "orders", "rows": 20_000},
    }
    counts, switcher = under_load(clients, pairs * _STRETCH_S, make, changes)
    whole = min(len(switcher.edges) - 1, len(counts)) // _STRETCH_S

    def figures_of(stretch: int) -> tuple[float, float]:
        """Transactions, and server CPU in us a transaction."""
        first, last = stretch * _STRETCH_S + 1, (stretch + 1) * _STRETCH_S
        done = sum(counts[second] for second in range(first, last))
        cpu_ns = switcher.edges[last]["server"] - switcher.edges[first]["server"]
        return done, cpu_ns / 1e3 / done

    ratios: dict[str, list[float]] = {name: [] for name in _FIGURES}
    for first in range(0, whole - 1, 2):
        on, off = (first, first + 1) if is_on(first) else (first + 1, first)
        for name, with_it, without in zip(_FIGURES, figures_of(on), figures_of(off), strict=True):
            ratios[name].append(with_it / without)
    told: dict[str, Any] = {
        "pairs": whole // 2,
        "tps": statistics.median(counts.values()),
        "sleeps_per_s": switcher.sleeps / (whole // 2 * _STRETCH_S),
        "lost": switcher.lost,
    }
    for name, values in ratios.items():
        told[name] = spread(values)
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description="What it costs to see every sleep for a latch")
    parser.add_argument("--json", action="store_true", help="the results as JSON on standard output")
    parser.add_argument("--pairs", type=int, default=40, help="of stretches of 4 s")
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--bindir", default="embedded", help="of the PostgreSQL")
    parser.add_argument("--nothing", action="store_true", help="no probes: what chance alone gives")
    chosen = parser.parse_args()
    found = measure(chosen.clients, chosen.pairs, chosen.bindir, chosen.nothing)
    if chosen.json:
        print(json.dumps(found, indent=2))
        return
    print(
        f"{found['pairs']} pairs of stretches, {found['tps']:.0f} transactions/s,"
        f" {found['sleeps_per_s']:.0f} sleeps/s, {found['lost']} records lost"
    )
    for name in _FIGURES:
        ratio = found[name]
        print(f"  {name}, on : off  {ratio['median']:.4f}, 95 % [{ratio['low']:.4f}, {ratio['high']:.4f}]")


if __name__ == "__main__":
    main()
