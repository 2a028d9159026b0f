"""Tables of SQL tools: below a ruler of dashes (isql, AWR, Statspack, MDB), or CSV with a line of names."""

import csv
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from steelyard.recordings.cells import number, slug
from steelyard.recordings.report import Report
from steelyard.recordings.source import Line, Source

Cells = Mapping[str, str]
Cell = float | str | None
Spans = list[tuple[int, int]]
_RULER = re.compile(r"[ \t]*-{2,}([ \t]+-+)+[ \t]*|[ \t]*-{3,}[ \t]*")
_HEADER_LINES = 3
_CELL = re.compile(r"\S(?:.*\S)?")
_SEVERAL = re.compile(r"[\d.,]+(\s+[\d.,]+)+")
_NUMBERS = re.compile(r"\s\d[\d.,]*\s.*\s\d[\d.,]*(\s|$)")
_LINES_MAX = 1000


class Row(NamedTuple):
    """A row of a table. cells: by column, in lower case; none where they do not stand below their columns.

    table: its number in the file, from 1; 0: the line is of no table.
    """

    line: int
    text: str
    cells: Cells = MappingProxyType({})
    table: int = 0


def names_of_csv(head: str) -> set[str]:
    """The names in the first line, in lower case; none where it is a query, or a table has a ruler."""
    first, *others = head.split("\n")
    several = "," in first and ">" not in first and not any(map(is_ruler, others))
    return {cell.strip('" ').lower() for cell in first.split(",")} if several else set()


def cell(text: str) -> Cell:
    """A number, or a text; None for what has no value."""
    try:
        return number(text)
    except ValueError:
        return text


def csv_rows(lines: Iterator[Line]) -> Iterator[Row]:
    """Rows of CSV; those below a heading that comes again are of another table."""
    columns = [name.lower() for name in _cells(next(lines)[1])]
    table = 1
    for line, text in lines:
        cells = _cells(text)
        if [name.lower() for name in cells] == columns:
            table += 1
        elif text.strip():
            fits = len(cells) == len(columns)
            yield Row(line, text, dict(zip(columns, cells, strict=True)) if fits else {}, table)


def _cells(text: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([text], strict=True), list[str]())]
    except csv.Error:
        return []


def is_ruler(text: str) -> bool:
    """Whether a line is a ruler of dashes."""
    return bool(_RULER.fullmatch(text))


def ruled_rows(lines: Iterable[Line]) -> Iterator[Row]:
    """Rows of tables, each until a blank line or another ruler; other lines as rows of table 0."""
    above: list[Row] = []
    spans: Spans = []
    columns: list[str] = []
    table = 0
    for line, raw in lines:
        # of a mail that was answered
        text = raw.removeprefix("> ").expandtabs()
        if is_ruler(text):
            spans = [found.span() for found in re.finditer(r"-+", text)] if above else []
            columns = _names([row.text for row in above[-_HEADER_LINES:]], spans)
            table += bool(above)
            # rows of a table whose own ruler is damaged
            yield from (row for row in above if _NUMBERS.search(row.text))
            above = []
        elif re.fullmatch(r"\s*\(.*\)\s*", text):
            # (2 rows affected)
            yield Row(line, text)
        elif not text.strip(" ->"):
            yield from above
            above, spans = [], []
        elif spans:
            fits = _stands_below(text, spans)
            yield Row(line, text, dict(zip(columns, _cut(text, spans), strict=True)) if fits else {}, table)
        else:
            above.append(Row(line, text))
    yield from above


def _cut(text: str, spans: Spans) -> list[str]:
    """The cells of a row. A blank between two columns may be off by one where a value is too wide."""
    return [text[start:end].strip() for start, end in _places(text, spans)]


def _places(text: str, spans: Spans) -> Spans:
    edges = [0]
    for (_, end), (start, _) in itertools.pairwise(spans):
        # at a blank between the end of one column and the start of the next
        gap = text.find(" ", end - 1, start + 1)
        edges.append(gap if gap >= 0 else end)
    return list(itertools.pairwise([*edges, len(text)]))


def _stands_below(text: str, spans: Spans) -> bool:
    """Whether each cell is flush with its column, left or right: in a damaged row cells are shifted."""
    for (start, end), (left, right) in zip(_places(text, spans), spans, strict=True):
        if not (cell := _CELL.search(text, start, end)):
            continue
        first, last = cell.span()
        flush = first == left or last == right or last - first > right - left
        cut_through = last == end and text[end : end + 1].strip()
        if not flush or cut_through or _SEVERAL.fullmatch(cell[0]):
            return False
    return True


def _names(header: list[str], spans: Spans) -> list[str]:
    """Names of the columns; lines of a title, which do not stand over the columns, are left out."""
    fitting = [line for line in header if _fits(line, spans)] or header[-1:]
    parts = [_cut(line, spans) for line in fitting]
    names = [slug(" ".join(part[i] for part in parts if part[i])) for i in range(len(spans))]
    return [name if names.index(name) == i and name else f"{name}_{i + 1}" for i, name in enumerate(names)]


def _fits(line: str, spans: Spans) -> bool:
    """Whether each word stands over one column."""
    words = [found.span() for found in re.finditer(r"\S+", line)]
    return all(any(start >= left - 1 and end <= right + 1 for left, right in spans) for start, end in words)


class TextColumns:
    """Which columns had numbers, and which had text: in the same column text is a damaged number."""

    def __init__(self) -> None:
        self._numbers: set[str] = set()
        self._texts: dict[str, list[Line]] = {}

    def add(self, row: Row, cells: Mapping[str, Cell]) -> None:
        """Takes note of the cells of one row by column."""
        for column, cell in cells.items():
            if isinstance(cell, float):
                self._numbers.add(column)
            elif cell and len(lines := self._texts.setdefault(column, [])) < _LINES_MAX:
                lines.append((row.line, row.text))

    def close(self, source: Source, report: Report) -> None:
        """Reports damaged numbers by their lines, and columns of text by their names."""
        for column in self._texts.keys() & self._numbers:
            for line, text in self._texts[column]:
                source.skip(line, text, in_part=True)
        if names := ", ".join(sorted(self._texts.keys() - self._numbers)):
            report.notice("columns-not-read", f"{source.path.name}: columns of text are not kept: {names}")
