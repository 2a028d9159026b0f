"""What every format gives: statements of sessions, in the order of the file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from steelyard.captures.tokens import Dialect

How = Literal["text", "parsed", "values"]


@dataclass(frozen=True)
class Entry:
    """One statement of a session.

    begin_us: of its execution, since any moment that all entries of a capture share; took_us: None where the
    log does not say. values: those that were bound, None for NULL. how: as a simple query, parsed without
    values, or with bound values. flaw: why it cannot be executed again, '' where it can. database: '' where
    the format does not say.
    """

    session: str
    begin_us: int
    took_us: int | None
    sql: str
    how: How = "text"
    values: tuple[str | None, ...] = ()
    flaw: str = ""
    database: str = ""


class Format(Protocol):
    """A module that reads one format. NOTE: how a replay of its statements differs; '' where it does not."""

    NAME: str
    DIALECT: Dialect
    NOTE: str

    def sniff(self, head: bytes) -> bool:
        """Whether a file begins in this format. head: its first 64 KiB."""
        ...

    def read(self, path: Path, left_out: Counter[str]) -> Iterator[Entry]:
        """The statements. left_out: counts by reason what gives no entry. Raises InputError."""
        ...


WHOLE_SECONDS = "statements whose log has whole seconds: those of one second follow one another at once"
FAILED = "statements that failed in the capture"
COPIED = "COPY and LOAD DATA: their data are not in a log"
CUT = "statements whose text or values the log has cut"
NO_VALUES = "statements whose bound values are not in the log"
FETCHED = "partial fetches of a result"
INCOMPLETE = "incomplete records at the end of a file"
