"""Entries on disk, so that a log of any length can be read by session."""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path

from steelyard.captures.entry import Entry
from steelyard.captures.tokens import LONGEST_CHARACTERS

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
            "create table entry (number integer primary key, session text, begin_us integer,"
            " took_us integer, sql text, how text, bound text, flaw text, base text, place text,"
            " line integer, xact text);"
            "create unique index once on entry (session, line, begin_us)"
        )

    def add(self, entries: Iterable[Entry]) -> tuple[int, int]:
        """Appends entries; how many are new, and how many repeat session, line and time of one."""
        before, number = self._database.total_changes, self._number
        self._database.executemany(
            "insert or ignore into entry values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", self._rows(entries)
        )
        self._database.commit()
        new = self._database.total_changes - before
        return new, self._number - number - new

    def _rows(self, entries: Iterable[Entry]) -> Iterator[tuple[object, ...]]:
        for entry in entries:
            self._number += 1
            yield (
                self._number,
                _ascii(entry.session),
                entry.begin_us,
                entry.took_us,
                # a longer one is left out
                _ascii(entry.sql[: LONGEST_CHARACTERS + 1]),
                entry.how,
                json.dumps(entry.values),
                entry.flaw,
                _ascii(entry.database),
                entry.place,
                entry.line,
                entry.xact,
            )

    def clear(self, flaw: str) -> None:
        """Makes entries whole that have this flaw."""
        self._database.execute("update entry set flaw = '' where flaw = ?", (flaw,))

    def databases(self) -> dict[str, int]:
        """Statements by database."""
        rows = self._database.execute("select base, count(*) from entry group by base order by 2 desc")
        return {json.loads(name): count for name, count in rows}

    def keep(self, database: str) -> None:
        """Removes the statements of other databases."""
        self._database.execute("delete from entry where base <> ?", (_ascii(database),))

    def sessions(self) -> list[tuple[str, int, int]]:
        """Each session's name, first begin and last end in us, in the order of their begin."""
        self._database.execute("create index if not exists by_session on entry (session, number)")
        return self._database.execute(
            "select session, min(begin_us), max(begin_us + coalesce(took_us, 0)) from entry"
            " group by session order by min(begin_us), session"
        ).fetchall()

    def entries(self, session: str) -> Iterator[Entry]:
        """Those of one session, in the order in which they were added."""
        rows = self._database.execute(
            "select begin_us, took_us, sql, how, bound, flaw, place, xact from entry where session = ?"
            " order by number",
            (session,),
        )
        for begin_us, took_us, sql, how, bound, flaw, place, xact in rows:
            values, text = tuple(json.loads(bound)), json.loads(sql)
            yield Entry(
                json.loads(session), begin_us, took_us, text, how, values, flaw, place=place, xact=xact
            )

    def close(self) -> None:
        """Closes the file."""
        self._database.close()


def _ascii(text: str) -> str:
    """As JSON: bytes that are not UTF-8 stand in a text as they were read, which SQLite refuses."""
    return json.dumps(text)
