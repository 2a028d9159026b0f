"""The slow query log of MariaDB and MySQL; with long_query_time = 0 it has every statement.

A statement began at its timestamp, in whole seconds. https://mariadb.com/kb/en/slow-query-log-overview/
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from steelyard.captures.entry import INCOMPLETE, WHOLE_SECONDS, Entry
from steelyard.captures.tokens import Dialect
from steelyard.study.errors import InputError

NAME = "slow log of MariaDB"
DIALECT: Dialect = "mysql"
NOTE = WHOLE_SECONDS
_HEAD = re.compile(r"# User@Host: ")
_THREAD = re.compile(r"(?:# Thread_id: (\d+)(?:  Schema: (\S*))?|.* Id:\s+(\d+)\s*$)")
_TOOK = re.compile(r"# Query_time: (\d{1,10}(?:\.\d+)?)\s")
_STAMP = re.compile(r"SET timestamp=(\d{1,10}(?:\.\d+)?);\s*")
_START = re.compile(r".*, Version: .* started with:\s*")
_SECOND_US = 1_000_000


def sniff(head: bytes) -> bool:
    """A record's user."""
    return re.search(rb"^# User@Host: ", head, re.MULTILINE) is not None


def read(path: Path, left_out: Counter[str]) -> Iterator[Entry]:
    """The statements. Raises InputError."""
    start = 0
    for number, lines, whole in _records(path):
        if not lines[0].startswith("#"):
            # the header of a server's start
            start += any(_START.fullmatch(line) for line in lines)
            continue
        entry = _entry(lines, start)
        if entry is None and not whole:
            left_out[INCOMPLETE] += 1
        elif entry is None:
            raise InputError(f"{path}:{number}: no record of a {NAME}")
        elif entry.sql and not entry.sql.startswith("# administrator command"):
            yield entry
        start += any(_START.fullmatch(line) for line in lines)


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


def _entry(lines: Sequence[str], start: int) -> Entry | None:
    """None: no whole record."""
    thread, database, took_us, stamp_us = "", "", None, None
    for at, line in enumerate(lines):
        if found := _STAMP.fullmatch(line):
            stamp_us = round(float(found[1]) * _SECOND_US)
            sql = "".join(lines[at + 1 :])
            break
        if found := _THREAD.match(line):
            thread, database = found[1] or found[3], found[2] or ""
        if found := _TOOK.match(line):
            took_us = round(float(found[1]) * _SECOND_US)
    else:
        return None
    sql = re.split(r"\n\S*, Version: .* started with:\n", sql)[0].rstrip()
    if not thread or took_us is None or not sql.endswith(";"):
        return None
    return Entry(f"{start}:{thread}", stamp_us, took_us, sql[:-1], database=database)
