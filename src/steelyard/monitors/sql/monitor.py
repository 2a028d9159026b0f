"""A monitor by SQL: runs its query at each reading, and makes samples of counters and gauges."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

import psycopg
import pymysql

from steelyard.host.mariadb_login import error_text
from steelyard.monitors import (
    LIMIT_S,
    ROWS_MAX,
    QueryFailed,
    Rows,
    Sample,
    Session,
    Target,
    Unavailable,
    mariadb,
)
from steelyard.monitors.postgres import connection as postgres
from steelyard.monitors.sql.queries import Query, metric_name

# of this statement alone: a proxy gives the session to others as well
_OF_STATEMENT = f"set statement max_statement_time = {LIMIT_S}, tx_read_only = 1 for "


def _rows(cursor: Any) -> Rows:
    """Names and rows of an executed query, of either driver. Raises QueryFailed."""
    if cursor.description is None:
        raise QueryFailed("it returns no rows: write a select")
    return Rows([str(column[0]) for column in cursor.description], cursor.fetchmany(ROWS_MAX + 1))


class _Postgres(postgres.OneConnection):
    def __init__(self, target: Target) -> None:
        # with a time limit of LIMIT_S
        self._connect(target).leave_statements_alone()

    def query(self, sql: str) -> Rows:
        try:
            return _rows(self._open.read(sql.encode(), given=True))
        except psycopg.Error as error:
            text = postgres.message_of(error)
            if self._open.broken or self._open.closed:
                raise Unavailable(f"the server stopped answering: {text}") from error
            raise QueryFailed(text) from error


class _MariaDB:
    def __init__(self, target: Target) -> None:
        try:
            self._connection = mariadb.connect(target.dsn)
        except pymysql.MySQLError as error:
            raise Unavailable(f"cannot connect: {error_text(error)}") from error

    def query(self, sql: str) -> Rows:
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(_OF_STATEMENT + sql)
                return _rows(cursor)
        except pymysql.MySQLError as error:
            text = error_text(error)
            if not self._connection.open:
                raise Unavailable(f"the server stopped answering: {text}") from error
            raise QueryFailed(text) from error

    def close(self) -> None:
        with suppress(pymysql.MySQLError):
            self._connection.close()


_Key = tuple[str, str]
"""Series and column."""


class Growth:
    """Follows the counters of one query."""

    def __init__(self) -> None:
        self._last: dict[_Key, float] = {}
        self._added: dict[_Key, float] = {}
        self._unknown = set[_Key]()
        self._falls = Counter[str]()

    def value(self, key: _Key, read: float | None) -> float | None:
        """The counter's value now: as read, until it falls; then it goes on from where it was.

        None, where the server gives NULL: not known. A counter that was NULL before starts at 0, as what it
        counted before is unknown.
        """
        if read is None:
            if key not in self._last:
                self._unknown.add(key)
            return None
        if key in self._unknown:
            self._unknown.discard(key)
            self._added[key] = -read
        before = self._last.get(key, read)
        if read < before:
            self._falls[key[1]] += 1
            self._added[key] = self._added.get(key, 0.0) + before - read
        self._last[key] = read
        return read + self._added.get(key, 0.0)

    def remarks(self) -> Iterator[str]:
        """One sentence per column that fell."""
        for column, falls in self._falls.items():
            yield (
                f"{column} fell in {falls} {'reading' if falls == 1 else 'readings'} (a restart, a reset, or"
                " entries that were evicted): what it counted meanwhile is missing from its rate"
            )


_NO_NAME = "NULL"


class QueryMonitor:
    """One connection, one query per reading. name: of the monitor, and of its series without `by`.

    failure: of the first query that failed; '': none did.
    """

    def __init__(self, name: str, query: Query) -> None:
        self._name = name
        self._query = query
        self._session: Session | None = None
        self._growth = Growth()
        self._readings = self._failures = 0
        self.failure = ""

    @property
    def missing(self) -> tuple[str, ...]:
        """Of a set, that it was not verified."""
        return (f"the set {self._query.shipped_as} is {self._query.mark}",) if self._query.mark else ()

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the readings lack, known at their end."""
        failed = f"{self._failures} of {self._readings} readings failed: {self.failure}"
        return (*([failed] if self._failures else []), *self._growth.remarks())

    def open(self, target: Target) -> None:
        """Connects; raises Unavailable."""
        if target.driver is not None:
            self._session = target.driver.session()
        elif target.dsn.startswith("mysql://"):
            self._session = _MariaDB(target)
        elif target.dsn and not target.dsn.startswith("unix://"):
            self._session = _Postgres(target)
        else:
            raise Unavailable("the subject has no address for SQL")

    def read(self) -> Iterable[Sample]:
        """One sample per column and row; none where the query failed. Raises Unavailable."""
        if self._session is None:
            raise Unavailable("the connection is closed")
        self._readings += 1
        try:
            return list(self._samples(self._session.query(self._query.sql)))
        except QueryFailed as error:
            self._failures += 1
            self.failure = self.failure or str(error)
            return []

    def close(self) -> None:
        """Closes the connection."""
        if self._session is not None:
            self._session.close()
        self._session = None

    def _samples(self, found: Rows) -> Iterator[Sample]:
        query = self._query
        if len(found.rows) > ROWS_MAX:
            raise QueryFailed(f"it returns more than {ROWS_MAX:,} rows: select fewer, or add group by")
        # servers fold names to one case
        at = {column.lower(): place for place, column in enumerate(found.columns)}
        for column in (*query.counters, *query.gauges, *([query.by] if query.by else [])):
            if column not in at:
                raise QueryFailed(f"it has no column {column}; its columns: {', '.join(at) or 'none'}")
        for series, row in self._series(found, at):
            for column in (*query.counters, *query.gauges):
                value = _number(column, row[at[column]])
                if column in query.counters:
                    value = self._growth.value((series, column), value)
                if value is not None:
                    yield Sample(series, metric_name(query, column), value)

    def _series(self, found: Rows, at: dict[str, int]) -> Iterator[tuple[str, Any]]:
        """Name and row of each series. Raises QueryFailed where names are not unique."""
        by = self._query.by
        if by is None:
            if len(found.rows) != 1:
                raise QueryFailed(f"it returns {len(found.rows)} rows: select one, or set `by`")
            yield self._name, found.rows[0]
            return
        seen = set[str]()
        for row in found.rows:
            value = row[at[by]]
            series = _NO_NAME if value is None else str(value).strip()
            if series in seen:
                raise QueryFailed(f'two rows have {by} "{series}": add group by, or make the name unique')
            seen.add(series)
            yield series, row


def _number(column: str, value: Any) -> float | None:
    """The value of a column; None for NULL. Raises QueryFailed for what is no number."""
    if value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise QueryFailed(f"column {column}: {str(value)[:40]!r} is no number") from None
    if not math.isfinite(number):
        raise QueryFailed(f"column {column}: {value} is no number")
    return number
