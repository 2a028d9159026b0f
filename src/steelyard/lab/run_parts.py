"""Parts that every run with a server has: its processes by role, and what is added to the engine's tables."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from steelyard.host.cpus.placement import Placement
from steelyard.lab.engines.registry import LoadFailed
from steelyard.lab.engines.result import EngineResult
from steelyard.monitors import Target
from steelyard.monitors.sql.driver import DriverProcess
from steelyard.run_tables.rows import Columns, Rows
from steelyard.subjects import Load
from steelyard.subjects.drivers.connection import query_command


def engine_cpus(load: Load, placement: Placement) -> frozenset[int]:
    """Measured work in process may use the server's CPUs too."""
    return placement.server | placement.engine if load.in_process else placement.engine


def root_processes(load: Load, engine: int | None) -> dict[str, int]:
    """Root processes of this machine by role: an engine that does the measured work itself is the server."""
    server = load.server
    measured = server is None or load.own_clock
    engines = {} if engine is None else {"server" if measured else "engine": engine}
    if server is None or measured:
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


def with_phases(tables: Mapping[str, Columns], phases: Sequence[tuple[str, int, int]]) -> dict[str, Columns]:
    """The tables with further phases: name, start and end (ns)."""
    rows = Rows("phases")
    rows.extend(tables["phases"])
    for phase, start_ns, end_ns in phases:
        rows.add(point=0, clients=0, phase=phase, start_ns=start_ns, end_ns=end_ns)
    return {**tables, "phases": rows.columns()}


def with_samples(tables: Mapping[str, Columns], parts: Sequence[Columns]) -> dict[str, Columns]:
    """The tables with further samples."""
    return {**tables, "samples": joined("samples", *parts, tables.get("samples"))}


def joined(table: str, *parts: Columns | None) -> Columns:
    """One table of the rows of several, of those that there are."""
    rows = Rows(table)
    for part in filter(None, parts):
        rows.extend(part)
    return rows.columns()


def refuse_interrupted(load: Load, result: EngineResult) -> None:
    """Raises LoadFailed when the server was interrupted: the measurement is then invalid."""
    cause = load.server.interruption() if load.server is not None else ""
    if not cause and (lost := result.facts.connections_lost):
        why = result.facts.connections_lost_cause
        cause = f"{lost} connections were lost under load" + (f": {why}" if why else "")
    if cause:
        raise LoadFailed(cause)
