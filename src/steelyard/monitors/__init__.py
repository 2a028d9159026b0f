"""Monitors read one source at a rate during a run.

A monitor is one file with one class and its line in MONITORS; nothing else changes: units, costs, charts,
rates and the reference page follow from the declarations of the class.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import Any, ClassVar, NamedTuple, Protocol

from steelyard.declared_metrics import Cost, Declaration, DeclaredMetric

LIMIT_S = 2.0
"""Time limit of a query: the readings of all monitors wait for it."""
ROWS_MAX = 2000
"""Longest result that is used."""


class QueryFailed(Exception):
    """This query failed or was too slow; the next one may not."""


@dataclass(frozen=True)
class Rows:
    """The result of a query: at most ROWS_MAX + 1 rows. Values are numbers, texts or None."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


class Session(Protocol):
    """One connection."""

    def query(self, sql: str) -> Rows:
        """Executes one query. Raises QueryFailed; Unavailable when the connection is lost."""
        ...

    def close(self) -> None:
        """Closes the connection; never raises."""
        ...


class Driver(Protocol):
    """A driver that reaches the server, where the lab itself does not speak its protocol."""

    def session(self) -> Session:
        """A share of the monitors' connection. Raises Unavailable."""
        ...


class Sample(NamedTuple):
    """One sample: its entity, its metric (unit in the name, `_total` for counters) and its value."""

    entity: str
    metric: str
    value: float


class Unavailable(Exception):
    """The source cannot be read here; the message gives the cause and the remedy."""


@dataclass(frozen=True)
class Target:
    """The processes and the server to monitor.

    pids: root process by role (server, engine, monitors); descendants belong to their root.
    dsn: address of the server, for PostgreSQL as libpq reads it, else a URL; '' when the subject has none.
    driver: JDBC driver that reaches the server; None: its dsn does.
    own_backends: server processes that serve the monitors' own connections: the monitor that
        connects adds its backend, and `processes` then counts it as "monitors", not "server".
    """

    pids: Mapping[str, int] = field(default_factory=dict[str, int])
    dsn: str = ""
    driver: Driver | None = None
    own_backends: set[int] = field(default_factory=set[int])


class Reader(Protocol):
    """open once per run, read at each tick, close at the end.

    It may have `missing`: sources that it cannot read, and `remarks`: what its readings lacked, known at the
    end; each a tuple of sentences.
    """

    def open(self, target: Target) -> None:
        """Prepares to read; raises Unavailable with a remedy."""
        ...

    def read(self) -> Iterable[Sample]:
        """All metrics now; raises Unavailable when the source is gone."""
        ...

    def close(self) -> None:
        """Closes files and connections, also after an open that raised Unavailable; never raises."""
        ...


def described(text: str, **costs: Cost) -> dict[str, DeclaredMetric]:
    """Metrics by source, a line each: `SOURCE = ENTITY NAME | MEANING | limit fills`.

    Without a source by name. The last part is left out where neither is true. costs: by source.
    """
    found: dict[str, DeclaredMetric] = {}
    for line in text.strip().splitlines():
        what, meaning, *true = line.split(" | ")
        what, _, name = what.rpartition(" ")
        source, _, entity = what.rpartition(" = ")
        given: dict[str, Any] = dict.fromkeys(" ".join(true).split(), True)
        key = source or f"{entity} {name}"
        found[key] = DeclaredMetric(name, entity, meaning, (costs[key],) if key in costs else (), **given)
    return found


class Monitor(Reader, Protocol):
    """A reader of one kind of source. declares: its metrics and its default rate."""

    declares: ClassVar[Declaration]


MONITORS = {
    "host": "steelyard.monitors.system.machine:HostMonitor",
    "processes": "steelyard.monitors.system.processes:ProcessMonitor",
    "disturbance": "steelyard.monitors.system.disturbance:DisturbanceMonitor",
    "postgres": "steelyard.monitors.postgres.counters:PostgresMonitor",
    "postgres-waits": "steelyard.monitors.postgres.waits:PostgresWaitsMonitor",
    "mariadb": "steelyard.monitors.mariadb:MariaDBMonitor",
    "mariadb-latches": "steelyard.monitors.mariadb:MariaDBLatchesMonitor",
    "valkey": "steelyard.monitors.valkey:ValkeyMonitor",
}


def make(name: str) -> Monitor:
    """A new monitor by its name; raises KeyError for an unknown name."""
    return _class(name)()


def made(rates_hz: Mapping[str, float]) -> dict[str, tuple[Reader, float]]:
    """New monitors with their rates, by name; raises KeyError for an unknown name."""
    return {name: (make(name), rate_hz) for name, rate_hz in rates_hz.items()}


def declared(name: str) -> Declaration:
    """The declaration of a monitor, by its name; raises KeyError for an unknown name."""
    return _class(name).declares


def _class(name: str) -> type[Monitor]:
    return resolve_name(MONITORS[name])
