"""A monitor's connection to PostgreSQL: named, and configured not to disturb the measurement."""

from __future__ import annotations

from typing import Any

import psycopg

from steelyard.monitors import Target, Unavailable

APPLICATION_NAME = "steelyard-monitor"

_SESSION = (
    # a reading that takes longer is cancelled: other monitors wait for it
    "set statement_timeout = '2s'",
    "set jit = off",
)
_TRACK_OFF = "set pg_stat_statements.track = 'none'"  # superusers only


def connect(target: Target) -> psycopg.Connection[Any]:
    """Connects in autocommit and adds the backend to target.own_backends.

    Raises Unavailable with the reason; no message contains the dsn.
    """
    if not target.dsn:
        raise Unavailable("the subject has no PostgreSQL address (use subject.kind = 'postgres')")
    try:
        connection = psycopg.connect(
            target.dsn,
            autocommit=True,
            application_name=APPLICATION_NAME,
            connect_timeout=5,
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
        for statement in _SESSION:
            connection.execute(statement)
    except psycopg.Error as error:
        connection.close()
        raise Unavailable(f"not a supported PostgreSQL: {message_of(error)}") from error
    if "server" in target.pids:  # on another machine the same pid is another process
        target.own_backends.add(connection.info.backend_pid)
    return connection


def leave_statements_alone(connection: psycopg.Connection[Any]) -> bool:
    """Keeps the monitor's queries out of pg_stat_statements; False when this is not permitted."""
    try:
        connection.execute(_TRACK_OFF)
    except psycopg.Error:
        return False
    return True


def disconnect(connection: psycopg.Connection[Any] | None, target: Target) -> None:
    """Closes it; never raises."""
    if connection is None:
        return
    target.own_backends.discard(connection.info.backend_pid)
    try:
        connection.close()
    except psycopg.Error:
        return


def message_of(error: psycopg.Error) -> str:
    """The server's message, on one line."""
    return " ".join((error.diag.message_primary or str(error)).split())
