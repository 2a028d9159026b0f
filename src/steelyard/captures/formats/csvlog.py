"""PostgreSQL's csvlog.

https://www.postgresql.org/docs/current/runtime-config-logging.html#RUNTIME-CONFIG-LOGGING-CSVLOG
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from steelyard.captures.entry import INCOMPLETE, Entry
from steelyard.captures.formats.postgres_messages import Line, Statements
from steelyard.captures.tokens import Dialect
from steelyard.study.errors import InputError

NAME = "PostgreSQL csvlog"
DIALECT: Dialect = "postgresql"
NOTE = ""
# up to version 12, 13, and since 14
_COLUMNS = (23, 24, 26)
_DATABASE, _SESSION, _SEVERITY, _MESSAGE, _DETAIL, _QUERY = 2, 5, 11, 13, 14, 19
_BEGIN = re.compile(rb'\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} [^,]+,("[^"]*"|[^",]*),("[^"]*"|[^",]*),\d*,')
# PostgreSQL sends no longer text
_FIELD_CHARACTERS_MAX = 1 << 30


def sniff(head: bytes) -> bool:
    """A time, user, database and process."""
    return _BEGIN.match(head) is not None


def read(path: Path, left_out: Counter[str]) -> Iterator[Entry]:
    """The statements. Raises InputError."""
    limit = csv.field_size_limit(_FIELD_CHARACTERS_MAX)
    statements = Statements(left_out)
    with path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
        rows = csv.reader(file, strict=True)
        begin = 1
        try:
            for row in rows:
                if len(row) not in _COLUMNS:
                    if next(rows, None) is None:
                        left_out[INCOMPLETE] += 1
                        break
                    raise InputError(
                        f"{path}:{begin}: no record of {NAME}: {len(row)} columns in place of {_COLUMNS[-1]}"
                    )
                yield from statements.take(
                    Line(
                        row[_SESSION],
                        row[0],
                        row[_SEVERITY],
                        row[_MESSAGE],
                        row[_DETAIL],
                        row[_QUERY],
                        row[_DATABASE],
                    )
                )
                begin = rows.line_num + 1
        except ValueError as error:
            raise InputError(f"{path}:{begin}: no record of {NAME}: {error}") from None
        except csv.Error as error:
            if "unexpected end of data" not in str(error):
                raise InputError(f"{path}:{begin}: no record of {NAME}: {error}") from None
            # the server was still writing, or the file was cut
            left_out[INCOMPLETE] += 1
        finally:
            csv.field_size_limit(limit)
    yield from statements.end()
