"""What a fleet of 1,000 load hosts costs the lab: time to start, spread of starts, time to merge, memory.

The hosts are dask workers with the settings of `fleet up`. Their engines are stubs, threads of the
worker: each waits for the common start, notes how late it began, sends an event per second for 10 s as
an engine does, and gives a result of the size of a real one (60 s, three statements, four clients). With
--per-process 1 each worker is a process of its own, forked from one that has imported everything, so
that 1,000 fit into memory; with more, the workers of a process share its interpreter. The scheduler is a
process of its own. So the times are those of scheduler and lab, on the CPUs that both and all hosts
share.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import dask.config
from distributed import Client, Scheduler, Worker, get_worker, secede

from report_scale import histogram
from steelyard import _core
from steelyard.fleet import on_host, worker
from steelyard.fleet.bus import Bus
from steelyard.fleet.connection import Connection, security
from steelyard.fleet.engine import FleetEngine
from steelyard.fleet.on_host import HostResult
from steelyard.fleet.up import SETTINGS
from steelyard.host.processes.signals import end_with
from steelyard.lab.engines.result import EngineResult
from steelyard.study.fleet import SCHEDULER_FILE

SECONDS, STATEMENTS, CLIENTS = 60, ("read", "write", "transaction"), 4
TICKS = 10
BETWEEN_S = 0.04
HISTOGRAMS = [histogram(3000, 1_000_000 + 50_000 * number) for number in range(16)]


class Stub:
    """An engine without load: it has the start that it is commanded."""

    pid = 0

    def __init__(self) -> None:
        self.commanded = threading.Event()
        self.at_ns = 0

    def command(self, line: Mapping[str, Any]) -> None:
        """The common start."""
        self.at_ns = line["at_ns"]
        self.commanded.set()


def stub(channel: str, host: str, _engine: str, plan: Mapping[str, Any]) -> HostResult:
    """In place of `drive`: the same messages, no process."""
    secede()
    own = Stub()
    on_host.engines[on_host.engine_id(channel, host)] = own  # type: ignore[assignment]
    get_worker().log_event(channel, {"event": "ready", "point": 0, "t_ns": time.monotonic_ns(), "host": host})
    assert own.commanded.wait(120)
    time.sleep(max(0, own.at_ns - time.monotonic_ns()) / 1e9)
    late_ns = time.monotonic_ns() - own.at_ns
    for second in range(1, TICKS + 1):
        time.sleep(max(0, own.at_ns + second * 10**9 - time.monotonic_ns()) / 1e9)
        tick = {"event": "tick", "point": 0, "phase": "measure", "transactions": second, "errors": 0}
        get_worker().log_event(channel, {**tick, "t_ns": time.monotonic_ns(), "host": host})
    return result(plan["share"]["host"], plan["share"]["hosts"], late_ns)


def result(host: int, hosts: int, late_ns: int) -> HostResult:
    """A result like that of an engine: about 3,000 different latencies per statement."""
    histogram = HISTOGRAMS[host % len(HISTOGRAMS)]
    rows = [(second, statement) for second in range(SECONDS) for statement in STATEMENTS]
    tables: dict[str, Any] = {
        "phases": {
            "point": [0], "clients": [CLIENTS], "phase": ["measure"], "start_ns": [0], "end_ns": [60 * 10**9],
        },
        "throughput": {
            "point": [0] * len(rows), "second": [second for second, _ in rows],
            "statement": [statement for _, statement in rows], "count": [1000] * len(rows),
            "errors": [0] * len(rows),
        },
        "latency": {
            "point": [0] * len(STATEMENTS), "statement": list(STATEMENTS), "count": [3000] * len(STATEMENTS),
            "histogram": [histogram] * len(STATEMENTS),
        },
        "clients": {
            "point": [0] * CLIENTS, "client": [host + n * hosts for n in range(CLIENTS)],
            "transactions": [1000] * CLIENTS, "errors": [0] * CLIENTS, "mean_ns": [1e6] * CLIENTS,
            "p99_ns": [2e6] * CLIENTS,
        },
        "transactions": {
            name: [] for name in
            ("point", "transaction", "count", "errors", "retries", "rolled_back", "code", "message")
        },
        "errors": {name: [] for name in ("point", "code", "count", "message")},
        "samples": {name: [] for name in ("t_ns", "monitor", "entity", "metric", "value")},
        "notices": {"code": [], "text": []},
        "inspect": {name: [] for name in ("client", "name", "metric", "value")},
        "asides": {name: [] for name in ("point", "phase", "transactions")},
    }  # fmt: skip
    samples = {
        "t_ns": [0, *(n * 10**9 for n in range(SECONDS) for _ in range(40))],
        "monitor": ["host"] * (SECONDS * 40 + 1), "entity": ["cpu"] * (SECONDS * 40 + 1),
        "metric": ["late_ns", *(f"m{n}" for _ in range(SECONDS) for n in range(40))],
        "value": [float(late_ns), *[1.0] * SECONDS * 40],
    }  # fmt: skip
    facts = {"io": "epoll", "threads": 1, "connections_made": 4, "reconnections": 0, "connections_lost": 0}
    more = {"connections_lost_cause": None, "connect_ns_mean": 1.0, "backlog": [0], "began_ns": [1]}
    return HostResult(EngineResult.of("load", {**encoded(tables), "engine": {**facts, **more}}), samples, ())


def encoded(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Tables as an engine sends them."""
    from steelyard.run_tables import rows

    return {name: rows.encoded(columns) for name, columns in tables.items()}


async def scheduler(folder: str) -> None:
    """The scheduler, for ever."""
    file = str(Path(folder) / SCHEDULER_FILE)
    own: dict[str, Any] = {
        "host": "127.0.0.1",
        "protocol": "tcp://",
        "port": 0,
        "dashboard": False,
        "dashboard_address": ":0",
    }
    with dask.config.set(SETTINGS):
        async with Scheduler(scheduler_file=file, security=security({}), **own):
            await asyncio.Event().wait()


async def hosts_of(folder: str, address: str, names: list[str]) -> None:
    """Workers of one process, for ever."""
    # as on a host of its own: workers that share a folder look through it for dead ones when they start
    scratch = {"temporary-directory": f"{folder}/{names[0]}"}
    with dask.config.set({**worker.SETTINGS, **scratch}):
        for name in names:
            await Worker(address, name=name, nthreads=1, dashboard=False, memory_limit=0, host="127.0.0.1")
        await asyncio.Event().wait()


def nursery(folder: str, address: str, names: list[str], per_process: int) -> None:
    """The main of a process that forks those of the hosts: they end with it, and it with this program."""
    if not end_with(os.getppid()):
        return
    own = os.getpid()
    for first in range(0, len(names), per_process):
        if os.fork() == 0:
            if end_with(own):
                asyncio.run(hosts_of(folder, address, names[first : first + per_process]))
            os._exit(0)
        # many that connect at once hinder one another: `fleet up` has 32 on their way
        time.sleep(BETWEEN_S)
    signal.pause()


def lone(folder: str) -> None:
    """The main of the scheduler's process."""
    if end_with(os.getppid()):
        asyncio.run(scheduler(folder))


def begun(target: Any, *arguments: Any) -> BaseProcess:
    """A process of its own."""
    process = multiprocessing.get_context("spawn").Process(target=target, args=arguments, daemon=True)
    process.start()
    return process


def connected(folder: str, names: list[str], per_process: int) -> tuple[Connection, int, int]:
    """Connection, process of the scheduler, and process that holds those of the hosts, when all are there."""
    file = Path(folder) / SCHEDULER_FILE
    alone = begun(lone, folder)
    while not file.exists():
        time.sleep(0.1)
    connection = Connection(json.loads(file.read_text())["address"], security({}))
    hosts = begun(nursery, folder, connection.scheduler, names, per_process)
    with Client(connection.scheduler) as client:
        client.wait_for_workers(len(names), timeout=600)
    assert alone.pid is not None and hosts.pid is not None
    return connection, alone.pid, hosts.pid


def resident_mib(*processes: int) -> float:
    """Memory of these processes, each page that several share counted once among all."""
    pages = [Path(f"/proc/{process}/smaps_rollup").read_text() for process in processes]
    return sum(int(line.split()[1]) for text in pages for line in text.splitlines() if "Pss:" in line) / 1024


def children(process: int) -> list[int]:
    """Those of its main thread."""
    return [int(pid) for pid in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def measured(count: int, per_process: int) -> dict[str, float]:
    """One study's run over so many hosts."""
    names = [f"h{n}" for n in range(count)]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        start_s = time.monotonic()
        connection, scheduler_pid, nursery_pid = connected(folder, names, per_process)
        up_s = time.monotonic() - start_s
        print(f"{count} workers are there after {up_s:.0f} s", file=sys.stderr)
        before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start_s = time.monotonic()
        with Bus(connection, names) as bus:
            connect_s = time.monotonic() - start_s
            start_s = time.monotonic()
            engine = FleetEngine(bus, "load", {}, task=stub)
            clocks_s = time.monotonic() - start_s
            print(f"clocks were read, and tasks sent, in {clocks_s:.0f} s", file=sys.stderr)
            start_s = time.monotonic()
            whole = engine.result(lambda _: None)
            run_s = time.monotonic() - start_s
            engine.stop()
        scheduler_mib = resident_mib(scheduler_pid)
        hosts_mib = resident_mib(nursery_pid, *children(nursery_pid))
    after_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    own = whole.tables["host_samples"]
    late = sorted(value for value, name in zip(own["value"], own["metric"], strict=True) if name == "late_ns")
    start_s = time.monotonic()
    for column in [HISTOGRAMS[n % len(HISTOGRAMS)] for n in range(count)], [HISTOGRAMS[0]] * count:
        _core.histogram_merge(column)
    merge_s = (time.monotonic() - start_s) / 2
    assert sum(whole.tables["clients"]["transactions"]) == count * CLIENTS * 1000
    return {
        "hosts": count,
        "workers_up_s": up_s,
        "connect_s": connect_s,
        "clocks_s": clocks_s,
        "tasks_to_result_s": run_s,
        "start_late_ms_median": late[len(late) // 2] / 1e6,
        "start_late_ms_max": late[-1] / 1e6,
        "merge_one_statement_s": merge_s,
        "largest_bound_ms": max(clock.bound_ns for clock in engine.clocks.values()) / 1e6,
        "lab_memory_mib": (after_kib - before_kib) / 1024,
        "lab_memory_all_mib": after_kib / 1024,
        "scheduler_memory_mib": scheduler_mib,
        "memory_per_host_mib": hosts_mib / count,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--per-process", type=int, default=50, help="hosts in one process")
    parser.add_argument("--quick", action="store_true", help="50 hosts")
    given = parser.parse_args()
    # tasks are found by the name of their module, which is not __main__ for all parties
    from fleet_scale import measured as by_name

    print(json.dumps(by_name(50 if given.quick else given.hosts, given.per_process), indent=2), flush=True)
    # workers end with the process
    os._exit(0)
