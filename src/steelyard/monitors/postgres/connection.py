"""A monitor's connection to PostgreSQL: named, and configured not to disturb the measurement.

Behind a pooler the session belongs to others as well: settings end with the transaction of each reading, and
no statement stays prepared.
"""

from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg

from steelyard.monitors import Target, Unavailable

APPLICATION_NAME = "steelyard-monitor"

# whatever the server's defaults are
_BEGIN = b"begin isolation level read committed, read only, not deferrable"
# a reading that takes longer is cancelled: other monitors wait for it
_OWN = (
    b"select set_config('statement_timeout', '2s', true), set_config('lock_timeout', '0', true),"
    b" set_config('jit', 'off', true)"
)
_TRACK_OFF = b", set_config('pg_stat_statements.track', 'none', true)"  # superusers only


class Connection(psycopg.Connection[Any]):
    """Each reading is a transaction of its own."""

    settings = _OWN

    def read(self, sql: bytes, given: bool = False) -> psycopg.Cursor[Any]:
        """The rows of one query, in one round trip. Raises psycopg.Error.

        given: by the user, so it must be one statement, which a pipeline checks at thrice the CPU time.
        """
        try:
            if not given:
                cursor = self.execute(b";".join((_BEGIN, self.settings, sql, b"commit")))
                cursor.nextset()
                cursor.nextset()
                return cursor
            with self.pipeline():
                self.execute(_BEGIN)
                self.execute(self.settings)
                cursor = self.execute(sql)
                self.execute(b"rollback")
            return cursor
        finally:
            self.rollback()  # sends nothing unless the query failed

    def leave_statements_alone(self) -> bool:
        """Keeps the monitor's queries out of pg_stat_statements; False when this is not permitted."""
        self.settings += _TRACK_OFF
        try:
            self.read(b"select")
        except psycopg.Error:
            self.settings = _OWN
        return self.settings != _OWN


def connect(target: Target) -> Connection:
    """Connects in autocommit, its backend in target.own_backends. Raises Unavailable, without the dsn."""
    if not target.dsn:
        raise Unavailable("the subject has no PostgreSQL address (use subject.kind = 'postgres')")
    try:
        connection = Connection.connect(
            target.dsn,
            autocommit=True,
            application_name=APPLICATION_NAME,
            connect_timeout=5,
            prepare_threshold=None,
            client_encoding="utf8",  # a database in SQL_ASCII would return text as bytes
        )
    except psycopg.ProgrammingError:
        # its message quotes the unreadable part, which may be a password
        raise Unavailable(
            "libpq cannot read the address: use the form postgresql://user@host:port/database"
        ) from None
    except psycopg.Error as error:
        raise Unavailable(
            f"cannot connect: {message_of(error)} (each monitor needs one connection: check "
            "max_connections and pg_hba.conf)"
        ) from error
    try:
        connection.read(b"select")
    except psycopg.Error as error:
        connection.close()
        raise Unavailable(f"not a supported PostgreSQL: {message_of(error)}") from error
    if "server" in target.pids:  # on another machine the same pid is another process
        target.own_backends.add(connection.info.backend_pid)
    return connection


class OneConnection:
    """Of a monitor, which is open from `_connect` on."""

    _connection: Connection | None = None
    _target: Target

    def _connect(self, target: Target) -> Connection:
        self._target = target
        self._connection = connect(target)
        return self._connection

    @property
    def _open(self) -> Connection:
        if self._connection is None:
            raise Unavailable("the connection is closed")
        return self._connection

    def close(self) -> None:
        """Closes the connection; never raises."""
        if self._connection is not None:
            self._target.own_backends.discard(self._connection.info.backend_pid)
            with suppress(psycopg.Error):
                self._connection.close()
        self._connection = None


@contextmanager
def answering() -> Generator[None]:
    """Raises Unavailable where the server fails."""
    try:
        yield
    except psycopg.Error as error:
        raise Unavailable(f"the server stopped answering: {message_of(error)}") from error


def message_of(error: psycopg.Error) -> str:
    """The server's message, on one line."""
    return " ".join((error.diag.message_primary or str(error)).split())
