"""Parts that every run with a server has: its processes by role, and what is added to the engine's tables."""

import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from steelyard.host.processes.limits import within
from steelyard.lab.engines.result import EngineResult, Json, LoadFailed, Sample, Tables
from steelyard.monitors import Target
from steelyard.monitors.sql.driver import DriverProcess
from steelyard.quantities import quantity
from steelyard.run_tables.rows import Columns
from steelyard.study.study import Slot, Study
from steelyard.subjects import Load
from steelyard.subjects.drivers.connection import query_command
from steelyard.workloads import Work

_PERIOD_S = 0.2
_STILL_S = 0.5


def root_processes(load: Load, engine: int | None) -> dict[str, int]:
    """Root processes of this machine by role: an engine that does the measured work itself is the server."""
    server = load.server
    engines = {} if engine is None else {"server" if load.in_process else "engine": engine}
    if server is None or load.own_clock:
        return engines
    own = {} if server.pid is None else {"server": server.pid}
    return {**engines, **server.roles, **own}


def target_of(load: Load, pids: Mapping[str, int], cpus: frozenset[int]) -> Target:
    """What the monitors of a run read. cpus: for the processes that they start."""
    server = load.server
    driver = None
    if server is not None and not server.dsn and (jdbc := load.plan.get("jdbc")):
        driver = DriverProcess(query_command(jdbc), jdbc, cpus)
    dsn = server.dsn if server is not None else ""
    return Target({**pids, "monitors": os.getpid()}, dsn, driver)


def refuse_interrupted(load: Load, result: EngineResult) -> None:
    """Raises LoadFailed when the server was interrupted: the measurement is then invalid."""
    cause = load.server.interruption() if load.server is not None else ""
    if not cause and (lost := result.facts.connections_lost):
        why = result.facts.connections_lost_cause
        cause = f"{lost} connections were lost under load" + (f": {why}" if why else "")
        # its own words begin with their number
        if load.server is not None and load.server.protocol == "mysql" and not (why or "").startswith("("):
            cause += " (the server closes sessions that are idle for wait_timeout, and sends no error)"
    if cause:
        raise LoadFailed(cause)


class Pulse:
    """Around a load: reads the clock a few times a second; raises LoadFailed at its end for a gap.

    All of the study stands still in a frozen control group, by SIGSTOP, in a suspended machine. A gap in the
    warm-up shortens it, and counts too. What the load itself raised follows from the gap, and gives way.
    """

    def __enter__(self) -> None:
        self._over = threading.Event()
        self._still_s = 0.0
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self._thread.start()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._over.set()
        self._thread.join()
        if self._still_s >= _STILL_S and (kind is None or issubclass(kind, Exception)):
            still = quantity(self._still_s, "s")
            raise LoadFailed(f"the study stood still for {still} under load: frozen, stopped or suspended")

    def _beat(self) -> None:
        while not self._over.is_set():
            before_s = _idle_s()
            self._over.wait(_PERIOD_S)
            self._still_s = max(self._still_s, _idle_s() - before_s - _PERIOD_S)


def _idle_s() -> float:
    """The clock that goes on in a suspended machine, less what this thread may have waited for while awake.

    That is a CPU, or the interpreter, while another thread of this process used one.
    """
    ready_ns = 0
    with suppress(OSError):
        ready_ns = int(Path("/proc/thread-self/schedstat").read_text().split()[1])
    return time.clock_gettime(time.CLOCK_BOOTTIME) - time.process_time() - ready_ns / 1e9


def refuse_inconsistent(study: Study, work: Work, load: Load, loaded: bool = False) -> None:
    """Raises LoadFailed with the conditions that the data violate, after a run or as loaded."""
    counts = {one.name: _number(study, load, one.sql) for one in work.conditions if one.after_runs or loaded}
    found = [f"{name} is violated {n:,} time{'s' * (n != 1)}" for name, n in counts.items() if n]
    if found:
        when = "as loaded" if loaded else "after the run"
        raise LoadFailed(f"the data are inconsistent {when}: {'; '.join(found)}")


def growth_samples(study: Study, work: Work, load: Load, t_ns: int) -> Iterator[Sample]:
    """Rows of the tables that runs add to, at the end of a run and as loaded."""
    for table, loaded in work.grows.items():
        yield t_ns, "data", table, "rows", float(_number(study, load, f"select count(*) from {table}"))
        yield t_ns, "data", table, "rows_loaded", float(loaded)


def _number(study: Study, load: Load, sql: str) -> int:
    server = load.server
    if server is None or server.number is None:
        raise LoadFailed("the data cannot be read: this subject has no connection for it")
    ask = server.number
    return within(study.plan.set_up_limit_s, "reading the data", lambda: ask(sql))


@dataclass(frozen=True)
class Run:
    """One finished run: its slot, its status, its rate, and its tables as columns.

    status: done, void or disturbed. A void run has tables only when its load ran to the end and no
    transaction succeeded. disturbed_share: of its busy time, lost to others; 0 where it was not disturbed.
    """

    slot: Slot
    attempt: int
    status: str
    cause: str
    started_at: str
    seconds: float
    tps: float = 0.0
    tables: Tables = field(default_factory=dict[str, Columns])
    server_log: str = ""
    disturbed_share: float = 0.0
    server_facts: Json = field(default_factory=dict[str, Any])
