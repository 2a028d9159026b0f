"""What the monitors cost: one load, seconds with all of them read and seconds with none, in pairs.

Each pair is one second on and one off, in an order that alternates, so that whatever else the machine
does meets both alike. The throughput of a pair's seconds is compared; the interval is that of the
median of all pairs (bootstrap, percentile method: Efron and Tibshirani 1993, chapter 13). CPU is that
of the reading thread and of the server processes that serve it, over the seconds with monitors.

    python benches/monitor_cost.py [--quick] [--json] [--clients N]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from steelyard.host.guard import Guard
from steelyard.host.placement import Placement, place
from steelyard.lab.engine_plan import engine_plan
from steelyard.lab.load import LoadProcess
from steelyard.monitors import Monitor, Target, make
from steelyard.study.plan import Slot, options
from steelyard.study.spec import Study
from steelyard.subjects import Bench, Endpoint
from steelyard.subjects import make as make_subject
from steelyard.workloads import work_of

# readings a second, as the lab's defaults
_RATES_HZ = {"host": 1, "processes": 1, "postgres": 1, "postgres-waits": 10}
_RESAMPLES = 5000


def is_on(second: int) -> bool:
    """on off, off on, on off, ...: a drift of the machine's speed favours neither."""
    return second % 4 in (0, 3)


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
        monitors = {name: make(name) for name in _RATES_HZ}
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


def study(clients: int, seconds: int) -> Study:
    return Study.model_validate(
        {
            "name": "monitor-cost",
            "question": "What do the monitors cost?",
            "subject": {"kind": "postgres"},
            "workload": {"kind": "lookup", "rows": 100_000},
            "factors": {"handle": {"scope": "client", "levels": {"named": "named", "none": "none"}}},
            "plan": {"clients": [clients], "warm_up_s": 1, "measure_s": seconds, "cool_down_s": 0},
        }
    )


@contextmanager
def bench(asked: Study, placement: Placement) -> Generator[Bench]:
    """One whose servers leave nothing behind."""
    with Guard() as guard:
        folder = Path(tempfile.mkdtemp(prefix="steelyard-bench-"))
        guard.remove_folder(folder)
        try:
            yield Bench(asked, work_of(asked.workload), folder, placement, guard)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def measure(clients: int, pairs: int) -> dict[str, Any]:
    asked = study(clients, 2 * pairs)
    placement = place(asked.workload.engine_threads, asked.plan.pin)
    with bench(asked, placement) as around:
        subject = make_subject(around)
        try:
            option = options(asked)[0]
            endpoint = subject.start(option)
            subject.reset()
            plan = engine_plan(asked, Slot(block=1, slot=1, option=option), around.work, endpoint)
            engine = LoadProcess("load", plan, placement.engine)
            pids = {"engine": engine.pid, "monitors": os.getpid()}
            assert isinstance(endpoint, Endpoint)
            if endpoint.pid is not None:
                pids["server"] = endpoint.pid
            reader = Reader(Target(pids=pids, dsn=endpoint.dsn), placement.engine)
            threads: list[threading.Thread] = []

            def heard(event: Mapping[str, Any]) -> None:
                if event["event"] == "phase" and event["phase"] == "measure":
                    arguments = (event["t_ns"], 2 * pairs)
                    threads.append(threading.Thread(target=reader.run, args=arguments))
                    threads[0].start()

            result = engine.results(heard)
            engine.stop()
            threads[0].join()
        finally:
            subject.stop()
    return figures(clients, result, reader)


def figures(clients: int, result: Mapping[str, Any], reader: Reader) -> dict[str, Any]:
    rows = result["throughput"]
    counts = {
        second: count
        for statement, second, count in zip(rows["statement"], rows["second"], rows["count"], strict=True)
        if statement == "transaction" and second >= 0
    }
    ratios: list[float] = []
    # the monitors connect in the first pair
    for first in range(2, len(counts) - 1, 2):
        on, off = (first, first + 1) if is_on(first) else (first + 1, first)
        ratios.append(counts[on] / counts[off])
    low, high = interval(ratios)
    share = {name: ns / reader.seconds / 1e7 for name, ns in reader.cpu_ns.items()}
    return {
        "clients": clients,
        "pairs": len(ratios),
        "tps": statistics.median(counts.values()),
        "throughput_ratio": {"low": low, "median": statistics.median(ratios), "high": high},
        "cpu_percent_of_machine": sum(share.values()) / (os.cpu_count() or 1),
        "cpu_percent": share,
    }


def interval(ratios: list[float]) -> tuple[float, float]:
    """95 % interval of the median."""
    chance = random.Random(42)
    medians = sorted(statistics.median(chance.choices(ratios, k=len(ratios))) for _ in range(_RESAMPLES))
    return medians[_RESAMPLES * 25 // 1000], medians[_RESAMPLES * 975 // 1000]


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
