"""A monitor by SQL: runs its query at each reading, and makes samples of counters and gauges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from steelyard.monitors import Sample, Target, Unavailable
from steelyard.monitors.session import ROWS_MAX, QueryFailed, Rows, Session
from steelyard.monitors.sql.growth import Growth
from steelyard.monitors.sql.queries import Query, metric_name
from steelyard.monitors.sql.sessions import session_of

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
        self._session = session_of(target)

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
            for column in query.counters:
                value = self._growth.value((series, column), _number(column, row[at[column]]))
                if value is not None:
                    yield Sample(series, metric_name(query, column), value)
            for column in query.gauges:
                value = _number(column, row[at[column]])
                if value is not None:
                    yield Sample(series, column, value)

    def _series(self, found: Rows, at: dict[str, int]) -> Iterator[tuple[str, Any]]:
        """Name and row of each series. Raises QueryFailed where names are not unique."""
        by = self._query.by
        if by is None:
            if len(found.rows) != 1:
                raise QueryFailed(f"it returns {len(found.rows)} rows: select one, or set `by`")
            yield self._name, found.rows[0]
            return
        seen: set[str] = set()
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
    if number != number or number in (float("inf"), float("-inf")):
        raise QueryFailed(f"column {column}: {value} is no number")
    return number
