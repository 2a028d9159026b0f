"""The formats. A new one is one file and its line here."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from steelyard.captures.entry import Format
from steelyard.captures.formats import csvlog, general_log, jsonlog, pgreplay, slow_log
from steelyard.captures.formats.own import OwnFormat
from steelyard.study.errors import InputError

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
    known = ", ".join(dict.fromkeys(one.NAME for one in FORMATS))
    raise InputError(f"{path}: no captured traffic that is known", f"known: {known}")
