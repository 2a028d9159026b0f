"""The general query log of MariaDB and MySQL: what clients sent, when it arrived.

MariaDB writes whole seconds, once for all lines of a second. https://mariadb.com/kb/en/general-query-log/
"""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from steelyard.captures.entry import OTHERS, PARTS, WHOLE_SECONDS, Clock, Entry, Records
from steelyard.captures.statements import Dialect
from steelyard.errors import InputError

NAME = "general log of MariaDB"
DIALECT: Dialect = "mysql"
NOTE = WHOLE_SECONDS
_TIME = r"\d{6} [ \d]\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+(?:Z|[+-]\d\d:\d\d)"
_LINE = re.compile(rf"(?:({_TIME})\t|\t\t)? *(\d+) ([A-Z][A-Za-z]*(?: [A-Za-z]+)?)\t(.*)", re.DOTALL)
_SNIFFED = re.compile(
    rf"^(?:{_TIME}|\t)\t *\d+ (?:Connect|Query|Quit|Execute|Prepare|Init DB)\t".encode(), re.MULTILINE
)
_START = re.compile(r".*, Version: .* started with:\s*")
_HEADER_LINES = 2
_CONNECTS = ("Connect", "Change user")
_EPOCH = datetime(2000, 1, 1)


def sniff(head: bytes) -> bool:
    """A line of a session."""
    return _SNIFFED.search(head) is not None


def read(path: Path, records: Records) -> Iterator[Entry]:
    """The statements, those of prepared statements with their values in the text. Raises InputError."""
    executes = set[str]()
    clock = Clock()
    at_us: int | None = None
    for number, (time, thread, command, argument) in _records(path):
        place = f"{path}:{number}"
        try:
            at_us = clock.read(_us(time), place) if time else at_us
        except ValueError as error:
            raise InputError(f"{place}: no record of a {NAME}: {error}") from None
        if at_us is None:
            raise InputError(f"{place}: no record of a {NAME}: its first line has no time")
        # a session begins, and what the one before left open is undone; a header begins none: FLUSH LOGS
        if command in _CONNECTS:
            records.connects[thread] += 1
            if " on " in argument:
                records.users.add(argument.partition("@")[0])
        name = f"{thread}:{records.connects[thread]}"
        if _is_statement(records.databases, executes, name, command, argument):
            yield Entry(name, at_us, None, argument, database=records.databases.get(name, ""), place=place)
        else:
            records.beside[PARTS if command in ("Prepare", "Execute", "Close stmt") else OTHERS] += 1


def _is_statement(
    databases: dict[str, str], executes: set[str], name: str, command: str, argument: str
) -> bool:
    if command in _CONNECTS and (found := re.search(r" on (\S*)", argument)):
        databases[name] = found[1]
    elif command == "Init DB":
        databases[name] = argument
    elif command == "Query":
        if found := re.fullmatch(r"use\s+`?(\w+)`?;?", argument.strip(), re.IGNORECASE):
            databases[name] = found[1]
        # the server logs what EXECUTE executes as well
        if re.match(r"\s*execute\b", argument, re.IGNORECASE):
            executes.add(name)
        return True
    elif command == "Execute":
        own = name not in executes
        executes.discard(name)
        return own
    return False


def _records(path: Path) -> Iterator[tuple[int, tuple[str | None, str, str, str]]]:
    """Number of the first line, time, thread, command, argument, which may have several lines."""
    record: tuple[str | None, str, str] | None = None
    # a statement may have a million lines
    argument: list[str] = []
    begin, skip = 1, 0
    with path.open(encoding="utf-8", errors="surrogateescape", newline="\n") as file:
        for number, line in enumerate(file, start=1):
            if skip:
                skip -= 1
                continue
            started, found = _START.fullmatch(line), _LINE.fullmatch(line)
            if record and (started or found):
                yield begin, (*record, _text(argument))
            if started:
                record, skip = None, _HEADER_LINES
            elif found:
                record, argument, begin = (found[1], found[2], found[3]), [found[4]], number
            else:
                argument.append(line)
    if record:
        yield begin, (*record, _text(argument))


def _text(lines: Sequence[str]) -> str:
    return "".join(lines).removesuffix("\n")


def _us(time: str) -> int:
    """MySQL and MariaDB 11 write the zone, others local time."""
    if "T" in time:
        moment = datetime.fromisoformat(time).astimezone(UTC).replace(tzinfo=None)
    else:
        moment = datetime.strptime(time, "%y%m%d %H:%M:%S")
    return round((moment - _EPOCH).total_seconds() * 1e6)
