"""What formats give: statements of sessions, and counts of all other records; the entries on disk."""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Protocol

from steelyard.captures.statements import LONGEST_CHARACTERS, Dialect
from steelyard.errors import InputError

How = Literal["text", "parsed", "values"]

# records of several processes are written about in the order of their times
_Texts = dict[str, str]
_DISORDER_US = 60 * 10**6


@dataclass(frozen=True)
class Entry:
    """One statement of a session.

    begin_us: of its execution, since any moment that all entries of a capture share; took_us: None where the
    log does not say. values: those that were bound, None for NULL. how: as a simple query, parsed without
    values, or with bound values. flaw: why it cannot be executed again, '' where it can. database: '' where
    the format does not say. place: `file:line` of its record. line: number of the record in its session, None
    where the log has none. xact: its transaction, where the log names it.
    """

    session: str
    begin_us: int
    took_us: int | None
    sql: str
    how: How = "text"
    values: tuple[str | None, ...] = ()
    flaw: str = ""
    database: str = ""
    place: str = ""
    line: int | None = None
    xact: str = ""


@dataclass
class Records:
    """Each record of a log is an entry, or is counted here.

    left_out: by reason, of statements; first: place of the first of each. beside: records that are no
    statement. users: of the statements. dotted_bytes, longest_bytes: lengths of bound values that end in
    `...`, and the largest of the others. connects, databases: of the threads and sessions of a server, whose
    log goes on in its next file.
    """

    left_out: Counter[str] = field(default_factory=Counter[str])
    first: _Texts = field(default_factory=_Texts)
    beside: Counter[str] = field(default_factory=Counter[str])
    users: set[str] = field(default_factory=set[str])
    dotted_bytes: set[int] = field(default_factory=set[int])
    longest_bytes: int = 0
    connects: Counter[str] = field(default_factory=Counter[str])
    databases: _Texts = field(default_factory=_Texts)

    def leave(self, reason: str, place: str, count: int = 1) -> None:
        """Counts statements that are not executed again."""
        self.left_out[reason] += count
        self.first.setdefault(reason, place)


class Clock:
    """The times of one file."""

    def __init__(self) -> None:
        self._latest_us: int | None = None

    def read(self, at_us: int, place: str) -> int:
        """The time of a record. Raises InputError where times go back by more than a minute."""
        back_us = (self._latest_us or at_us) - at_us
        if back_us > _DISORDER_US:
            raise InputError(
                f"{place}: the times go back by {back_us / 1e6:g} s",
                "the clock was set, or summer time ended: capture the parts of the file one by one",
            )
        self._latest_us = max(at_us, self._latest_us or at_us)
        return at_us


class Format(Protocol):
    """A module that reads one format. NOTE: how a replay of its statements differs; '' where it does not."""

    NAME: str
    DIALECT: Dialect
    NOTE: str

    def sniff(self, head: bytes) -> bool:
        """Whether a file begins in this format. head: its first 64 KiB."""
        ...

    def read(self, path: Path, records: Records) -> Iterator[Entry]:
        """The statements. records: counts what gives no entry. Raises InputError."""
        ...


WHOLE_SECONDS = "statements whose log has whole seconds: those of one second follow one another at once"
FAILED = "statements that failed in the capture"
UNDOING = "statements whose failure undid their transaction (deadlocks, failed commits)"
COPIED = "COPY and LOAD DATA: their data are not in a log"
CUT = "statements whose text or values the log has cut"
CUT_VALUES = "statements with a value that ends in `...`: the log has cut it (log_parameter_max_length)"
NO_VALUES = "statements whose bound values are not in the log"
FETCHED = "partial fetches of a result"
CALLED = "fast-path calls of functions: their arguments are not in a log"
INCOMPLETE = "incomplete records at the end of a file"
UNREADABLE = "records with a duration that are not understood"
OTHERS = "messages that are no statement"
PARTS = "records of parts of a statement"


_BATCH = 10_000


class Store:
    """Entries of a capture in a file, which the caller removes."""

    def __init__(self, file: Path) -> None:
        self._database = sqlite3.connect(file)
        self._number = 0

    def create(self) -> None:
        """Makes its table. Raises sqlite3.OperationalError, as the other methods do."""
        self._database.executescript(
            "pragma journal_mode = off; pragma synchronous = off;"
            "create table entry (number integer primary key, session text, line integer, begin_us integer,"
            " flaw text, base text, whole text);"
            "create unique index once on entry (session, line, begin_us)"
        )

    def add(self, entries: Iterable[Entry]) -> tuple[int, int]:
        """Appends entries; how many are new, and how many repeat session, line and time of one."""
        before, number = self._database.total_changes, self._number
        self._database.executemany(
            "insert or ignore into entry values (?, ?, ?, ?, ?, ?, ?)", self._rows(entries)
        )
        self._database.commit()
        new = self._database.total_changes - before
        return new, self._number - number - new

    def _rows(self, entries: Iterable[Entry]) -> Iterator[tuple[object, ...]]:
        for entry in entries:
            self._number += 1
            # bytes that are not UTF-8 stand in a text as they were read, which SQLite refuses
            session, database = json.dumps(entry.session), json.dumps(entry.database)
            # a longer text is left out
            whole = json.dumps(vars(entry) | {"sql": entry.sql[: LONGEST_CHARACTERS + 1]})
            yield self._number, session, entry.line, entry.begin_us, entry.flaw, database, whole

    def clear(self, flaw: str) -> None:
        """Makes entries whole that have this flaw."""
        self._database.execute("update entry set flaw = '' where flaw = ?", (flaw,))

    def databases(self) -> dict[str, int]:
        """Statements by database."""
        rows = self._database.execute("select base, count(*) from entry group by base order by 2 desc")
        return {json.loads(name): count for name, count in rows}

    def keep(self, database: str) -> None:
        """Removes the statements of other databases."""
        self._database.execute("delete from entry where base <> ?", (json.dumps(database),))

    def sessions(self) -> list[tuple[str, int]]:
        """Each session's name and first begin in us, in the order of their begin."""
        self._database.execute("create index if not exists by_session on entry (session, number)")
        return self._database.execute(
            "select session, min(begin_us) from entry group by session order by min(begin_us), session"
        ).fetchall()

    def entries(self, session: str) -> Iterator[Entry]:
        """Those of one session, in the order in which they were added."""
        rows = self._database.execute(
            "select whole, flaw from entry where session = ? order by number", (session,)
        )
        for whole, flaw in rows:
            found = json.loads(whole)
            yield replace(Entry(**found), values=tuple(found["values"]), flaw=flaw)

    def close(self) -> None:
        """Closes the file."""
        self._database.close()
