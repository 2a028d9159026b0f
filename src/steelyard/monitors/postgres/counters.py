"""PostgreSQL's own counters, 13 to 18: transactions, blocks, WAL, I/O, statement statistics.

Backends report to these counters about once per second and when they go idle, so a difference over
a phase is exact to one second of work at each edge. Prepared statements and backend memory are visible
in their own session only: they are left out.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import psycopg

from steelyard.declared_metrics import Cost, Declaration, DeclaredMetric
from steelyard.monitors import Sample, Target, Unavailable
from steelyard.monitors.postgres.connection import Connection, connect, disconnect, message_of
from steelyard.monitors.postgres.counter_views import ENTRIES, PARTS, PASSES, PLANS, TEXTS, Part

_WAL = Cost("wal_bytes_per_txn", "WAL", "log")
_HITS = Cost("blocks_hit_per_txn", "blocks found in shared buffers", "buffers")
_READS = Cost("blocks_read_per_txn", "blocks read into shared buffers", "buffers")
_TEMPORARY = Cost("temp_bytes_per_txn", "temporary files", "buffers")
_METRICS = (
    DeclaredMetric("commits_total", "database", "Transactions committed"),
    DeclaredMetric("rollbacks_total", "database", "Transactions rolled back"),
    DeclaredMetric("blocks_hit_total", "database", "Blocks found in shared buffers", costs=(_HITS,)),
    DeclaredMetric("blocks_read_total", "database", "Blocks not found in shared buffers", costs=(_READS,)),
    DeclaredMetric("rows_returned_total", "database", "Rows that scans returned"),
    DeclaredMetric("rows_written_total", "database", "Rows inserted, updated or deleted"),
    DeclaredMetric("temp_bytes_total", "database", "Bytes written to temporary files", (_TEMPORARY,)),
    DeclaredMetric("deadlocks_total", "database", "Deadlocks"),
    DeclaredMetric("sessions", "database", "Sessions, without those of the monitors", fills=True),
    DeclaredMetric("bytes_total", "wal", "WAL written", costs=(_WAL,)),
    DeclaredMetric("records_total", "wal", "WAL records"),
    DeclaredMetric("full_page_images_total", "wal", "Full page images in the WAL"),
    DeclaredMetric("reads_total", "io", "Reads of tables, indexes and temporary tables, from version 16"),
    DeclaredMetric("read_bytes_total", "io", "Bytes of these reads"),
    DeclaredMetric("writes_total", "io", "Writes of tables, indexes and temporary tables"),
    DeclaredMetric("written_bytes_total", "io", "Bytes of these writes, from version 16"),
    DeclaredMetric("extends_total", "io", "Extensions of files, from version 16"),
    DeclaredMetric("fsyncs_total", "io", "Calls of fsync, from version 16"),
    DeclaredMetric("evictions_total", "io", "Blocks evicted from shared buffers, from version 16"),
    DeclaredMetric("backend_writes_total", "io", "Writes by backends themselves, before version 16"),
    DeclaredMetric("backend_fsyncs_total", "io", "Calls of fsync by backends themselves, before version 16"),
    DeclaredMetric("timed_total", "checkpoints", "Checkpoints because of time"),
    DeclaredMetric("requested_total", "checkpoints", "Checkpoints because of WAL or on request"),
    DeclaredMetric(
        "entries",
        "statements",
        "Entries of pg_stat_statements",
        chart="statements",
        group="memory",
        limit=True,
        fills=True,
    ),
    DeclaredMetric("held_calls", "statements", "Calls counted in the present entries"),
    DeclaredMetric(
        "held_plans", "statements", "Plans counted in the present entries, if track_planning is on"
    ),
    DeclaredMetric("eviction_passes_total", "statements", "Passes that evicted entries"),
    DeclaredMetric(
        "evicted_total", "statements", "Entries evicted: passes times the entries that one pass removes"
    ),
    DeclaredMetric("texts_bytes", "statements", "Size of the file of query texts", fills=True),
)

# Reading costs 0.8 us per entry (4 ms for 5,000) and holds the lock that new entries need: it may take
# at most this share of the time, but there is at least one reading every two seconds.
_ENTRIES_SHARE = 1 / 400
_ENTRIES_PERIOD_S_MIN, _ENTRIES_PERIOD_S_MAX = 0.9, 2.0


_STATEMENTS_STATE = b"""
    select e.extnamespace::regnamespace::text,
        current_setting('pg_stat_statements.max', true) is not null,
        current_setting('pg_stat_statements.track_planning', true) = 'on'
    from (select 1) as single left join pg_extension e on e.extname = 'pg_stat_statements'"""


class PostgresMonitor:
    """One connection, one query per reading; a second, less frequent query for statement entries.

    missing: unreadable sources, each with its reason.
    """

    declares = Declaration(
        _METRICS,
        text="Backends publish their counters about once per second, so transactions come from the load"
        " engine. `statements` is pg_stat_statements, if `shared_preload_libraries` includes it.",
    )

    def __init__(self) -> None:
        self._target = Target()
        self._connection: Connection | None = None
        self._query = b""
        self._entries_query = b""
        self._entries_due_s = 0.0
        self.missing: list[str] = []

    def open(self, target: Target) -> None:
        """Connects and finds the counters of this server; raises Unavailable."""
        self._target = target
        self.missing.clear()
        self._entries_due_s = 0.0
        self._connection = connection = connect(target)
        version = connection.info.server_version // 10_000
        try:
            counters, entries = self._statements(connection)
            self._query = self._joined(connection, [*PARTS, *counters], version)
            self._entries_query = self._joined(connection, entries, version)
        except psycopg.Error as error:
            self.close()
            raise Unavailable(f"the server stopped answering: {message_of(error)}") from error
        if not self._query:
            self.close()
            raise Unavailable("; ".join(self.missing) + " (grant pg_monitor to the monitors' user)")

    def read(self) -> Iterable[Sample]:
        """All metrics now; none when the server did not answer in time; raises Unavailable."""
        samples = self._run(self._query)
        began_s = time.monotonic()
        if self._entries_query and began_s >= self._entries_due_s:
            samples += self._run(self._entries_query)
            period_s = (time.monotonic() - began_s) / _ENTRIES_SHARE
            period_s = min(max(period_s, _ENTRIES_PERIOD_S_MIN), _ENTRIES_PERIOD_S_MAX)
            self._entries_due_s = began_s + period_s
        return samples

    def close(self) -> None:
        """Closes the connection."""
        disconnect(self._connection, self._target)
        self._connection = None

    def _run(self, query: bytes) -> list[Sample]:
        if self._connection is None:
            raise Unavailable("the connection is closed")
        try:
            cursor = self._connection.read(query)
            row: Sequence[Any] | None = cursor.fetchone()
        except psycopg.errors.QueryCanceled:
            return []  # too slow this time; the next reading may be in time
        except psycopg.Error as error:
            raise Unavailable(f"the server stopped answering: {message_of(error)}") from error
        own = len(self._target.own_backends)
        samples: list[Sample] = []
        for column, value in zip(cursor.description or (), row or (), strict=False):
            entity, metric = column.name.split(" ")
            if value is not None:
                own_share = own if metric == "sessions" else 0
                samples.append(Sample(entity, metric, float(value) - own_share))
        return samples

    def _joined(self, connection: Connection, parts: Iterable[Part], version: int) -> bytes:
        """One select over all parts that exist in this server and are readable; empty if none."""
        usable: list[Part] = []
        for part in parts:
            if not part.since <= version < part.before:
                continue
            try:
                connection.read(part.sql().encode())
            except psycopg.Error as error:
                if connection.broken:
                    raise
                hint = f" ({part.hint})" if part.hint else ""
                self.missing.append(f"{part.name}: {message_of(error)}{hint}")
            else:
                usable.append(part)
        rows = (f"({part.sql()}) as part{i}" for i, part in enumerate(usable))
        return ("select * from " + " cross join ".join(rows)).encode() if usable else b""

    def _statements(self, connection: Connection) -> tuple[list[Part], list[Part]]:
        """Parts of pg_stat_statements: counters for each reading, entries for fewer."""
        row = connection.read(_STATEMENTS_STATE).fetchone()
        schema, loaded, plans = row or (None, False, False)
        # not reported as missing: loading it would itself change the server's costs
        if not loaded:
            return [], []
        if schema is None:
            self.missing.append(
                "statements: not installed in this database (create extension pg_stat_statements)"
            )
            return [], []
        if not connection.leave_statements_alone():
            self.missing.append(
                "statements: the monitor's own queries are among the entries (monitor as a superuser, or "
                "grant set on parameter pg_stat_statements.track)"
            )
        columns = ENTRIES.columns + ((PLANS,) if plans else ())
        entries = replace(ENTRIES, source=ENTRIES.source.format(schema=schema), columns=columns)
        passes = replace(PASSES, source=PASSES.source.format(schema=schema))
        return [passes, TEXTS], [entries]
