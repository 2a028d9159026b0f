"""What the kernel's probes cost: one load, seconds with a probe recording and seconds without, in pairs.

As benches/monitor_cost.py, with CPU time a transaction in place of throughput, since that is told
apart on a busy machine too: of the server, and of server, engine and lab together, in which the
thread that drains the rings counts. One probe costs less than chance alone makes of it, so many of the
same kind record at once, each with events, rings and a thread of its own, as the kernel carries out the
events one after another: the cost of one is their cost by their number.

    python benches/probe_cost.py [--quick] [--json] [--clients N] [--copies N]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pairs import is_on, pairs_of, spread, under_load
from steelyard import _core
from steelyard.host.cpus.scheduling import Placement
from steelyard.monitors import Target
from steelyard.monitors.system.processes import ProcessMonitor

# by name: what is asked of the probe, and in which windows it records
_PROBES: dict[str, tuple[dict[str, Any], str]] = {
    # what the bench itself sees where there is nothing to see
    "nothing": ({}, "measure"),
    "profile at 99 Hz": ({"profile_hz": 99}, "measure"),
    "locks": ({"locks": True}, "measure"),
    "sched": ({"sched": True}, "scheduling-trace"),
}

# what a probe tells that was asked for nothing
_NOTHING = (
    '{"lost": 0, "locks": {"contended": []}, "profile": {"samples": []},'
    ' "scheduling": {"voluntary": [], "involuntary": []}}'
)


@dataclass
class Recorder:
    """Records in every second that is on; keeps the CPU time of each role at every edge."""

    probes: list[_core.Probe]
    purpose: str
    target: Target
    edges: list[dict[str, float]] = field(default_factory=list[dict[str, float]])

    def run(self, start_ns: int, seconds: int) -> None:
        """Blocks until the last second is over."""
        monitor = ProcessMonitor()
        monitor.open(self.target)
        for second in range(seconds + 1):
            due_ns = start_ns + second * 10**9
            time.sleep(max(0, due_ns - time.monotonic_ns()) / 1e9)
            for probe in self.probes:
                probe.close()
            samples = list(monitor.read())
            self.edges.append({s.entity: s.value for s in samples if s.metric == "cpu_ns_total"})
            if is_on(second) and second < seconds:
                for probe in self.probes:
                    probe.open(self.purpose, second, due_ns, due_ns + 10**9)
        monitor.close()


def measure(name: str, clients: int, pairs: int, copies: int) -> dict[str, Any]:
    plan, purpose = _PROBES[name]

    def make(target: Target, placement: Placement) -> Recorder:
        roots = [{"pid": pid, "role": role} for role, pid in target.pids.items()]
        asked = json.dumps({**plan, "roots": roots, "cpus": sorted(placement.engine)})
        probes = [_core.Probe(asked) for _ in range(copies)]
        if probes[0].refused:
            raise SystemExit(f"error: {probes[0].refused}")
        return Recorder(probes, purpose, target)

    counts, recorder = under_load(clients, pairs, make)
    told, *others = [json.loads(probe.finish() or _NOTHING) for probe in recorder.probes]
    last = min(len(recorder.edges) - 1, len(counts))

    def cpu_us(second: int, roles: tuple[str, ...]) -> float:
        before, after = recorder.edges[second], recorder.edges[second + 1]
        return sum(after[role] - before[role] for role in roles) / 1e3 / counts[second]

    ratios: dict[str, list[float]] = {"server": [], "all": []}
    for on, off in pairs_of(last):
        for who, roles in (("server", ("server",)), ("all", ("server", "engine", "monitors"))):
            ratios[who].append(cpu_us(on, roles) / cpu_us(off, roles))
    seconds_on = sum(is_on(second) for second in range(last))
    found: dict[str, Any] = {"probe": name, "copies": copies, "pairs": len(ratios["all"])}
    found["lost"] = sum(one["lost"] for one in (told, *others))
    found["tps"] = statistics.median(counts.values())
    found["waits_per_s"] = sum(told["locks"]["contended"]) / seconds_on
    found["samples_per_s"] = sum(told["profile"]["samples"]) / seconds_on
    switches = told["scheduling"]
    found["switches_per_s"] = sum((*switches["voluntary"], *switches["involuntary"])) / seconds_on
    for who, values in ratios.items():
        together = spread(values)
        found[f"cpu_per_txn_ratio_{who}"] = {
            name: 1 + (ratio - 1) / copies for name, ratio in together.items()
        }
    return found


def show(result: Mapping[str, Any]) -> None:
    print(
        f"{result['probe']}, {result['copies']} at once: {result['pairs']} pairs of seconds,"
        f" {result['tps']:.0f} transactions/s,"
        f" {result['samples_per_s']:.0f} samples/s, {result['waits_per_s']:.0f} waits/s,"
        f" {result['switches_per_s']:.0f} switches/s, {result['lost']} records lost"
    )
    for who in ("server", "all"):
        ratio = result[f"cpu_per_txn_ratio_{who}"]
        print(
            f"  CPU a transaction, {who:6s}, one : none  {ratio['median']:.4f},"
            f" 95 % [{ratio['low']:.4f}, {ratio['high']:.4f}]"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description="What the kernel's probes cost under load")
    parser.add_argument("--json", action="store_true", help="the results as JSON on standard output")
    parser.add_argument("--quick", action="store_true", help="30 pairs of seconds in place of 100")
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--copies", type=int, default=10, help="so many of a probe at once")
    chosen = parser.parse_args()
    pairs = 30 if chosen.quick else 100
    results = [measure(name, chosen.clients, pairs, chosen.copies) for name in _PROBES]
    if chosen.json:
        print(json.dumps(results, indent=2))
    else:
        for result in results:
            show(result)


if __name__ == "__main__":
    main()
