"""What a monitor by SQL needs of a connection, whichever server and protocol it goes to."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

LIMIT_S = 2.0
"""Time limit of a query: the readings of all monitors wait for it."""
ROWS_MAX = 2000
"""Longest result that is used."""


class QueryFailed(Exception):
    """This query failed or was too slow; the next one may not."""


@dataclass(frozen=True)
class Rows:
    """The result of a query: at most ROWS_MAX + 1 rows. Values are numbers, texts or None."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


class Session(Protocol):
    """One connection."""

    def query(self, sql: str) -> Rows:
        """Executes one query. Raises QueryFailed; Unavailable when the connection is lost."""
        ...

    def close(self) -> None:
        """Closes the connection; never raises."""
        ...


class Driver(Protocol):
    """A driver that reaches the server, where the lab itself does not speak its protocol."""

    def session(self) -> Session:
        """A share of the monitors' connection. Raises Unavailable."""
        ...
