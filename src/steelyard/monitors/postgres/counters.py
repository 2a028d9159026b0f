"""PostgreSQL's own counters, 13 to 18: transactions, blocks, WAL, I/O, statement statistics.

Backends report to these counters about once per second and when they go idle, so a difference over
a phase is exact to one second of work at each edge. Prepared statements and backend memory are visible
in their own session only: they are left out.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg

from steelyard.declared_metrics import Cost, Declaration, DeclaredMetric
from steelyard.monitors import Sample, Target, Unavailable, described
from steelyard.monitors.postgres.connection import Connection, OneConnection, answering, message_of

_METRICS = described(
    """
database commits_total | Transactions committed
database rollbacks_total | Transactions rolled back
database blocks_hit_total | Blocks found in shared buffers
database blocks_read_total | Blocks not found in shared buffers
database rows_returned_total | Rows that scans returned
database rows_written_total | Rows inserted, updated or deleted
database temp_bytes_total | Bytes written to temporary files
database deadlocks_total | Deadlocks
database sessions | Sessions, without those of the monitors | fills
wal bytes_total | WAL written
wal records_total | WAL records
wal full_page_images_total | Full page images in the WAL
io reads_total | Reads of tables, indexes and temporary tables, from version 16
io read_bytes_total | Bytes of these reads
io writes_total | Writes of tables, indexes and temporary tables
io written_bytes_total | Bytes of these writes, from version 16
io extends_total | Extensions of files, from version 16
io fsyncs_total | Calls of fsync, from version 16
io evictions_total | Blocks evicted from shared buffers, from version 16
io backend_writes_total | Writes by backends themselves, before version 16
io backend_fsyncs_total | Calls of fsync by backends themselves, before version 16
checkpoints timed_total | Checkpoints because of time
checkpoints requested_total | Checkpoints because of WAL or on request
statements held_calls | Calls counted in the present entries
statements held_plans | Plans counted in the present entries, if track_planning is on
statements eviction_passes_total | Passes that evicted entries
statements evicted_total | Entries evicted: passes times the entries that one pass removes
statements texts_bytes | Size of the file of query texts | fills
""",
    **{
        "wal bytes_total": Cost("wal_bytes_per_txn", "WAL", "log"),
        "database blocks_hit_total": Cost("blocks_hit_per_txn", "blocks found in shared buffers", "buffers"),
        "database blocks_read_total": Cost(
            "blocks_read_per_txn", "blocks read into shared buffers", "buffers"
        ),
        "database temp_bytes_total": Cost("temp_bytes_per_txn", "temporary files", "buffers"),
    },
)
_ENTRIES = DeclaredMetric(
    "entries",
    "statements",
    "Entries of pg_stat_statements",
    (),
    "statements",
    "memory",
    limit=True,
    fills=True,
)


@dataclass(frozen=True)
class _Part:
    """A select of one row, joined to the others in a single query; its columns are called `entity metric`.

    since, before: major versions of the server. hint: the remedy.
    """

    name: str
    sql: str
    since: int = 0
    before: int = 10_000
    hint: str = ""


_IO = """
    select coalesce(sum(reads), 0) as "io reads_total", coalesce(sum({read}), 0) as "io read_bytes_total",
        coalesce(sum(writes), 0) as "io writes_total",
        coalesce(sum({written}), 0) as "io written_bytes_total",
        coalesce(sum(extends), 0) as "io extends_total", coalesce(sum(fsyncs), 0) as "io fsyncs_total",
        coalesce(sum(evictions), 0) as "io evictions_total"
    from pg_stat_io where object in ('relation', 'temp relation')
"""
_PARTS = (
    _Part(
        "database",
        """
        select xact_commit as "database commits_total", xact_rollback as "database rollbacks_total",
            blks_hit as "database blocks_hit_total", blks_read as "database blocks_read_total",
            tup_returned as "database rows_returned_total",
            tup_inserted + tup_updated + tup_deleted as "database rows_written_total",
            temp_bytes as "database temp_bytes_total", deadlocks as "database deadlocks_total",
            numbackends as "database sessions"
        from pg_stat_database where datname = current_database()
        """,
    ),
    _Part(
        "wal",
        """
        select wal_bytes as "wal bytes_total", wal_records as "wal records_total",
            wal_fpi as "wal full_page_images_total"
        from pg_stat_wal
        """,
        since=14,
    ),
    _Part(
        "wal",
        """select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as "wal bytes_total\"""",
        before=14,
        hint="a standby writes no WAL: monitor the primary",
    ),
    _Part("io", _IO.format(read="read_bytes", written="write_bytes"), since=18),
    _Part("io", _IO.format(read="reads * op_bytes", written="writes * op_bytes"), since=16, before=18),
    _Part(
        "io",
        """
        select buffers_checkpoint + buffers_clean + buffers_backend as "io writes_total",
            buffers_backend as "io backend_writes_total", buffers_backend_fsync as "io backend_fsyncs_total"
        from pg_stat_bgwriter
        """,
        before=16,
    ),
    _Part(
        "checkpoints",
        """
        select num_timed as "checkpoints timed_total", num_requested as "checkpoints requested_total"
        from pg_stat_checkpointer
        """,
        since=17,
    ),
    _Part(
        "checkpoints",
        """
        select checkpoints_timed as "checkpoints timed_total",
            checkpoints_req as "checkpoints requested_total"
        from pg_stat_bgwriter
        """,
        before=17,
    ),
)
# calls and plans are gauges: they disappear with their evicted entry
_ENTRIES_OF = """
    select count(*) as "statements entries",
        current_setting('pg_stat_statements.max')::int as "statements entries_limit",
        coalesce(sum(calls), 0) as "statements held_calls"{plans}
    from {schema}.pg_stat_statements(false)
"""
_PLANS = """, coalesce(sum(plans), 0) as "statements held_plans\""""
# A pass of eviction drops 5 % of the entries, at least 10, and begins only when all are in use (entry_dealloc
# in pg_stat_statements.c, the same in 13 to 18): so the number of passes tells that of evictions.
_PASSES = """
    select dealloc as "statements eviction_passes_total",
        dealloc * greatest(10, current_setting('pg_stat_statements.max')::int * 5 / 100)
            as "statements evicted_total"
    from {schema}.pg_stat_statements_info
"""
_TEXTS = _Part(
    "statement texts",
    """select size as "statements texts_bytes" from pg_stat_file('pg_stat_tmp/pgss_query_texts.stat')""",
    hint="needs a superuser or pg_read_server_files",
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


class PostgresMonitor(OneConnection):
    """One connection, one query per reading; a second, less frequent query for statement entries.

    missing: unreadable sources, each with its reason.
    """

    declares = Declaration(
        (*_METRICS.values(), _ENTRIES),
        text="Backends publish their counters about once per second, so transactions come from the load"
        " engine. `statements` is pg_stat_statements, if `shared_preload_libraries` includes it.",
    )

    def __init__(self) -> None:
        self._query = b""
        self._entries_query = b""
        self._entries_due_s = 0.0
        self.missing: list[str] = []

    def open(self, target: Target) -> None:
        """Connects and finds the counters of this server; raises Unavailable."""
        connection = self._connect(target)
        version = connection.info.server_version // 10_000
        with answering():
            counters, entries = self._statements(connection)
            self._query = self._joined(connection, [*_PARTS, *counters], version)
            self._entries_query = self._joined(connection, entries, version)
        if not self._query:
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

    def _run(self, query: bytes) -> list[Sample]:
        with answering():
            try:
                cursor = self._open.read(query)
                row: Sequence[Any] | None = cursor.fetchone()
            except psycopg.errors.QueryCanceled:
                return []  # too slow this time; the next reading may be in time
        own = len(self._target.own_backends)
        samples: list[Sample] = []
        for column, value in zip(cursor.description or (), row or (), strict=False):
            entity, metric = column.name.split(" ")
            if value is not None:
                own_share = own if metric == "sessions" else 0
                samples.append(Sample(entity, metric, float(value) - own_share))
        return samples

    def _joined(self, connection: Connection, parts: Iterable[_Part], version: int) -> bytes:
        """One select over all parts that exist in this server and are readable; empty if none."""
        usable: list[_Part] = []
        for part in parts:
            if not part.since <= version < part.before:
                continue
            try:
                connection.read(part.sql.encode())
            except psycopg.Error as error:
                if connection.broken:
                    raise
                hint = f" ({part.hint})" if part.hint else ""
                self.missing.append(f"{part.name}: {message_of(error)}{hint}")
            else:
                usable.append(part)
        rows = (f"({part.sql}) as part{i}" for i, part in enumerate(usable))
        return ("select * from " + " cross join ".join(rows)).encode() if usable else b""

    def _statements(self, connection: Connection) -> tuple[list[_Part], list[_Part]]:
        """Parts of pg_stat_statements: counters for each reading, entries for fewer."""
        schema, loaded, plans = connection.read(_STATEMENTS_STATE).fetchone() or (None, False, False)
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
        entries = _ENTRIES_OF.format(schema=schema, plans=_PLANS if plans else "")
        passes = _Part("statement evictions", _PASSES.format(schema=schema), since=14)
        return [passes, _TEXTS], [_Part("statements", entries)]
