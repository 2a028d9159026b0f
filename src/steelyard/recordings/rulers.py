"""Tables whose columns stand where a ruler of dashes says: isql, AWR and Statspack, MDB."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from steelyard.recordings.source import Line

_RULER = re.compile(r"[ \t]*-{2,}([ \t]+-+)+[ \t]*|[ \t]*-{3,}[ \t]*")
_HEADER_LINES = 3
_SEVERAL = re.compile(r"[\d.,]+(\s+[\d.,]+)+")
_NUMBERS = re.compile(r"\s\d[\d.,]*\s.*\s\d[\d.,]*(\s|$)")
_WORD = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True)
class RuledTable:
    """One table. columns: their names, header lines joined. rows: line number, text, cells by column.

    title: the lines above the header, up to a blank one. A row whose cells do not stand below their columns
    has none.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[int, str, dict[str, str]], ...]


def slug(text: str) -> str:
    """`Pct Get Miss` -> `pct_get_miss`: a name of a metric or a column."""
    return _WORD.sub("_", text.lower()).strip("_")


def is_ruler(text: str) -> bool:
    """Whether a line is a ruler of dashes."""
    return bool(_RULER.fullmatch(text))


def ruled_tables(lines: Iterable[Line], other: list[Line] | None = None) -> Iterator[RuledTable]:
    """The tables among lines; each ends at a blank line or at another ruler. other: gets all other lines."""
    above: list[Line] = []
    spans: list[tuple[int, int]] = []
    rows: list[tuple[int, str, dict[str, str]]] = []
    title, columns = "", ()
    rest = other if other is not None else []

    def table() -> RuledTable:
        return RuledTable(title, columns, tuple(rows))

    for number, raw in lines:
        text = raw.expandtabs()
        if is_ruler(text):
            if rows:
                yield table()
                rows = []
            if not above:
                spans = []
                continue
            spans = [found.span() for found in re.finditer(r"-+", text)]
            header = above[-_HEADER_LINES:]
            columns = _names([line for _, line in header], spans)
            title = " ".join(line.strip() for _, line in above)
            # rows of a table whose own ruler is damaged
            rest += [line for line in above if _NUMBERS.search(line[1])]
            above = []
        elif re.fullmatch(r"\s*\(.*\)\s*", text):
            # (2 rows affected)
            rest.append((number, raw))
        elif not text.strip() or set(text.strip()) <= {"-", " "}:
            if rows:
                yield table()
            rows, spans = [], []
            rest += above
            above = []
        elif spans:
            cells = _cut(text, spans)
            fits = _stands_below(text, spans)
            rows.append((number, text, dict(zip(columns, cells, strict=True)) if fits else {}))
        else:
            above.append((number, text))
    if rows:
        yield table()
    rest += above


def _cut(text: str, spans: list[tuple[int, int]]) -> list[str]:
    """The cells of a row. A blank between two columns may be off by one where a value is too wide."""
    return [text[start:end].strip() for start, end in _places(text, spans)]


def _places(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    edges = [0, *(_edge(text, left, right) for (_, left), (right, _) in itertools.pairwise(spans))]
    return list(zip(edges, [*edges[1:], len(text)], strict=True))


def _stands_below(text: str, spans: list[tuple[int, int]]) -> bool:
    """Whether each cell is flush with its column, left or right: in a damaged row cells are shifted."""
    for (start, end), (left, right) in zip(_places(text, spans), spans, strict=True):
        cell = text[start:end]
        if not cell.strip():
            continue
        first, last = start + len(cell) - len(cell.lstrip()), start + len(cell.rstrip())
        flush = first == left or last == right or last - first > right - left
        cut_through = end < len(text) and cell[-1:].strip() and text[end].strip()
        if not flush or cut_through or _SEVERAL.fullmatch(cell.strip()):
            return False
    return True


def _edge(text: str, end: int, start: int) -> int:
    """Where the next cell begins: at a blank between the end of one column and the start of the next."""
    gap = text.find(" ", end - 1, start + 1)
    return gap if gap >= 0 else end


def _names(header: list[str], spans: list[tuple[int, int]]) -> tuple[str, ...]:
    """Names of the columns; lines of a title, which do not stand over the columns, are left out."""
    fitting = [line for line in header if _fits(line, spans)] or header[-1:]
    parts = [_cut(line, spans) for line in fitting]
    names = [slug(" ".join(part[i] for part in parts if part[i])) for i in range(len(spans))]
    return tuple(
        name if names.index(name) == i and name else f"{name}_{i + 1}" for i, name in enumerate(names)
    )


def _fits(line: str, spans: list[tuple[int, int]]) -> bool:
    """Whether each word stands over one column."""
    words = [found.span() for found in re.finditer(r"\S+", line)]
    return all(any(start >= left - 1 and end <= right + 1 for left, right in spans) for start, end in words)
