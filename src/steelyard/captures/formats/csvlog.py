"""PostgreSQL's csvlog.

https://www.postgresql.org/docs/current/runtime-config-logging.html#RUNTIME-CONFIG-LOGGING-CSVLOG
"""

import csv
import re
from collections.abc import Iterator
from pathlib import Path

from steelyard.captures.entry import INCOMPLETE, Entry, Records
from steelyard.captures.formats.postgres_messages import Line, Statements
from steelyard.captures.statements import Dialect
from steelyard.errors import InputError

NAME = "PostgreSQL csvlog"
DIALECT: Dialect = "postgresql"
NOTE = ""
# up to version 12, 13, and since 14
_COLUMNS = (23, 24, 26)
# time, user, database, session, command, transaction, severity, message, detail, query; number
_TAKEN, _NUMBER = (0, 1, 2, 5, 7, 9, 11, 13, 14, 19), 6
_BEGIN = re.compile(rb'\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} [^,]+,("[^"]*"|[^",]*),("[^"]*"|[^",]*),\d*,')
# PostgreSQL sends no longer text
_FIELD_CHARACTERS_MAX = 1 << 30


def sniff(head: bytes) -> bool:
    """A time, user, database and process."""
    return _BEGIN.match(head) is not None


def read(path: Path, records: Records) -> Iterator[Entry]:
    """The statements. Raises InputError."""
    limit = csv.field_size_limit(_FIELD_CHARACTERS_MAX)
    statements = Statements(records)
    with path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
        rows = csv.reader(file, strict=True)
        begin = 1
        try:
            for row in rows:
                if len(row) not in _COLUMNS:
                    if next(rows, None) is None:
                        records.leave(INCOMPLETE, f"{path}:{begin}")
                        break
                    raise InputError(
                        f"{path}:{begin}: no record of {NAME}: {len(row)} columns in place of {_COLUMNS[-1]}"
                    )
                number = int(row[_NUMBER]) if row[_NUMBER] else None
                line = Line(*(row[at] for at in _TAKEN), number=number, place=f"{path}:{begin}")
                yield from statements.take(line)
                begin = rows.line_num + 1
        except (ValueError, csv.Error) as error:
            if isinstance(error, ValueError) or "unexpected end of data" not in str(error):
                raise InputError(f"{path}:{begin}: no record of {NAME}: {error}") from None
            # the server was still writing, or the file was cut
            records.leave(INCOMPLETE, f"{path}:{begin}")
        finally:
            csv.field_size_limit(limit)
    yield from statements.end()
