"""What the kernel's probes cost: one load, seconds with a probe recording and seconds without, in pairs.

As benches/monitor_cost.py, with CPU time a transaction in place of throughput, since that is told
apart on a busy machine too: of the server, and of server, engine and lab together, in which the
thread that drains the rings counts.

    python benches/probe_cost.py [--quick] [--json] [--clients N]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from monitor_cost import bench, interval, is_on, study
from steelyard import _core
from steelyard.host.placement import place
from steelyard.lab.engine_plan import engine_plan
from steelyard.lab.load import LoadProcess
from steelyard.monitors import Target
from steelyard.monitors.processes import ProcessMonitor
from steelyard.study.plan import Slot, options
from steelyard.subjects import Endpoint
from steelyard.subjects import make as make_subject

# by name: what is asked of the probe, and in which windows it records
_PROBES: dict[str, tuple[dict[str, Any], str]] = {
    "profile at 99 Hz": ({"profile_hz": 99}, "measure"),
    "locks": ({"locks": True}, "measure"),
    "sched": ({"sched": True}, "watch"),
}


@dataclass
class Switcher:
    """Records in every second that is on; keeps the CPU time of each role at every edge."""

    probe: _core.Probe
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
            self.probe.close()
            samples = list(monitor.read())
            self.edges.append({s.entity: s.value for s in samples if s.metric == "cpu_ns_total"})
            if is_on(second) and second < seconds:
                self.probe.open(self.purpose, second, due_ns, due_ns + 10**9)
        monitor.close()


def measure(name: str, clients: int, pairs: int) -> dict[str, Any]:
    asked = study(clients, 2 * pairs)
    plan, purpose = _PROBES[name]
    placement = place(asked.workload.engine_threads, asked.plan.pin)
    with bench(asked, placement) as around:
        subject = make_subject(around)
        try:
            option = options(asked)[0]
            endpoint = subject.start(option)
            subject.reset()
            load = engine_plan(asked, Slot(block=1, slot=1, option=option), around.work, endpoint)
            engine = LoadProcess("load", load, placement.engine)
            pids = {"engine": engine.pid, "monitors": os.getpid()}
            assert isinstance(endpoint, Endpoint)
            if endpoint.pid is not None:
                pids["server"] = endpoint.pid
            roots = [{"pid": pid, "role": role} for role, pid in pids.items()]
            probe = _core.Probe(json.dumps({**plan, "roots": roots, "cpus": sorted(placement.engine)}))
            if probe.refused:
                raise SystemExit(f"error: {probe.refused}")
            switcher = Switcher(probe, purpose, Target(pids=pids))
            threads: list[threading.Thread] = []

            def heard(event: Mapping[str, Any]) -> None:
                if event["event"] == "phase" and event["phase"] == "measure":
                    threads.append(
                        threading.Thread(target=switcher.run, args=(event["t_ns"], 2 * pairs), daemon=True)
                    )
                    threads[0].start()

            result = engine.results(heard)
            # the last edge is read before the server goes
            threads[0].join()
            engine.stop()
        finally:
            subject.stop()
    return figures(name, result, switcher, json.loads(probe.finish() or "{}"))


def figures(
    name: str, result: Mapping[str, Any], switcher: Switcher, told: Mapping[str, Any]
) -> dict[str, Any]:
    rows = result["throughput"]
    counts = {
        second: count
        for statement, second, count in zip(rows["statement"], rows["second"], rows["count"], strict=True)
        if statement == "transaction" and second >= 0
    }
    last = min(len(switcher.edges) - 1, len(counts))

    def cpu_us(second: int, roles: tuple[str, ...]) -> float:
        before, after = switcher.edges[second], switcher.edges[second + 1]
        return sum(after[role] - before[role] for role in roles) / 1e3 / counts[second]

    ratios: dict[str, list[float]] = {"server": [], "all": []}
    # the first pair warms up
    for first in range(2, last - 1, 2):
        on, off = (first, first + 1) if is_on(first) else (first + 1, first)
        for who, roles in (("server", ("server",)), ("all", ("server", "engine", "monitors"))):
            ratios[who].append(cpu_us(on, roles) / cpu_us(off, roles))
    seconds_on = sum(is_on(second) for second in range(last))
    found: dict[str, Any] = {"probe": name, "pairs": len(ratios["all"]), "lost": told.get("lost")}
    found["tps"] = statistics.median(counts.values())
    found["waits_per_s"] = sum(told["locks"]["contended"]) / seconds_on
    found["samples_per_s"] = sum(told["profile"]["samples"]) / seconds_on
    switches = told["scheduling"]
    found["switches_per_s"] = sum((*switches["voluntary"], *switches["involuntary"])) / seconds_on
    for who, values in ratios.items():
        low, high = interval(values)
        found[f"cpu_per_txn_ratio_{who}"] = {"low": low, "median": statistics.median(values), "high": high}
    return found


def show(result: Mapping[str, Any]) -> None:
    print(
        f"{result['probe']}: {result['pairs']} pairs of seconds, {result['tps']:.0f} transactions/s,"
        f" {result['samples_per_s']:.0f} samples/s, {result['waits_per_s']:.0f} waits/s,"
        f" {result['switches_per_s']:.0f} switches/s, {result['lost']} records lost"
    )
    for who in ("server", "all"):
        ratio = result[f"cpu_per_txn_ratio_{who}"]
        print(
            f"  CPU a transaction, {who:6s}, on : off  {ratio['median']:.4f},"
            f" 95 % [{ratio['low']:.4f}, {ratio['high']:.4f}]"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description="What the kernel's probes cost under load")
    parser.add_argument("--json", action="store_true", help="the results as JSON on standard output")
    parser.add_argument("--quick", action="store_true", help="30 pairs of seconds in place of 100")
    parser.add_argument("--clients", type=int, default=16)
    chosen = parser.parse_args()
    results = [measure(name, chosen.clients, 30 if chosen.quick else 100) for name in _PROBES]
    if chosen.json:
        print(json.dumps(results, indent=2))
    else:
        for result in results:
            show(result)


if __name__ == "__main__":
    main()
