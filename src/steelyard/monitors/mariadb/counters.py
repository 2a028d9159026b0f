"""MariaDB's own counters: statements, prepared statements, query cache, InnoDB's row locks, memory.

https://mariadb.com/docs/server/reference/system-variables-and-status-variables/server-status-variables
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pymysql

from steelyard.host.mariadb_login import login_methods
from steelyard.monitors import Sample, Target, Unavailable

_TIMEOUT_S = 5

# entity, metric, status variable, factor to the metric's unit
_STATUS = (
    ("database", "queries_total", "Questions", 1),
    ("database", "commits_total", "Handler_commit", 1),
    ("database", "rollbacks_total", "Handler_rollback", 1),
    ("database", "sessions", "Threads_connected", 1),
    ("database", "running_sessions", "Threads_running", 1),
    ("statements", "prepares_total", "Com_stmt_prepare", 1),
    ("statements", "executions_total", "Com_stmt_execute", 1),
    ("statements", "closes_total", "Com_stmt_close", 1),
    ("statements", "reprepares_total", "Com_stmt_reprepare", 1),
    ("statements", "prepared", "Prepared_stmt_count", 1),
    ("query cache", "hits_total", "Qcache_hits", 1),
    ("query cache", "inserts_total", "Qcache_inserts", 1),
    ("query cache", "not_cached_total", "Qcache_not_cached", 1),
    ("query cache", "evicted_total", "Qcache_lowmem_prunes", 1),
    ("query cache", "entries", "Qcache_queries_in_cache", 1),
    ("row locks", "waits_total", "Innodb_row_lock_waits", 1),
    ("row locks", "wait_ns_total", "Innodb_row_lock_time", 1_000_000),
    ("redo", "bytes_total", "Innodb_os_log_written", 1),
    ("buffer pool", "requests_total", "Innodb_buffer_pool_read_requests", 1),
    ("buffer pool", "reads_total", "Innodb_buffer_pool_reads", 1),
    ("memory", "used_bytes", "Memory_used", 1),
)
_FREE = "Qcache_free_memory"
# the session of the monitor itself, which is running whenever it asks
_OWN_SESSION = ("sessions", "running_sessions")


class MariaDBMonitor:
    """One connection, one statement a reading. missing: status variables that this server has not."""

    def __init__(self) -> None:
        self._connection: pymysql.Connection[Any] | None = None
        self._limits: dict[str, float] = {}
        self._query = ""
        self._missing: tuple[str, ...] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        """`counters that this server does not have: Memory_used`, when there are any."""
        return self._missing

    def open(self, target: Target) -> None:
        """Connects and reads the limits; raises Unavailable."""
        if not target.dsn.startswith("mysql://"):
            raise Unavailable("the subject has no MariaDB address (subject.kind = 'mariadb' has)")
        names = [variable for *_, variable, _ in _STATUS] + [_FREE]
        self._query = f"show global status where variable_name in ({', '.join(map(repr, names))})"
        try:
            self._connection = connection = connect(target.dsn)
            with connection.cursor() as cursor:
                cursor.execute(
                    "show global variables where variable_name in"
                    " ('max_prepared_stmt_count', 'query_cache_size', 'max_connections')"
                )
                self._limits = {str(name): float(value) for name, value in cursor.fetchall()}
            lacking = sorted(set(names) - self._shown(connection).keys())
        except pymysql.MySQLError as error:
            self.close()
            raise Unavailable(f"MariaDB: {told(error)}") from error
        self._missing = (f"counters that this server does not have: {', '.join(lacking)}",) if lacking else ()

    def read(self) -> Iterable[Sample]:
        """All metrics now; raises Unavailable when the server went away."""
        if self._connection is None:
            raise Unavailable("the connection is closed")
        try:
            shown = self._shown(self._connection)
        except pymysql.MySQLError as error:
            raise Unavailable(f"the server stopped answering: {told(error)}") from error
        samples = [
            Sample(entity, metric, shown[variable] * factor - (metric in _OWN_SESSION))
            for entity, metric, variable, factor in _STATUS
            if variable in shown
        ]
        return [*samples, *self._limited(shown)]

    def close(self) -> None:
        """Closes the connection."""
        if self._connection is not None and self._connection.open:
            self._connection.close()
        self._connection = None

    def _limited(self, shown: Mapping[str, float]) -> Iterable[Sample]:
        yield Sample("statements", "prepared_limit", self._limits["max_prepared_stmt_count"])
        yield Sample("database", "sessions_limit", self._limits["max_connections"])
        if size := self._limits.get("query_cache_size"):
            # off, the cache says that nothing is free
            used = size - shown[_FREE] if shown.get(_FREE) else 0.0
            yield Sample("query cache", "used_bytes", used)
            yield Sample("query cache", "used_bytes_limit", size)

    def _shown(self, connection: pymysql.Connection[Any]) -> dict[str, float]:
        with connection.cursor() as cursor:
            cursor.execute(self._query)
            return {str(name): float(value) for name, value in cursor.fetchall()}


def connect(dsn: str) -> pymysql.Connection[Any]:
    """A connection to `mysql://user:password@host:port/database?socket=PATH&tls=require`.

    tls: disable, require or verify-full, the latter with ca_file. Raises pymysql.MySQLError.
    """
    parts = urlsplit(dsn)
    given = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    encrypted = given.get("tls", "disable") != "disable"
    context = ssl.create_default_context(cafile=given.get("ca_file")) if encrypted else None
    if context is not None and given["tls"] == "require":
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return pymysql.connect(
        host=parts.hostname or "localhost",
        port=parts.port or 3306,
        unix_socket=given.get("socket"),
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        ssl=context,
        auth_plugin_map=login_methods(private=encrypted or "socket" in given),
        connect_timeout=_TIMEOUT_S,
        read_timeout=_TIMEOUT_S,
        autocommit=True,
    )


def told(error: pymysql.MySQLError) -> str:
    """What the server said, with its number."""
    return " ".join(str(part) for part in error.args)
