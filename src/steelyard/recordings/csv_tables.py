"""Tables of CSV whose first line names the columns, row by row."""

from __future__ import annotations

import csv
from collections.abc import Iterator

from steelyard.recordings.source import Source


def csv_rows(source: Source) -> Iterator[tuple[int, str, dict[str, str]]]:
    """Line, text and cells by column, in lower case; no cells where a row has more or fewer than columns."""
    lines = source.lines()
    _, heading = next(lines, (0, ""))
    columns = [cell.strip().lower() for cell in _cells(heading)]
    for line, text in lines:
        if text.strip():
            cells = _cells(text)
            yield line, text, dict(zip(columns, cells, strict=True)) if len(cells) == len(columns) else {}


def _cells(text: str) -> list[str]:
    try:
        return next(csv.reader([text], strict=True), list[str]())
    except csv.Error:
        return []
