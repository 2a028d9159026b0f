"""PostgreSQL's jsonlog, since version 15.

https://www.postgresql.org/docs/current/runtime-config-logging.html#RUNTIME-CONFIG-LOGGING-JSONLOG
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from steelyard.captures.entry import INCOMPLETE, Entry, Records
from steelyard.captures.formats.postgres_messages import Line, Statements
from steelyard.captures.statements import Dialect
from steelyard.errors import InputError

NAME = "PostgreSQL jsonlog"
DIALECT: Dialect = "postgresql"
NOTE = ""


def sniff(head: bytes) -> bool:
    """An object per line that begins with its time."""
    return head.lstrip().startswith(b'{"timestamp":')


def read(path: Path, records: Records) -> Iterator[Entry]:
    """The statements. Raises InputError."""
    statements = Statements(records)
    with path.open(encoding="utf-8", errors="surrogateescape") as file:
        for number, text in enumerate(file, start=1):
            if not text.endswith("\n"):
                records.leave(INCOMPLETE, f"{path}:{number}")
                break
            try:
                yield from statements.take(_line(json.loads(text), f"{path}:{number}"))
            except (ValueError, TypeError, AttributeError, RecursionError) as error:
                raise InputError(f"{path}:{number}: no record of {NAME}: {error}") from None
    yield from statements.end()


def _line(record: Any, place: str) -> Line:
    """Raises TypeError for a value that is no text, AttributeError for a record that is no object."""
    names = "timestamp user dbname session_id ps vxid error_severity message detail statement"
    values = [record.get(name, "") for name in names.split()]
    if not all(isinstance(value, str) for value in values):
        raise TypeError("a text is needed")
    return Line(*values, number=record.get("line_num"), place=place)
