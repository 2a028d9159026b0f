"""Published tables of CSV: rows with cells by the name of their column."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from steelyard.study.errors import InputError, brief, nearest
from steelyard.study.source import text_of

CSV_BYTES_MAX = 64 << 20
# beyond it a float cannot represent every whole number
_LARGEST = 2.0**53


@dataclass(frozen=True)
class Row:
    """A row of a table. place: file and line, for messages."""

    place: str
    cells: Mapping[str, str]

    def text(self, column: str) -> str:
        """Raises InputError for an unknown column."""
        if column not in self.cells:
            raise InputError(f'{self.place}: no column "{column}"{nearest(column, self.cells)}')
        return self.cells[column]

    def number(self, column: str) -> float:
        """Raises InputError for an unknown column, and for a value that is not a number up to 2^53."""
        text = self.text(column)
        try:
            if abs(found := float(text)) <= _LARGEST:
                return found
        except ValueError:
            pass
        raise InputError(f'{self.place}: column "{column}": "{brief(text)}" is not a number up to 2^53')


def rows_of(file: Path) -> list[Row]:
    """Rows of a CSV file whose first line names the columns. Raises InputError."""
    try:
        reader = csv.reader(text_of(file, CSV_BYTES_MAX).splitlines(), strict=True)
        columns = next(reader, list[str]())
        rows = [(reader.line_num, cells) for cells in reader if cells]
    except FileNotFoundError:
        raise InputError(f"{file}: cannot be read: no such file") from None
    except csv.Error as error:
        raise InputError(f"{file}: not CSV: {error}") from None
    for line, cells in rows:
        if len(cells) != len(columns):
            raise InputError(f"{file}:{line}: {len(cells)} cells, but the table has {len(columns)} columns")
    return [Row(f"{file}:{line}", dict(zip(columns, cells, strict=True))) for line, cells in rows]
