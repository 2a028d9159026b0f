"""The formats: a new one is one file and its line here; and what `steelyard capture-load` has written."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from steelyard.captures.entry import Entry, Format, How, Records
from steelyard.captures.formats import csvlog, general_log, jsonlog, pgreplay, slow_log
from steelyard.captures.statements import Dialect
from steelyard.errors import InputError
from steelyard.workloads.replay import read_capture, sessions

_HOW: dict[str, How] = {"text": "text", "parsed-text": "parsed", "values": "values", "text-values": "values"}


@dataclass(frozen=True)
class _OwnFormat:
    DIALECT: Dialect
    NAME: str = "steelyard capture"
    NOTE: str = ""

    def sniff(self, head: bytes) -> bool:
        """Its header, with the dialect near its begin."""
        begin = head[:256]
        return begin.startswith(b'{"format":"steelyard capture"') and f'"{self.DIALECT}"'.encode() in begin

    def read(self, path: Path, records: Records) -> Iterator[Entry]:
        """The statements. Raises InputError."""
        header = read_capture(path)
        for reason, count in header.left_out.items():
            records.leave(reason, header.first.get(reason, str(path)), count)
        for number, events in enumerate(sessions(path)):
            for at_us, class_, values in events:
                one = header.classes[class_]
                sql = one.sql if one.takes == "values" else values[0] or ""
                bound = tuple(values) if one.takes == "values" else ()
                yield Entry(str(number), at_us, None, sql, _HOW[one.takes], bound)


FORMATS = cast(
    "tuple[Format, ...]",
    (
        csvlog,
        jsonlog,
        slow_log,
        general_log,
        _OwnFormat("postgresql"),
        _OwnFormat("mysql"),
        # last: its records have the fewest marks
        pgreplay,
    ),
)
_HEAD_BYTES = 64 << 10
# lines of PostgreSQL's log_destination = 'stderr', with any log_line_prefix
_LINES = re.compile(rb"^[^\n]{1,200}?\b(?:LOG|ERROR|FATAL|STATEMENT|DETAIL):  ", re.MULTILINE)


def format_of(path: Path) -> Format:
    """The format of a file, by its beginning. Raises InputError."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    for one in FORMATS:
        if one.sniff(head):
            return one
    if _LINES.search(head):
        raise InputError(
            f"{path}: a log of log_destination = 'stderr', whose lines do not name their sessions in one way",
            "log_destination = 'csvlog' or 'jsonlog' (also of RDS), and log_min_duration_statement = 0",
        )
    known = ", ".join(dict.fromkeys(one.NAME for one in FORMATS))
    raise InputError(f"{path}: no captured traffic that is known", f"known: {known}")
