"""Connections of monitors by SQL: to a server that the lab reaches itself, or by the driver of the load."""

from __future__ import annotations

from contextlib import suppress

import psycopg
import pymysql

from steelyard.monitors import Target, Unavailable
from steelyard.monitors.mariadb import counters as mariadb
from steelyard.monitors.postgres import connection as postgres
from steelyard.monitors.session import LIMIT_S, ROWS_MAX, QueryFailed, Rows, Session

# of this statement alone: a proxy gives the session to others as well
_OF_STATEMENT = f"set statement max_statement_time = {LIMIT_S}, tx_read_only = 1 for "


def session_of(target: Target) -> Session:
    """A new connection to the server under load. Raises Unavailable."""
    if target.driver is not None:
        return target.driver.session()
    if target.dsn.startswith("mysql://"):
        return _MariaDB(target)
    if target.dsn and not target.dsn.startswith("unix://"):
        return _Postgres(target)
    raise Unavailable("the subject has no address for SQL")


class _Postgres:
    def __init__(self, target: Target) -> None:
        self._target = target
        # with a time limit of LIMIT_S
        self._connection = postgres.connect(target)
        self._connection.leave_statements_alone()

    def query(self, sql: str) -> Rows:
        try:
            cursor = self._connection.read(sql.encode(), given=True)
            if cursor.description is None:
                raise QueryFailed("it returns no rows: write a select")
            names = [column.name for column in cursor.description]
            return Rows(names, cursor.fetchmany(ROWS_MAX + 1))
        except psycopg.Error as error:
            text = postgres.message_of(error)
            if self._connection.broken or self._connection.closed:
                raise Unavailable(f"the server stopped answering: {text}") from error
            raise QueryFailed(text) from error

    def close(self) -> None:
        postgres.disconnect(self._connection, self._target)


class _MariaDB:
    def __init__(self, target: Target) -> None:
        try:
            self._connection = mariadb.connect(target.dsn)
        except pymysql.MySQLError as error:
            raise Unavailable(f"cannot connect: {mariadb.message_of(error)}") from error

    def query(self, sql: str) -> Rows:
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(_OF_STATEMENT + sql)
                if not cursor.description:
                    raise QueryFailed("it returns no rows: write a select")
                names = [str(column[0]) for column in cursor.description]
                return Rows(names, cursor.fetchmany(ROWS_MAX + 1))
        except pymysql.MySQLError as error:
            text = mariadb.message_of(error)
            if not self._connection.open:
                raise Unavailable(f"the server stopped answering: {text}") from error
            raise QueryFailed(text) from error

    def close(self) -> None:
        with suppress(pymysql.MySQLError):
            self._connection.close()
