"""Statements in the messages of PostgreSQL's log, whichever format the log has.

From log_statement (a line when the statement begins) and log_min_duration_statement (a line when it has
ended); a duration of its own line belongs to the statement before it in the session.
https://www.postgresql.org/docs/current/runtime-config-logging.html
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from steelyard.captures.entry import CUT, FAILED, FETCHED, NO_VALUES, Entry

_MESSAGE = re.compile(
    r"(?:duration: (?P<ms>\d{1,12}(?:\.\d+)?) ms)?(?:  )?"
    r"(?:(?P<what>statement|parse|bind|execute)(?: (?P<fetch>fetch from )?(?P<name>[^:]*))?: (?P<sql>.*))?",
    re.DOTALL,
)
_PARAMETER = re.compile(r"\$(\d+) = (?:(NULL)|'((?:[^']|'')*)')(?:, |$)")
_EPOCH = datetime(2000, 1, 1)
_ERRORS = ("ERROR", "FATAL", "PANIC")


@dataclass(frozen=True)
class Line:
    """One record of a log. at: as written; query: of a record on an error, the statement."""

    session: str
    at: str
    severity: str
    message: str
    detail: str
    query: str
    database: str = ""


class Statements:
    """Entries from the lines of a log. A statement's begin waits for the session's next line."""

    def __init__(self, left_out: Counter[str]) -> None:
        self._left_out = left_out
        self._begun: dict[str, Entry] = {}

    def take(self, line: Line) -> Iterator[Entry]:
        """What a line completes. Raises ValueError for a time that is none."""
        if line.severity in _ERRORS:
            yield from self._error(line)
        elif line.severity == "LOG" and (found := _MESSAGE.fullmatch(line.message)):
            at_us, took_us = _us(line.at), round(float(found["ms"] or 0) * 1e3)
            if found["what"] in ("statement", "execute"):
                yield from self._ended(line.session)
                entry = self._entry(line, found)
                if entry is None:
                    return
                if found["ms"]:
                    yield replace(entry, begin_us=at_us - took_us, took_us=took_us)
                else:
                    self._begun[line.session] = replace(entry, begin_us=at_us)
            elif found["what"] is None and found["ms"] and line.session in self._begun:
                yield replace(self._begun.pop(line.session), took_us=took_us)

    def end(self) -> Iterator[Entry]:
        """Those that no later line has completed."""
        for session in list(self._begun):
            yield from self._ended(session)

    def _ended(self, session: str) -> Iterator[Entry]:
        if entry := self._begun.pop(session, None):
            yield entry

    def _entry(self, line: Line, found: re.Match[str]) -> Entry | None:
        if found["fetch"]:
            self._left_out[FETCHED] += 1
            return None
        sql = found["sql"]
        if found["what"] == "statement":
            return Entry(line.session, 0, None, sql, database=line.database)
        values = _values(line.detail)
        if values is None:
            flaw = NO_VALUES if re.search(r"\$\d", sql) else ""
            return Entry(line.session, 0, None, sql, "parsed", flaw=flaw, database=line.database)
        # log_parameter_max_length ends a value that it cuts like this
        flaw = CUT if any(value and value.endswith("...") for value in values) else ""
        return Entry(line.session, 0, None, sql, "values", values, flaw, line.database)

    def _error(self, line: Line) -> Iterator[Entry]:
        begun = self._begun.pop(line.session, None)
        if begun is not None:
            yield replace(begun, flaw=FAILED)
        elif line.query:
            yield Entry(line.session, _us(line.at), None, line.query, flaw=FAILED, database=line.database)


def _values(detail: str) -> tuple[str | None, ...] | None:
    """Bound values in a detail; None: there is none."""
    head, colon, text = detail.partition(": ")
    if head.lower() != "parameters" or not colon:
        return None
    values: list[str | None] = []
    at = 0
    while found := _PARAMETER.match(text, at):
        values.append(None if found[2] else found[3].replace("''", "'"))
        at = found.end()
    # a detail that cannot be read to its end counts as cut
    return tuple(values) if at == len(text) else ("...",)


def _us(at: str) -> int:
    """Of `2026-11-22 10:00:00.123 UTC`; the zone, the same in a whole log, is left aside."""
    moment = datetime.fromisoformat(" ".join(at.split(" ")[:2]))
    return round((moment.replace(tzinfo=None) - _EPOCH).total_seconds() * 1e6)
