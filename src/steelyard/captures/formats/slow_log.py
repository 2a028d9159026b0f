"""The slow query log of MariaDB and MySQL; with long_query_time = 0 it has every statement.

A statement began at its timestamp, in whole seconds. https://mariadb.com/kb/en/slow-query-log-overview/
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from steelyard.captures.entry import FAILED, INCOMPLETE, OTHERS, UNDOING, WHOLE_SECONDS, Clock, Entry, Records
from steelyard.captures.statements import Dialect
from steelyard.errors import InputError

NAME = "slow log of MariaDB"
DIALECT: Dialect = "mysql"
NOTE = WHOLE_SECONDS
_HEAD = re.compile(r"# User@Host: ([^\[]*)")
# of MariaDB; of MySQL; and what Percona's server and MySQL with log_slow_extra add
_THREAD = re.compile(r"# Thread_id: (\d+)|# User@Host: .* Id:\s+(\d+)\s*$", re.MULTILINE)
_SCHEMA = re.compile(r"^#.* Schema: (\S*)  |^use `?([^`\n]*?)`?;$", re.MULTILINE)
_FAILED = re.compile(r"^#.* (?:(?:Last_)?errno|Killed): ([1-9]\d*)", re.MULTILINE | re.IGNORECASE)
_TOOK = re.compile(r"# Query_time: (\d{1,10}(?:\.\d+)?)\s")
_STAMP = re.compile(r"SET (?:(?:last_)?insert_id=\d+,)*timestamp=(\d{1,10}(?:\.\d+)?);\s*")
_START = re.compile(r".*, Version: .* started with:\s*")
_SAMPLED = re.compile(r"# Log_slow_rate_type: query +Log_slow_rate_limit: (?!1\b)")
_SECOND_US = 1_000_000
# a failed commit, a deadlock, a conflict between servers: https://dev.mysql.com/doc/mysql-errors/8.4/en/
_UNDOING = ("1180", "1213", "3101")
_NESTED = "statements within procedures: who calls these executes them"


def sniff(head: bytes) -> bool:
    """A record's user."""
    return re.search(rb"^# User@Host: ", head, re.MULTILINE) is not None


def read(path: Path, records: Records) -> Iterator[Entry]:
    """The statements. Raises InputError."""
    start, clock, database = 0, Clock(), ""
    for number, lines, whole in _records(path):
        place = f"{path}:{number}"
        if any(map(_SAMPLED.match, lines)):
            raise InputError(f"{place}: some of the statements, not all", "log_slow_rate_limit = 1")
        # the header of a server's start stands alone, or after a record
        before, start = start, start + any(_START.fullmatch(line) for line in lines)
        if not lines[0].startswith("#"):
            continue
        entry = _entry(lines, before, database)
        if entry is None and not whole:
            records.leave(INCOMPLETE, place)
        elif entry is None:
            raise InputError(f"{place}: no record of a {NAME}")
        else:
            clock.read(entry.begin_us + (entry.took_us or 0), place)
            database = entry.database
            if not entry.sql or entry.sql.startswith("# administrator command"):
                records.beside[OTHERS] += 1
            else:
                records.users.update(_HEAD.findall(lines[0]))
                yield replace(entry, place=place)


def _records(path: Path) -> Iterator[tuple[int, list[str], bool]]:
    """Number of the first line, the lines, and whether another record follows."""
    lines: list[str] = []
    begin = 1
    with path.open(encoding="utf-8", errors="surrogateescape", newline="\n") as file:
        for number, line in enumerate(file, start=1):
            if line.startswith("# Time: "):
                continue
            if _HEAD.match(line) and lines:
                yield begin, lines, True
                lines, begin = [], number
            lines.append(line)
    if lines:
        yield begin, lines, False


def _entry(lines: Sequence[str], start: int, database: str) -> Entry | None:
    """None: no whole record. database: of the record before, which MySQL does not repeat."""
    at, stamp = next(
        ((at, found) for at, line in enumerate(lines) if (found := _STAMP.fullmatch(line))), (0, None)
    )
    head = "".join(lines[:at])
    thread, took = _THREAD.search(head), _TOOK.search(head)
    sql = re.split(r"\n\S*, Version: .* started with:\n", "".join(lines[at + 1 :]))[0].rstrip()
    if stamp is None or thread is None or took is None or not sql.endswith(";"):
        return None
    for found in _SCHEMA.finditer(head):
        database = found[2] if found[1] is None else found[1]
    failed = _FAILED.search(head)
    flaw = _NESTED if "\n# Stored_routine: " in head else FAILED if failed else ""
    return Entry(
        f"{start}:{thread[1] or thread[2]}",
        round(float(stamp[1]) * _SECOND_US),
        round(float(took[1]) * _SECOND_US),
        sql[:-1],
        flaw=UNDOING if failed and failed[1] in _UNDOING else flaw,
        database=database,
    )
