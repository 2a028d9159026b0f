"""PostgreSQL's own counters, 13 to 18: transactions, blocks, WAL, I/O, statement statistics.

Backends report to these counters about once a second and when they go idle, so a difference over
a phase is true to a second of work at each edge. Prepared statements and backend memory can be
seen by their own session only: they are left out.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import psycopg

from steelyard.monitors import Sample, Target, Unavailable
from steelyard.monitors.postgres.connection import connect, disconnect, leave_statements_alone, told

_NEWEST = 10_000


@dataclass(frozen=True)
class Part:
    """Columns from one source of one row, joined to the others in a single query.

    columns: expression by `entity metric`. since, before: major versions of the server.
    """

    name: str
    source: str
    columns: tuple[tuple[str, str], ...]
    since: int = 0
    before: int = _NEWEST
    mending: str = ""

    def sql(self) -> str:
        """The part as a select of its own."""
        columns = ", ".join(f'{expression} as "{name}"' for name, expression in self.columns)
        return f"select {columns} from {self.source}"


PARTS = (
    Part(
        "database",
        "pg_stat_database where datname = current_database()",
        (
            ("database commits_total", "xact_commit"),
            ("database rollbacks_total", "xact_rollback"),
            ("database blocks_hit_total", "blks_hit"),
            ("database blocks_read_total", "blks_read"),
            ("database rows_returned_total", "tup_returned"),
            ("database rows_written_total", "tup_inserted + tup_updated + tup_deleted"),
            ("database temp_bytes_total", "temp_bytes"),
            ("database deadlocks_total", "deadlocks"),
            ("database sessions", "numbackends"),
        ),
    ),
    Part(
        "wal",
        "pg_stat_wal",
        (
            ("wal bytes_total", "wal_bytes"),
            ("wal records_total", "wal_records"),
            ("wal full_page_images_total", "wal_fpi"),
        ),
        since=14,
    ),
    Part(
        "wal",
        "(select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as wal_bytes) as wal",
        (("wal bytes_total", "wal_bytes"),),
        before=14,
        mending="a standby writes no WAL: watch the primary",
    ),
    Part(
        "io",
        "pg_stat_io where object in ('relation', 'temp relation')",
        (
            ("io reads_total", "coalesce(sum(reads), 0)"),
            ("io read_bytes_total", "coalesce(sum(read_bytes), 0)"),
            ("io writes_total", "coalesce(sum(writes), 0)"),
            ("io written_bytes_total", "coalesce(sum(write_bytes), 0)"),
            ("io extends_total", "coalesce(sum(extends), 0)"),
            ("io fsyncs_total", "coalesce(sum(fsyncs), 0)"),
            ("io evictions_total", "coalesce(sum(evictions), 0)"),
        ),
        since=18,
    ),
    Part(
        "io",
        "pg_stat_io where object in ('relation', 'temp relation')",
        (
            ("io reads_total", "coalesce(sum(reads), 0)"),
            ("io read_bytes_total", "coalesce(sum(reads * op_bytes), 0)"),
            ("io writes_total", "coalesce(sum(writes), 0)"),
            ("io written_bytes_total", "coalesce(sum(writes * op_bytes), 0)"),
            ("io extends_total", "coalesce(sum(extends), 0)"),
            ("io fsyncs_total", "coalesce(sum(fsyncs), 0)"),
            ("io evictions_total", "coalesce(sum(evictions), 0)"),
        ),
        since=16,
        before=18,
    ),
    Part(
        "io",
        "pg_stat_bgwriter",
        (
            ("io writes_total", "buffers_checkpoint + buffers_clean + buffers_backend"),
            ("io backend_writes_total", "buffers_backend"),
            ("io backend_fsyncs_total", "buffers_backend_fsync"),
        ),
        before=16,
    ),
    Part(
        "checkpoints",
        "pg_stat_checkpointer",
        (("checkpoints timed_total", "num_timed"), ("checkpoints requested_total", "num_requested")),
        since=17,
    ),
    Part(
        "checkpoints",
        "pg_stat_bgwriter",
        (
            ("checkpoints timed_total", "checkpoints_timed"),
            ("checkpoints requested_total", "checkpoints_req"),
        ),
        before=17,
    ),
)

# Reading the entries costs .8 us each (4 ms for 5,000) and holds the lock that a new entry needs:
# at most this share of the time goes into it, at least one reading every two seconds.
_ENTRIES_SHARE = 1 / 400
_ENTRIES_PERIOD_S_MIN, _ENTRIES_PERIOD_S_MAX = 0.9, 2.0

# A pass of eviction drops 5 % of the entries, at least 10, and begins only when all are in use
# (entry_dealloc in pg_stat_statements.c, the same in 13 to 18): so the number of entries evicted
# is known from the number of passes.
_EVICTED = "dealloc * greatest(10, current_setting('pg_stat_statements.max')::int * 5 / 100)"

# calls and plans are gauges: they leave with the entry that held them.
_ENTRIES = Part(
    "statements",
    "{schema}.pg_stat_statements(false)",
    (
        ("statements entries", "count(*)"),
        ("statements entries_limit", "current_setting('pg_stat_statements.max')::int"),
        ("statements held_calls", "coalesce(sum(calls), 0)"),
    ),
)
_PLANS = ("statements held_plans", "coalesce(sum(plans), 0)")
_PASSES = Part(
    "statement evictions",
    "{schema}.pg_stat_statements_info",
    (
        ("statements eviction_passes_total", "dealloc"),
        ("statements evicted_total", _EVICTED),
    ),
    since=14,
)
_TEXTS = Part(
    "statement texts",
    "pg_stat_file('pg_stat_tmp/pgss_query_texts.stat')",
    (("statements texts_bytes", "size"),),
    mending="needs a superuser or pg_read_server_files",
)


_STATEMENTS_STATE = """
    select e.extnamespace::regnamespace::text,
        current_setting('pg_stat_statements.max', true) is not null,
        current_setting('pg_stat_statements.track_planning', true) = 'on'
    from (select 1) as one left join pg_extension e on e.extname = 'pg_stat_statements'"""


class PostgresMonitor:
    """One connection, one query a reading; a second, rarer one for the entries of statements.

    missing: what cannot be read here, each with its reason.
    """

    def __init__(self) -> None:
        self._target = Target()
        self._connection: psycopg.Connection[Any] | None = None
        self._query = b""
        self._entries_query = b""
        self._entries_due_s = 0.0
        self._missing: list[str] = []

    @property
    def missing(self) -> tuple[str, ...]:
        """`statements: not installed in this database (...)`, one a source."""
        return tuple(self._missing)

    def open(self, target: Target) -> None:
        """Connects and finds out what this server has; raises Unavailable."""
        self._target = target
        self._missing.clear()
        self._entries_due_s = 0.0
        self._connection = connection = connect(target)
        version = connection.info.server_version // 10_000
        try:
            counters, entries = self._statements(connection)
            self._query = self._joined(connection, [*PARTS, *counters], version)
            self._entries_query = self._joined(connection, entries, version)
        except psycopg.Error as error:
            self.close()
            raise Unavailable(f"the server stopped answering: {told(error)}") from error
        if not self._query:
            self.close()
            raise Unavailable("; ".join(self._missing) + " (grant pg_monitor to the user of the monitors)")

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
            cursor = self._connection.execute(query, prepare=True)
            row: Sequence[Any] | None = cursor.fetchone()
        except psycopg.errors.QueryCanceled:
            return []  # too slow this time; the next reading may be in time
        except psycopg.Error as error:
            raise Unavailable(f"the server stopped answering: {told(error)}") from error
        own = len(self._target.own_backends)
        samples: list[Sample] = []
        for column, value in zip(cursor.description or (), row or (), strict=False):
            entity, metric = column.name.split(" ")
            if value is not None:
                own_share = own if metric == "sessions" else 0
                samples.append(Sample(entity, metric, float(value) - own_share))
        return samples

    def _joined(self, connection: psycopg.Connection[Any], parts: Iterable[Part], version: int) -> bytes:
        """One select over all parts that this server has and this user may read; empty if none."""
        usable: list[Part] = []
        for part in parts:
            if not part.since <= version < part.before:
                continue
            try:
                connection.execute(part.sql().encode())
            except psycopg.Error as error:
                if connection.broken:
                    raise
                hint = f" ({part.mending})" if part.mending else ""
                self._missing.append(f"{part.name}: {told(error)}{hint}")
            else:
                usable.append(part)
        rows = (f"({part.sql()}) as part{i}" for i, part in enumerate(usable))
        return ("select * from " + " cross join ".join(rows)).encode() if usable else b""

    def _statements(self, connection: psycopg.Connection[Any]) -> tuple[list[Part], list[Part]]:
        """Parts of pg_stat_statements: counters for each reading, entries for fewer."""
        row = connection.execute(_STATEMENTS_STATE).fetchone()
        schema, loaded, plans = row or (None, False, False)
        # what nobody loaded is not missing: it would itself cost what is weighed
        if not loaded:
            return [], []
        if schema is None:
            self._missing.append(
                "statements: not installed in this database (create extension pg_stat_statements)"
            )
            return [], []
        if not leave_statements_alone(connection):
            self._missing.append(
                "statements: our own queries are among the entries (monitor as a superuser, or "
                "grant set on parameter pg_stat_statements.track)"
            )
        columns = _ENTRIES.columns + ((_PLANS,) if plans else ())
        entries = replace(_ENTRIES, source=_ENTRIES.source.format(schema=schema), columns=columns)
        passes = replace(_PASSES, source=_PASSES.source.format(schema=schema))
        return [passes, _TEXTS], [entries]
