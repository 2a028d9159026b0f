"""What the Java engine costs: CPU per transaction, and bytes that it allocates.

Point lookups by PostgreSQL's JDBC driver through a Unix socket, 8 clients: the engine with statements that
stay open (named) and prepared for each use; a loop as general benchmark programs write it (prepared for each
call, setObject, columns by name) and the least that JDBC takes (one statement kept, no latencies), both in
jdbc_loops/Loop.java; and the native engine. All are connected to one server, share all CPUs with it and take
turns of 100 ms, the others stopped; a ratio pairs two drivers of one round. CPU of the driver's process
alone, user and system, after a warm-up, without that of the JVM's compilers, which end later: after 8 s
they still took 0.6 to 1.4 us per transaction. Goal: the engine's CPU to that of the general loop.

With --allocation: the engine on a driver without a server (jdbc_loops/StubDriver.java), so that bytes per
transaction of a client's thread, and its CPU, are the engine's own. Goal: at most one byte.

    python benches/driver_cost_jdbc.py [--quick] [--json] [--allocation] [--bindir FOLDER]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from driver_cost import START_S, Case, Cost, Driver, Server, Start, engine, postgres, verdict
from steelyard.subjects.drivers.connection import UNIX_SOCKETS, command, engine_jar, jars, java

CPU_MAX = 0.5
BYTES_MAX = 1.0
_CASE = Case("lookup, 8 clients", 8, "named", "prepared", 0.0)
_PGJDBC = "org.postgresql:postgresql:42.7.4"
_LOOPS = Path(__file__).parent / "jdbc_loops"
# of all drivers together, 15 s each: with 4 s each the engine's code was not compiled yet and cost 1 us more
_WARM_UP_S = 75.0
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class Jvm(Driver):
    """A program of Java that says when it measures: its CPU is read then, without that of its warm-up."""

    def __init__(self, cpus: frozenset[int], command: list[Any]) -> None:
        # a compiler's thread that ends would take its CPU with it
        super().__init__(cpus, [command[0], "-XX:-UseDynamicNumberOfCompilerThreads", *command[1:]])
        self._used_s: list[tuple[float, float]] = []
        self._last = ""
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def cost(self) -> Cost:
        """From its result, and from what the kernel says that it used in the measure phase."""
        self._reader.join()
        last = json.loads(self._last or "{}")
        if self._process.returncode or last.get("event") != "result":
            sys.exit(f"a driver failed: {last}")
        count = sum(last["result"]["clients"]["transactions"])
        (user_s, system_s), (user_end_s, system_end_s) = self._used_s
        return Cost((user_end_s - user_s) / count * 1e6, (system_end_s - system_s) / count * 1e6)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            event = json.loads(line)
            if event["event"] == "phase" and event["phase"] in ("measure", "cool-down"):
                self._used_s.append(used_s(self._process.pid))
            self._last = line


def used_s(pid: int) -> tuple[float, float]:
    """User and system CPU of a JVM until now, that of its compilers apart; s."""
    user, system = _ticks(Path(f"/proc/{pid}/stat"))
    for thread in Path(f"/proc/{pid}/task").iterdir():
        # their names are cut off: C1 CompilerThre, C2 CompilerThre
        with suppress(FileNotFoundError):
            if "CompilerThre" in (thread / "comm").read_text():
                compiling = _ticks(thread / "stat")
                user, system = user - compiling[0], system - compiling[1]
    return user / _TICKS_PER_S, system / _TICKS_PER_S


def _ticks(stat: Path) -> tuple[int, int]:
    fields = stat.read_text().rpartition(")")[2].split()
    return int(fields[11]), int(fields[12])


def connection(server: Server) -> dict[str, Any]:
    """The lab's own, for a server of its own: see subjects/postgres/driver.py."""
    return {
        "java": str(java()),
        "heap_mib": 512,
        "warm_up_max_s": 15,
        "login_s": 10,
        "class_path": [str(path) for path in (engine_jar(), *jars(_PGJDBC, Path(), (UNIX_SOCKETS,)))],
        "url": "jdbc:postgresql://localhost/postgres",
        "properties": {
            "user": "postgres",
            "sslmode": "disable",
            "socketFactory": "org.newsclub.net.unix.AFUNIXSocketFactory$FactoryArg",
            "socketFactoryArg": f"{server.folder}/.s.PGSQL.5432",
        },
    }


def plan(jdbc: Mapping[str, Any], sql: str, handle: str, clients: int, rows: int, **more: Any) -> str:
    """A plan of the Java engine: one statement with one parameter."""
    parameters = {"id": {"kind": "uniform", "low": 1, "high": rows}}
    return json.dumps({
        "jdbc": jdbc,
        "session": [],
        "text": "identical",
        "parameters": "none" if handle == "none" else "client",
        "handle": handle,
        "statements": [{"name": "lookup", "sql": sql, "parameters": parameters}],
        "transactions": [{"name": "lookup", "weight": 1.0, "statements": ["lookup"], "begin": False}],
        "arrival": {"kind": "closed", "think_ms": 0, "think": "fixed"},
        "points": [clients],
        "cool_down_s": 0,
        "deadline_ms": 10_000,
        "seed": 42,
        **more,
    })  # fmt: skip


def java_engine(server: Server, case: Case, seconds: float, handle: str) -> Driver:
    jdbc = connection(server)
    file = server.folder / f"{handle}.json"
    sql = "select filler from item where id = :id"
    file.write_text(
        plan(jdbc, sql, handle, case.clients, server.rows, warm_up_s=_WARM_UP_S, measure_s=seconds) + "\n"
    )
    return Jvm(server.driver_cpus, [*command(jdbc), file])


def loop(server: Server, case: Case, seconds: float, kind: str, classes: Path) -> Driver:
    """With the options of the JVM that the engine has: the loop is compared, not a garbage collector."""
    jdbc = connection(server)
    found = command({**jdbc, "class_path": [str(classes), *jdbc["class_path"]]})
    properties = [f"{name}={value}" for name, value in jdbc["properties"].items()]
    numbers = [str(case.clients), str(_WARM_UP_S), str(seconds), str(server.rows)]
    return Jvm(server.driver_cpus, [*found[:-1], "Loop", kind, jdbc["url"], *numbers, *properties])


def built(folder: Path) -> Path:
    """The classes of jdbc_loops."""
    subprocess.run([java(), _LOOPS / "Bases.java", folder], check=True)
    sources = [*folder.glob("*.java"), _LOOPS / "Loop.java", _LOOPS / "StubDriver.java"]
    subprocess.run(["javac", "-nowarn", "-d", folder, *sources], check=True, capture_output=True)
    return folder


def measure(server: Server, classes: Path, rounds: int, seconds: float) -> dict[str, Any]:
    """`seconds`: of load for each driver in a round."""
    starts: dict[str, Start] = {
        "native": partial(engine, io="epoll"),
        "named": partial(java_engine, handle="named"),
        "per-use": partial(java_engine, handle="per-use"),
        "general": partial(loop, kind="prepare", classes=classes),
        "kept": partial(loop, kind="kept", classes=classes),
    }
    names = list(starts)
    costs: dict[str, list[Cost]] = {name: [] for name in names}
    for number in range(rounds):
        first = number % len(names)
        order = names[first:] + names[:first]
        length = (seconds + START_S) * len(names)
        running = {
            name: starts[name](server, _CASE, length + (_WARM_UP_S if name == "native" else 0))
            for name in order
        }
        left = list(running.values())
        while left:
            left = [driver for driver in left if driver.turn()]
        for name, driver in running.items():
            costs[name].append(driver.cost())
    return {name: _summary(costs[name], costs["general"], costs["kept"]) for name in names}


def _summary(ours: list[Cost], general: list[Cost], kept: list[Cost]) -> dict[str, Any]:
    return {
        "us": statistics.median(cost.us for cost in ours),
        "user_us": statistics.median(cost.user_us for cost in ours),
        "of_general": _spread([one.us / other.us for one, other in zip(ours, general, strict=True)]),
        "of_kept": _spread([one.us / other.us for one, other in zip(ours, kept, strict=True)]),
    }


def _spread(values: list[float]) -> dict[str, float]:
    return {"min": min(values), "median": statistics.median(values), "max": max(values)}


def allocation(classes: Path, seconds: float) -> dict[str, dict[str, float]]:
    """By handle: bytes that a client's thread allocates per transaction, and ns of its CPU."""
    found: dict[str, dict[str, float]] = {}
    for handle in ("named", "per-use", "none"):
        jdbc: dict[str, Any] = {
            "java": str(java()),
            "heap_mib": 512,
            "warm_up_max_s": 15,
            "login_s": 10,
            "class_path": [str(engine_jar()), str(classes)],
            "driver_class": "StubDriver",
            "url": "jdbc:stub:",
        }
        file = classes / f"{handle}.json"
        file.write_text(plan(jdbc, "select :id", handle, 1, 1_000_000, warm_up_s=3, measure_s=seconds))
        done = subprocess.run([*command(jdbc), file], capture_output=True, text=True, check=True)
        shown = re.search(r"allocated (\d+) cpu_ns (\d+) transactions (\d+)", done.stderr)
        if shown is None:
            sys.exit(f"the engine failed: {done.stdout[-500:]}{done.stderr[-500:]}")
        size, cpu_ns, count = map(int, shown.groups())
        found[handle] = {"bytes": size / count, "cpu_ns": cpu_ns / count}
    return found


def _show(result: dict[str, Any]) -> None:
    print("us of CPU per transaction (medians); ratios of the same round (min/median/max)")
    for name, values in result["cpu"].items():
        spreads = {
            title: "/".join(f"{values[key][part]:.2f}" for part in ("min", "median", "max"))
            for title, key in (("to the general loop's", "of_general"), ("to the least", "of_kept"))
        }
        cells = "   ".join(f"{title} {spread}" for title, spread in spreads.items())
        print(f"  {name:8s} {values['us']:6.2f}, of it user {values['user_us']:5.2f}   {cells}")
    print(f"  named to general {verdict(result['cpu']['named']['of_general']['median'], most=CPU_MAX)}")


def _show_allocation(result: dict[str, dict[str, float]]) -> None:
    for handle, values in result.items():
        size, cpu_ns = values["bytes"], values["cpu_ns"]
        # JDBC takes a text as a String, so one with a literal in it is a new one
        judged = f"{size:.0f}" if handle == "none" else verdict(size, most=BYTES_MAX)
        print(f"  {handle:8s} {judged} bytes per transaction, {cpu_ns:.0f} ns of CPU")


def main() -> None:
    parser = argparse.ArgumentParser(description="Cost of the Java engine")
    parser.add_argument("--json", action="store_true", help="the results as JSON on standard output")
    parser.add_argument("--quick", action="store_true", help="3 rounds of 3 s a driver in place of 5 of 5 s")
    parser.add_argument("--allocation", action="store_true", help="bytes per transaction alone: no server")
    parser.add_argument("--bindir", type=Path, help="PostgreSQL's programs; default: the embedded ones")
    options = parser.parse_args()
    rounds, seconds, rows = (3, 3.0, 100_000) if options.quick else (5, 5.0, 1_000_000)
    result: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        classes = built(Path(folder))
        if options.allocation:
            result["allocation"] = allocation(classes, seconds)
        else:
            with postgres(rows, True, options.bindir) as server:
                result["cpu"] = measure(server, classes, rounds, seconds)
    if options.json:
        print(json.dumps(result, indent=2))
    elif options.allocation:
        _show_allocation(result["allocation"])
    else:
        _show(result)


if __name__ == "__main__":
    main()
