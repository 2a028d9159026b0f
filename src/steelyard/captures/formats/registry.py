"""The formats. A new one is one file and its line here."""

import re
from pathlib import Path
from typing import cast

from steelyard.captures.entry import Format
from steelyard.captures.formats import csvlog, general_log, jsonlog, pgreplay, slow_log
from steelyard.captures.formats.own import OwnFormat
from steelyard.errors import InputError

FORMATS = cast(
    "tuple[Format, ...]",
    (
        csvlog,
        jsonlog,
        slow_log,
        general_log,
        OwnFormat("postgresql"),
        OwnFormat("mysql"),
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
