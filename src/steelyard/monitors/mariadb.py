"""MariaDB's own counters: statements, query cache, InnoDB's row locks, memory; its latches.

https://mariadb.com/docs/server/reference/system-variables-and-status-variables/server-status-variables
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import pymysql

from steelyard.declared_metrics import Cost, Declaration, DeclaredMetric
from steelyard.host.mariadb_login import error_text, log_in, parse
from steelyard.monitors import Sample, Target, Unavailable, described

_TIMEOUT_S = 5

# by status variable
_STATUS = described(
    """
Questions = database queries_total | Statements that clients sent
Handler_commit = database commits_total | Transactions committed
Handler_rollback = database rollbacks_total | Transactions rolled back
Threads_connected = database sessions | Sessions, without the monitor's own | limit fills
Threads_running = database running_sessions | Sessions that run a statement, without the monitor's own | fills
Com_stmt_prepare = statements prepares_total | Prepared statements created
Com_stmt_execute = statements executions_total | Executions of prepared statements
Com_stmt_close = statements closes_total | Prepared statements closed
Com_stmt_reprepare = statements reprepares_total | Statements prepared again by the server
Prepared_stmt_count = statements prepared | Prepared statements of all sessions | limit fills
Qcache_hits = query cache hits_total | Queries answered from the query cache
Qcache_inserts = query cache inserts_total | Results stored in the query cache
Qcache_not_cached = query cache not_cached_total | Queries that could not be cached
Qcache_lowmem_prunes = query cache evicted_total | Results evicted for lack of memory
Qcache_queries_in_cache = query cache entries | Results in the query cache | fills
Innodb_row_lock_waits = row locks waits_total | Waits for row locks
Innodb_row_lock_time = row locks wait_ns_total | Time waited for row locks
Innodb_os_log_written = redo bytes_total | Redo log written
Innodb_buffer_pool_read_requests = buffer pool requests_total | Pages requested from the buffer pool
Innodb_buffer_pool_reads = buffer pool reads_total | Pages not found in the buffer pool
Memory_used = memory used_bytes | Memory that the server has allocated | fills
""",
    Innodb_row_lock_time=Cost("row_lock_wait_us_per_txn", "wait for row locks", "lock wait"),
    Innodb_os_log_written=Cost("redo_bytes_per_txn", "redo log", "log"),
    Innodb_buffer_pool_read_requests=Cost(
        "pages_requested_per_txn", "pages requested from the buffer pool", "buffers"
    ),
    Innodb_buffer_pool_reads=Cost("pages_read_per_txn", "pages read into the buffer pool", "buffers"),
)
_CACHE = DeclaredMetric(
    "used_bytes", "query cache", "Memory of the query cache in use, if it is on", limit=True, fills=True
)
# of other sessions, if the server began no statement since the last reading
_WAITING = DeclaredMetric(
    "waiting_total", "*", "Samples in which a session of a server that stands still was in this state"
)
_STATES = """
    select coalesce(concat('a row lock that process ', min(h.trx_mysql_thread_id), ' holds'), p.state)
    from information_schema.processlist p
        left join information_schema.innodb_trx t on t.trx_mysql_thread_id = p.id
        left join information_schema.innodb_lock_waits w on w.requesting_trx_id = t.trx_id
        left join information_schema.innodb_trx h on h.trx_id = w.blocking_trx_id and h.trx_state = 'RUNNING'
    where p.command in ('Query', 'Execute') and p.id <> connection_id() group by p.id, p.state"""
_NS_PER_MS = 1_000_000  # times of the status variables are in ms
_FREE = "Qcache_free_memory"
# the monitor's own session counts in both: it is running at each reading
_OWN_SESSION = ("sessions", "running_sessions")


@contextmanager
def _unavailable(why: str) -> Generator[None]:
    try:
        yield
    except pymysql.MySQLError as error:
        raise Unavailable(f"{why}: {error_text(error)}") from error


class _OneConnection:
    _connection: pymysql.Connection[Any] | None = None

    def _connect(self, target: Target) -> None:
        if not target.dsn.startswith("mysql://"):
            raise Unavailable("the subject has no MariaDB address (use subject.kind = 'mariadb')")
        self._connection = connect(target.dsn)

    def _rows(self, sql: str) -> Sequence[Sequence[Any]]:
        if self._connection is None:
            raise Unavailable("the connection is closed")
        with self._connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchall()

    def close(self) -> None:
        """Closes the connection."""
        if self._connection is not None and self._connection.open:
            self._connection.close()
        self._connection = None


class MariaDBMonitor(_OneConnection):
    """One connection, one statement per reading. missing: status variables that this server lacks."""

    declares = Declaration(
        (*_STATUS.values(), _CACHE, _WAITING),
        text="From `SHOW GLOBAL STATUS`. The monitor's session is a thread of the server's process: its cost"
        " counts as the server's.",
    )

    def __init__(self) -> None:
        self._limits: dict[str, float] = {}
        self._query = ""
        self._statements = 0.0
        self._waiting = Counter[str]()
        self.missing: tuple[str, ...] = ()

    def open(self, target: Target) -> None:
        """Connects and reads the limits; raises Unavailable."""
        names = [*_STATUS, _FREE]
        self._query = f"show global status where variable_name in ({', '.join(map(repr, names))})"
        with _unavailable("MariaDB"):
            self._connect(target)
            self._limits = self._shown(
                "show global variables where variable_name in"
                " ('max_prepared_stmt_count', 'query_cache_size', 'max_connections')"
            )
            lacking = sorted(set(names) - self._shown(self._query).keys())
        self.missing = (f"counters that this server does not have: {', '.join(lacking)}",) if lacking else ()

    def read(self) -> Iterable[Sample]:
        """All metrics now; raises Unavailable when the server is gone."""
        with _unavailable("the server stopped answering"):
            shown = self._shown(self._query)
            if shown["Questions"] <= self._statements + 2:
                # of MySQL, and of users without the privilege PROCESS, the waits are not known
                with suppress(pymysql.MySQLError):
                    self._waiting.update(str(state) for (state,) in self._rows(_STATES))
            self._statements = shown["Questions"]
        samples = [
            Sample(metric.entity, metric.name, _value(metric, shown[variable]))
            for variable, metric in _STATUS.items()
            if variable in shown
        ]
        waiting = [Sample(state, _WAITING.name, count) for state, count in self._waiting.items()]
        return [*samples, *waiting, *self._limited(shown)]

    def _limited(self, shown: Mapping[str, float]) -> Iterable[Sample]:
        yield Sample("statements", "prepared_limit", self._limits["max_prepared_stmt_count"])
        yield Sample("database", "sessions_limit", self._limits["max_connections"])
        if size := self._limits.get("query_cache_size"):
            # a cache that is off reports 0 free bytes
            yield Sample(_CACHE.entity, _CACHE.name, size - shown[_FREE] if shown.get(_FREE) else 0.0)
            yield Sample(_CACHE.entity, f"{_CACHE.name}_limit", size)

    def _shown(self, query: str) -> dict[str, float]:
        return {str(name): float(value) for name, value in self._rows(query)}


def _value(metric: DeclaredMetric, shown: float) -> float:
    if metric.name in _OWN_SESSION:
        return shown - 1
    return shown * _NS_PER_MS if metric.unit == "ns" else shown


def connect(dsn: str) -> pymysql.Connection[Any]:
    """A connection to `mysql://user:password@host:port/database?socket=PATH&tls=require`.

    tls: disable, require or verify-full, the latter with ca_file. Raises pymysql.MySQLError.
    """
    return log_in(parse(dsn), _TIMEOUT_S, _TIMEOUT_S)


_READ = (
    "select event_name, count_star, sum_timer_wait"
    " from performance_schema.events_waits_summary_global_by_event_name"
    " where event_name like 'wait/synch/%' and event_name not like 'wait/synch/cond/%' and count_star > 0"
)
_PREFIX = "wait/synch/"
_PS_PER_NS = 1000
_METRICS = (
    DeclaredMetric("gets_total", "*", "Acquisitions of this mutex or rwlock", latch="gets"),
    DeclaredMetric("get_ns_total", "*", "Time of all acquisitions, with or without a wait", latch="get_ns"),
)


class MariaDBLatchesMonitor(_OneConnection):
    """One connection, one query per reading; the entity is the latch, without `wait/synch/`.

    Its instruments must be on from the server's start. Gets are all acquisitions, and the time of a get
    counts with and without a wait (https://mariadb.com/docs/server/reference/system-tables/performance-schema).
    """

    declares = Declaration(
        _METRICS, text="If performance_schema is on. Growth in each measure phase fills the table `latches`."
    )

    missing = (
        "misses and sleeps: performance_schema does not count them, and its time of a get includes gets"
        " without a wait; its instruments cost 7 to 30 % of the CPU, so compare options in a study without"
        " them",
    )

    def open(self, target: Target) -> None:
        """Connects; raises Unavailable, also when performance_schema or its instruments are off."""
        with _unavailable("MariaDB"):
            self._connect(target)
        if not self.read():
            raise Unavailable("performance_schema is off (subject.settings: performance_schema = true)")

    def read(self) -> Sequence[Sample]:
        """gets_total and get_ns_total of every latch; raises Unavailable when the server is gone."""
        with _unavailable("the server stopped answering"):
            rows = self._rows(_READ)
        samples: list[Sample] = []
        for name, gets, picoseconds in rows:
            latch = str(name).removeprefix(_PREFIX)
            samples += [
                Sample(latch, "gets_total", float(gets)),
                Sample(latch, "get_ns_total", float(picoseconds) / _PS_PER_NS),
            ]
        return samples
