"""The connection of a monitor to PostgreSQL: one, named, kept from disturbing what it measures."""

from __future__ import annotations

from typing import Any

import psycopg

from steelyard.monitors import Target, Unavailable

APPLICATION_NAME = "steelyard-monitor"

_SESSION = (
    # a reading that waits longer than this is given up: other monitors wait behind it
    "set statement_timeout = '2s'",
    "set jit = off",
)
_TRACK_OFF = "set pg_stat_statements.track = 'none'"  # superusers only


def connect(target: Target) -> psycopg.Connection[Any]:
    """Connects in autocommit and enters the backend into target.own_backends.

    Raises Unavailable with the reason; no message holds the dsn.
    """
    if not target.dsn:
        raise Unavailable("the subject has no PostgreSQL address (subject.kind = 'postgres' has)")
    try:
        connection = psycopg.connect(
            target.dsn,
            autocommit=True,
            application_name=APPLICATION_NAME,
            connect_timeout=5,
            client_encoding="utf8",  # from a database in SQL_ASCII text would come as bytes
        )
    except psycopg.ProgrammingError:
        # its message quotes the part that it could not read, which may be a password
        raise Unavailable(
            "the address is not one that libpq can read: write postgresql://user@host:port/database"
        ) from None
    except psycopg.Error as error:
        raise Unavailable(
            f"cannot connect: {told(error)} (one connection a monitor must be left free: "
            "max_connections, pg_hba.conf)"
        ) from error
    try:
        for statement in _SESSION:
            connection.execute(statement)
    except psycopg.Error as error:
        connection.close()
        raise Unavailable(f"not a PostgreSQL that we know: {told(error)}") from error
    if "server" in target.pids:  # elsewhere the number may be that of another process here
        target.own_backends.add(connection.info.backend_pid)
    return connection


def leave_statements_alone(connection: psycopg.Connection[Any]) -> bool:
    """Keeps our own queries out of pg_stat_statements; False when we may not."""
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


def told(error: psycopg.Error) -> str:
    """What the server said, on one line."""
    return " ".join((error.diag.message_primary or str(error)).split())
