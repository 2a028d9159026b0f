"""Statements in the messages of PostgreSQL's log, whichever format the log has.

From log_statement (a line when the statement begins) and log_min_duration_statement (a line when it has
ended); a duration of its own line belongs to the statement before it in the session.
https://www.postgresql.org/docs/current/runtime-config-logging.html
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from steelyard.captures.entry import (
    CALLED,
    CUT,
    CUT_VALUES,
    FAILED,
    FETCHED,
    NO_VALUES,
    OTHERS,
    PARTS,
    UNREADABLE,
    Clock,
    Entry,
    Records,
)

# a name may have a colon, and no space behind it; auto_explain writes plans
_MESSAGE = re.compile(
    r"(?:duration: (?P<ms>\d{1,12}(?:\.\d+)?) ms)?(?:  )?(?P<call>fastpath function call: .*)?"
    r"(?:(?P<what>statement|parse|bind|execute|plan)(?: (?P<fetch>fetch from )?.*?)?:[ \n](?P<sql>.*))?",
    re.DOTALL,
)
# of a statement, in any language; `=`: of a connection
_TIMED = re.compile(r"[^\d=]{1,40}\d+[.,]\d{3} ms\b")
_PARAMETER = re.compile(r"\$(\d+) = (?:(NULL)|'((?:[^']|'')*)')(?:, |$)")
_NO_TEXT = "statements with a duration alone: log_min_duration_statement leaves out their text"
# log_duration logs them as well; "": a log that does not say
_PARTS = ("PARSE", "BIND", "")
_EPOCH = datetime(2000, 1, 1)
_ERRORS = ("ERROR", "FATAL", "PANIC")
_SEVERITIES = (*_ERRORS, "LOG", "WARNING", "NOTICE", "INFO", *(f"DEBUG{n}" for n in range(1, 6)), "DEBUG")
# hours from UTC, of zones with a summer time: the names of others are numbers, or never change
_ZONES_H = re.findall(
    r"(\w+) (\S+)",
    "UTC 0 GMT 0 WET 0 WEST 1 BST 1 IST 1 IDT 2 CET 1 CEST 2 EET 2 EEST 3 NST -3.5 NDT -2.5 AST -4 ADT -3"
    " EST -5 EDT -4 CST -6 CDT -5 MST -7 MDT -6 PST -8 PDT -7 AKST -9 AKDT -8 HST -10 HDT -9 ACST 9.5"
    " ACDT 10.5 AEST 10 AEDT 11 NZST 12 NZDT 13",
)


@dataclass(frozen=True)
class Line:
    """One record of a log.

    at: as written; query: of a record on an error, the statement; number: in its session; xact: its virtual
    transaction, `3/0` where it has ended; command: what the process was at.
    """

    at: str
    user: str
    database: str
    session: str
    command: str
    xact: str
    severity: str
    message: str
    detail: str
    query: str
    number: int | None
    place: str


class Statements:
    """Entries from the lines of a log. A statement's begin waits for the session's next line."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._begun: dict[str, Entry] = {}
        self._clock = Clock()
        self._zones: dict[str, float | None] = {}

    def take(self, line: Line) -> Iterator[Entry]:
        """What a line completes. Raises ValueError for a time that is none, InputError."""
        at_us = self._clock.read(self._us(line.at), line.place)
        found = _MESSAGE.fullmatch(line.message) if line.severity == "LOG" else None
        if line.severity in _ERRORS:
            yield from self._error(line, at_us)
        elif found is None and (line.severity not in _SEVERITIES or _TIMED.match(line.message)):
            self._records.leave(UNREADABLE, line.place)
        elif found is None:
            self._records.beside[OTHERS] += 1
        elif found["call"] or found["what"] in ("statement", "execute"):
            if begun := self._begun.pop(line.session, None):
                yield begun
            entry, took_us = self._entry(line, found), round(float(found["ms"] or 0) * 1e3)
            if found["ms"]:
                yield replace(entry, begin_us=at_us - took_us, took_us=took_us)
            else:
                self._begun[line.session] = replace(entry, begin_us=at_us)
        elif not found["what"] and line.session not in self._begun and line.command not in _PARTS:
            self._records.leave(_NO_TEXT, line.place)
        else:
            self._records.beside[PARTS] += 1
            if found["what"] is None and found["ms"] and (begun := self._begun.pop(line.session, None)):
                yield replace(begun, took_us=round(float(found["ms"]) * 1e3))

    def end(self) -> Iterator[Entry]:
        """Those that no later line has completed."""
        yield from self._begun.values()

    def _entry(self, line: Line, found: re.Match[str]) -> Entry:
        self._records.users.add(line.user)
        entry = self._of(line, 0, found["sql"] or "")
        if found["call"] or found["fetch"]:
            return replace(entry, flaw=CALLED if found["call"] else FETCHED)
        if found["what"] == "statement":
            return entry
        values = _values(line.detail)
        if values is None:
            return replace(entry, how="parsed", flaw=NO_VALUES if re.search(r"\$\d", entry.sql) else "")
        flaw = "" if values != ("...",) else CUT
        for value in filter(None, values):
            size = len(value.encode(errors="surrogateescape"))
            # so ends a value that log_parameter_max_length cuts: all of them are of one length then
            if value.endswith("..."):
                flaw = flaw or CUT_VALUES
                self._records.dotted_bytes.add(size)
            else:
                self._records.longest_bytes = max(size, self._records.longest_bytes)
        return replace(entry, how="values", values=values, flaw=flaw)

    def _error(self, line: Line, at_us: int) -> Iterator[Entry]:
        # without its text (log_min_error_statement) it still ends its transaction
        failed = bool(line.query) or line.severity == "ERROR"
        begun = self._begun.pop(line.session, None)
        if begun and failed and line.query in ("", begun.sql):
            self._records.beside[PARTS] += 1
            yield replace(begun, flaw=FAILED)
            return
        if begun:
            yield begun
        # a process of the server has no database
        if failed and line.database:
            yield replace(self._of(line, at_us, line.query), flaw=FAILED)
        else:
            self._records.beside[OTHERS] += 1

    def _of(self, line: Line, begin_us: int, sql: str) -> Entry:
        return Entry(
            line.session,
            begin_us,
            None,
            sql,
            database=line.database,
            place=line.place,
            line=line.number,
            xact="" if line.xact.endswith("/0") else line.xact,
        )

    def _us(self, at: str) -> int:
        """Of `2026-11-22 10:00:00.123 UTC`, in UTC; a name that is not known never changes."""
        day, time, *rest = at.split(" ")
        zone = "".join(rest)
        if zone not in self._zones:
            self._zones[zone] = _hours(zone)
            if None in self._zones.values() and len(self._zones) > 1:
                raise ValueError(
                    f"the zones {' and '.join(self._zones)}: set log_timezone = 'UTC', or cut the log"
                )
        moment = datetime.fromisoformat(f"{day} {time}").replace(tzinfo=None) - _EPOCH
        return round((moment.total_seconds() - 3600 * (self._zones[zone] or 0)) * 1e6)


def _hours(zone: str) -> float | None:
    """From UTC, of a name or of `+0530`; None: not known."""
    if found := re.fullmatch(r"([+-]\d\d)(?::?(\d\d))?", zone):
        return int(found[1]) + int(found[1][0] + (found[2] or "0")) / 60
    return {name: float(hours) for name, hours in _ZONES_H}.get(zone)


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
