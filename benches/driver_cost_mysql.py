"""What the driver costs: Steelyard's engine against sysbench, on MariaDB.

The statement of sysbench's oltp_point_select through a Unix socket, 8 and 64 clients, prepared and as text.
As in driver_cost.py both drivers are connected to one server and take turns of 100 ms; a ratio pairs the two
of one round. sysbench has a thread for each client, the engine one for all (or --threads). The goal is for
--shared: throughput of the server under the engine to that under sysbench.

    python benches/driver_cost_mysql.py [--quick] [--json] [--shared] [--threads 2]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from driver_cost import ENGINE, START_S, THROUGHPUT_MIN, Cost, Driver, verdict
from steelyard.errors import InputError
from steelyard.subjects.mariadb.data_directory import beside, find_server
from steelyard.subjects.servers.identity import account_of_servers


@dataclass(frozen=True)
class Case:
    """The engine's handle against sysbench's mode of prepared statements."""

    name: str
    clients: int
    handle: str
    ps_mode: str


CASES = (
    Case("prepared, 8 clients", 8, "named", "auto"),
    Case("text, 8 clients", 8, "none", "disable"),
    Case("prepared, 64 clients", 64, "named", "auto"),
)


@dataclass(frozen=True)
class Server:
    """A MariaDB that runs, and the CPUs of the drivers."""

    socket: Path
    rows: int
    driver_cpus: frozenset[int]

    def sysbench(self, mode: str, *arguments: str) -> list[Any]:
        """Its command for this server's table."""
        place = [f"--mysql-socket={self.socket}", "--mysql-user=root", "--mysql-db=bench"]
        table = ["--tables=1", f"--table-size={self.rows}", "--rand-type=uniform"]
        return ["sysbench", "oltp_point_select", *place, *table, *arguments, mode]


@contextmanager
def mariadb(rows: int, shared: bool) -> Generator[Server]:
    """A server with sysbench's table, on CPUs of its own unless shared; nothing of it remains."""
    try:
        program = find_server(None)
    except InputError as missing:
        sys.exit(f"{missing}\nhint: {missing.hint}")
    if shutil.which("sysbench") is None:
        sys.exit("sysbench is not installed\nhint: apt-get install sysbench")
    account = account_of_servers()
    cpus = sorted(os.sched_getaffinity(0))
    folder = Path(tempfile.mkdtemp(prefix="steelyard-bench-"))
    process = None
    try:
        folder.chmod(0o755)
        account.own(folder)
        common = ["--no-defaults", f"--datadir={folder / 'data'}", f"--tmpdir={folder}"]
        install = [beside(program, "mariadb-install-db"), *common, "--skip-test-db"]
        install.append("--auth-root-authentication-method=normal")
        subprocess.run(install, check=True, capture_output=True, cwd="/", **account.arguments)
        socket = folder / "m.sock"
        process = subprocess.Popen(
            [program, *common, f"--socket={socket}", "--skip-networking", "--innodb-buffer-pool-size=256M"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
            **account.arguments,
        )
        os.sched_setaffinity(process.pid, cpus if shared else cpus[:-1] or cpus)
        create = [beside(program, "mariadb"), "--no-defaults", f"--socket={socket}", "-uroot"]
        while subprocess.run([*create, "-e", "create database bench"], capture_output=True).returncode:
            if process.poll() is not None:
                sys.exit("MariaDB did not start")
            time.sleep(0.1)
        server = Server(socket, rows, frozenset(cpus if shared else cpus[-1:]))
        subprocess.run(server.sysbench("prepare"), check=True, capture_output=True)
        yield server
    finally:
        if process is not None:
            process.send_signal(signal.SIGKILL)
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)


class Sysbench(Driver):
    """Its whole life counts; connecting is a thousandth of it."""

    def cost(self) -> Cost:
        """From its report, and from what the kernel says that it used."""
        shown = self.shown()
        match = re.search(r"transactions:\s+(\d+)", shown)
        if match is None:
            sys.exit(f"sysbench printed no transactions: {shown}")
        count = int(match[1])
        user_us, system_us = (used / count * 1e6 for used in (self.usage.ru_utime, self.usage.ru_stime))
        lasted = re.search(r"total time:\s+([\d.]+)s", shown)
        end_ns = self.began_ns + (float(lasted[1]) * 1e9 if lasted else 0.0)
        return Cost(user_us, system_us, count / self.running_s(self.began_ns, end_ns))


def sysbench(server: Server, case: Case, seconds: float) -> Driver:
    mode = [f"--db-ps-mode={case.ps_mode}", f"--threads={case.clients}", f"--time={round(seconds)}"]
    return Sysbench(server.driver_cpus, server.sysbench("run", *mode))


def engine(server: Server, case: Case, seconds: float, threads: int) -> Driver:
    lookup = {
        "name": "lookup",
        "sql": "SELECT c FROM sbtest1 WHERE id=:id",
        "parameters": {"id": {"kind": "uniform", "low": 1, "high": server.rows}},
    }
    plan: dict[str, Any] = {
        "server": {
            "protocol": "mysql", "socket": str(server.socket), "host": "localhost", "port": 3306,
            "user": "root", "password": None, "database": "bench", "tls": "disable", "ca_file": None,
        },
        "session": [],
        "text": "identical",
        "distinct_texts": 1,
        "parameters": "none" if case.handle == "none" else "client",
        "handle": case.handle,
        "statements": [lookup],
        "transactions": [{"name": "lookup", "weight": 1.0, "statements": ["lookup"], "begin": False}],
        "arrival": {"kind": "closed", "think_ms": 0, "think": "fixed"},
        "points": [case.clients],
        "warm_up_s": 0.3,
        "measure_s": seconds,
        "cool_down_s": 0,
        "deadline_ms": 10000,
        "threads": threads,
        "seed": 42,
    }  # fmt: skip
    return Driver(server.driver_cpus, [sys.executable, "-c", ENGINE], json.dumps(plan))


def measure(server: Server, case: Case, rounds: int, seconds: float, threads: int) -> dict[str, Any]:
    """`seconds`: of load for each driver in a round; `threads`: of the engine."""
    starts = {"sysbench": sysbench, "engine": partial(engine, threads=threads)}
    costs: dict[str, list[Cost]] = {name: [] for name in starts}
    for number in range(rounds):
        order = list(starts) if number % 2 else list(starts)[::-1]
        running = {name: starts[name](server, case, (seconds + START_S) * len(starts)) for name in order}
        left = list(running.values())
        while left:
            left = [driver for driver in left if driver.turn()]
        for name, driver in running.items():
            costs[name].append(driver.cost())
    pairs = list(zip(costs["engine"], costs["sysbench"], strict=True))
    ratios = [ours.us / theirs.us for ours, theirs in pairs]
    return {
        "case": case.name,
        "throughput": statistics.median(ours.per_s / theirs.per_s for ours, theirs in pairs),
        **{f"{name}_us": statistics.median(cost.us for cost in found) for name, found in costs.items()},
        "engine_user_us": statistics.median(cost.user_us for cost in costs["engine"]),
        "ratio": {"min": min(ratios), "median": statistics.median(ratios), "max": max(ratios)},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Cost of the driver: Steelyard's engine against sysbench")
    parser.add_argument("--json", action="store_true", help="the results as JSON on standard output")
    parser.add_argument("--quick", action="store_true", help="3 rounds of 3 s a driver in place of 8 of 5 s")
    parser.add_argument("--shared", action="store_true", help="server and driver share all CPUs")
    parser.add_argument("--threads", type=int, default=1, help="threads of the engine")
    options = parser.parse_args()
    rounds, seconds, rows = (3, 3.0, 100_000) if options.quick else (8, 5.0, 1_000_000)
    results: list[dict[str, Any]] = []
    with mariadb(rows, options.shared) as server:
        for case in CASES:
            results.append(found := measure(server, case, rounds, seconds, options.threads))
            if not options.json:
                ratio = "/".join(f"{found['ratio'][part]:.2f}" for part in ("min", "median", "max"))
                print(
                    f"{found['case']}: sysbench {found['sysbench_us']:.2f} us/txn, engine"
                    f" {found['engine_us']:.2f} (of it user {found['engine_user_us']:.2f}),"
                    f" ratio {ratio}, throughput {verdict(found['throughput'], least=THROUGHPUT_MIN)}",
                    flush=True,
                )
    if options.json:
        print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
