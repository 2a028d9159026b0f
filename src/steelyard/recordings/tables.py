"""Tables of SQL tools: below a ruler of dashes, or as CSV whose first line names the columns."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator

from steelyard.recordings.rulers import ruled_tables
from steelyard.recordings.source import Line, Source

# number of the table, line, text, and cells by column, in lower case; no cells where they do not fit
_NEVER = re.compile("(?!)")
Row = tuple[int, int, str, dict[str, str]]


def is_csv(head: str) -> bool:
    """Whether the first line has several cells."""
    return "," in head.partition("\n")[0]


def table_rows(
    source: Source, known: str = "", heading: re.Pattern[str] = _NEVER, row: re.Pattern[str] = _NEVER
) -> Iterator[Row]:
    """All rows. known: lines outside of tables that tell nothing; others are not understood.

    heading, row: of a list without a ruler; cells are the named groups.
    """
    if is_csv(source.head()):
        lines = source.lines()
        columns = [cell.lower() for cell in _cells(next(lines)[1])]
        table = 0
        for line, text in lines:
            cells = _cells(text)
            again = [cell.lower() for cell in cells] == columns
            table += again
            if text.strip() and not again:
                fits = len(cells) == len(columns)
                yield table, line, text, dict(zip(columns, cells, strict=True)) if fits else {}
        return
    other: list[Line] = []
    table, listed = -1, False
    for table, found in enumerate(ruled_tables(source.lines(), other)):
        for line, text, cells in found.rows:
            yield table, line, text, cells
    for line, text in sorted(other):
        if heading.fullmatch(text):
            table, listed = table + 1, True
        elif listed and (found := row.fullmatch(text)):
            yield table, line, text, found.groupdict()
        elif not re.fullmatch(known, text.strip()):
            source.skip(line, text)


def _cells(text: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([text], strict=True), list[str]())]
    except csv.Error:
        return []
