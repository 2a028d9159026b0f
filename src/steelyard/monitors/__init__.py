"""Monitors read one source at a rate while a run goes on.

A monitor is one file with one class and its line in MONITORS; nothing else changes: units, costs, charts,
rates and the reference page follow from what the class declares.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import ClassVar, NamedTuple, Protocol

from steelyard.declared_metrics import Declaration


class Sample(NamedTuple):
    """One reading: of what, which metric (unit in its name, `_total` for counters), its value."""

    entity: str
    metric: str
    value: float


class Unavailable(Exception):
    """The source cannot be read here; the message says why and what would mend it."""


@dataclass(frozen=True)
class Target:
    """What monitors watch.

    pids: root process by role (server, engine, monitors); descendants belong to their root.
    dsn: address of the server, for PostgreSQL as libpq reads it, else a URL; '' when the subject has none.
    own_backends: server processes that serve the monitors' own connections: the monitor that
        connects adds its backend, and `processes` then counts it as "monitors", not "server".
    """

    pids: Mapping[str, int] = field(default_factory=dict[str, int])
    dsn: str = ""
    own_backends: set[int] = field(default_factory=set[int])


class Monitor(Protocol):
    """open once a run, read at each tick, close at the end. declares: its metrics, and its default rate."""

    declares: ClassVar[Declaration]

    def open(self, target: Target) -> None:
        """Get ready to read; raises Unavailable with what would mend it."""
        ...

    def read(self) -> Iterable[Sample]:
        """All metrics now; raises Unavailable when the source went away."""
        ...

    def close(self) -> None:
        """Let go of files and connections; never raises."""
        ...


MONITORS: dict[str, str] = {
    "host": "steelyard.monitors.system.machine:HostMonitor",
    "processes": "steelyard.monitors.system.processes:ProcessMonitor",
    "postgres": "steelyard.monitors.postgres.counters:PostgresMonitor",
    "postgres-waits": "steelyard.monitors.postgres.waits:PostgresWaitsMonitor",
    "mariadb": "steelyard.monitors.mariadb.counters:MariaDBMonitor",
    "mariadb-latches": "steelyard.monitors.mariadb.latches:MariaDBLatchesMonitor",
    "valkey": "steelyard.monitors.valkey:ValkeyMonitor",
}


def make(name: str) -> Monitor:
    """A new monitor by its name; raises KeyError for an unknown one."""
    return _class(name)()


def declared(name: str) -> Declaration:
    """What a monitor declares, by its name; raises KeyError for an unknown one."""
    return _class(name).declares


def _class(name: str) -> type[Monitor]:
    module, _, cls = MONITORS[name].partition(":")
    return getattr(import_module(module), cls)
