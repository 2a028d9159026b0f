"""What a fleet of 1,000 load hosts costs the lab: time to start, spread of starts, time to merge, memory.

The hosts are dask workers of one process, and their engines are stubs: each waits for the common start, notes
when it began, and gives a result of the size of a real one (60 s, three statements, four clients). So the
times are those of scheduler and lab alone, on the CPUs that both and all hosts share.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from distributed import Scheduler, SpecCluster, Worker, get_worker, secede

from report_scale import histogram
from steelyard import _core
from steelyard.fleet import on_host
from steelyard.fleet.bus import Bus
from steelyard.fleet.engine import FleetEngine
from steelyard.fleet.on_host import HostResult
from steelyard.lab.engines.result import EngineResult
from steelyard.study.fleet import SCHEDULER_FILE, Fleet, FleetHost

SECONDS, STATEMENTS, CLIENTS = 60, ("read", "write", "transaction"), 4
began: dict[str, int] = {}
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


def stub(channel: str, host: str, _engine: str, plan: Mapping[str, Any], _limit_s: float) -> HostResult:
    """In place of `drive`: the same messages, no process."""
    secede()
    own = Stub()
    on_host.engines[on_host.engine_id(channel, host)] = own  # type: ignore[assignment]
    get_worker().log_event(channel, {"event": "ready", "point": 0, "t_ns": time.monotonic_ns(), "host": host})
    assert own.commanded.wait(120)
    time.sleep(max(0, own.at_ns - time.monotonic_ns()) / 1e9)
    began[host] = time.monotonic_ns() - own.at_ns
    return result(plan["share"]["host"], plan["share"]["hosts"])


def result(host: int, hosts: int) -> HostResult:
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
        "t_ns": [n * 10**9 for n in range(SECONDS) for _ in range(40)],
        "monitor": ["host"] * SECONDS * 40, "entity": ["cpu"] * SECONDS * 40,
        "metric": [f"m{n}" for _ in range(SECONDS) for n in range(40)], "value": [1.0] * SECONDS * 40,
    }  # fmt: skip
    facts = {"io": "epoll", "threads": 1, "connections_made": 4, "reconnections": 0, "connections_lost": 0}
    more = {"connections_lost_cause": None, "connect_ns_mean": 1.0, "backlog": [0], "began_ns": [1]}
    return HostResult(EngineResult.of("load", {**encoded(tables), "engine": {**facts, **more}}), samples, ())


def encoded(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Tables as an engine sends them."""
    from steelyard.run_tables import rows

    return {name: rows.encoded(columns) for name, columns in tables.items()}


async def cluster(hosts: list[str]) -> SpecCluster:
    """Scheduler and workers of this process."""
    spec = {
        "cls": Worker,
        "options": {"nthreads": 1, "dashboard": False, "memory_limit": 0, "host": "127.0.0.1"},
    }
    made = SpecCluster(
        workers=dict.fromkeys(hosts, spec),
        scheduler={
            "cls": Scheduler,
            "options": {"dashboard": False, "protocol": "tcp://", "host": "127.0.0.1", "port": 0},
        },
        asynchronous=True,
    )
    await made
    return made


def measured(count: int) -> dict[str, float]:
    """One study's run over so many hosts."""
    names = [f"h{n}" for n in range(count)]
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    start_s = time.monotonic()
    made = asyncio.run_coroutine_threadsafe(cluster(names), loop).result(600)
    up_s = time.monotonic() - start_s
    fleet = Fleet(tls=False, hosts={name: FleetHost(address=name, roles=["load"]) for name in names})
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / SCHEDULER_FILE).write_text(json.dumps({"address": made.scheduler_address}))
        before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start_s = time.monotonic()
        with Bus(fleet, Path(folder)) as bus:
            connect_s = time.monotonic() - start_s
            start_s = time.monotonic()
            clocks = bus.offsets()
            clocks_s = time.monotonic() - start_s
            start_s = time.monotonic()
            engine = FleetEngine(bus, "load", {}, task=stub)
            whole = engine.result(lambda _: None)
            run_s = time.monotonic() - start_s
            engine.stop()
    after_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    late = sorted(began.values())
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
        "start_to_result_s": run_s,
        "start_late_ms_median": late[len(late) // 2] / 1e6,
        "start_late_ms_max": late[-1] / 1e6,
        "merge_one_statement_s": merge_s,
        "largest_bound_ms": max(clock.bound_ns for clock in clocks.values()) / 1e6,
        "memory_mib": (after_kib - before_kib) / 1024,
        "memory_all_mib": after_kib / 1024,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--quick", action="store_true", help="50 hosts")
    given = parser.parse_args()
    # tasks are found by the name of their module, which is not __main__ for all parties
    from fleet_scale import measured as by_name

    print(json.dumps(by_name(50 if given.quick else given.hosts), indent=2), flush=True)
    # workers end with the process
    os._exit(0)
