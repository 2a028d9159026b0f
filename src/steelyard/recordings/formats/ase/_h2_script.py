"""Rows of a script of the H2 database, as its SCRIPT command writes it: CREATE TABLE, INSERT INTO ... VALUES.

H2 escapes the line ends of texts, so that each row is a line of its own. https://h2database.com/html/commands.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from steelyard.recordings.source import Source

Cell = str | float | None

_NAME = r'(?:"(?:[^"]|"")+"|\w+)'
_TABLE = rf"({_NAME}(?:\.{_NAME})*)"
_CREATE = re.compile(rf"CREATE (?:CACHED |MEMORY )?TABLE (?:IF NOT EXISTS )?{_TABLE}\s*\(\s*")
_COLUMN = re.compile(rf"\s+({_NAME}) +[A-Z].*")
_INSERT = re.compile(rf"INSERT INTO {_TABLE}\s*(?:\(([^)]*)\))?\s*VALUES\s*(.*)")
_ROW = re.compile(r"\((.*)\)[,;]?\s*")
_VALUE = re.compile(
    r"\s*(?:(NULL)"
    r"|(?:(?:TIMESTAMP|DATE|TIME)(?: WITH TIME ZONE)? |U&|X|STRINGDECODE\(|CAST\()?'((?:[^']|'')*)'"
    r"(?: AS [A-Z0-9() ]+?)?\)?|(?:CAST\()?(-?[\d.]+(?:E[+-]?\d+)?)(?: AS [A-Z ]+\))?|(TRUE|FALSE))\s*(,|$)"
)
_OTHER = re.compile(r"\s*(?:--|CREATE |ALTER |SET |GRANT |DROP |;|\)|COMMENT )")


def is_script(head: str) -> bool:
    """Whether a text creates tables or fills them, as H2 does."""
    return any(_CREATE.match(line) or _INSERT.match(line) for line in head.split("\n"))


def rows_of_script(source: Source) -> Iterator[tuple[int, str, dict[str, Cell]]]:
    """Line, table and cells by column of each row; what is not understood goes to `source.skip`."""
    columns: dict[str, list[str]] = {}
    table, names = "", list[str]()
    creates = False
    for number, text in source.lines():
        row = text
        if creates and (column := _COLUMN.fullmatch(text)):
            columns[table].append(_bare(column[1]))
            continue
        creates = False
        if created := _CREATE.fullmatch(text):
            table, creates = _bare(created[1]), True
            columns[table] = []
            continue
        if inserted := _INSERT.fullmatch(text):
            table, row = _bare(inserted[1]), inserted[3]
            names = [_bare(n) for n in inserted[2].split(",")] if inserted[2] else columns.get(table, [])
            if not row:
                continue
        cells = _cells(found[1]) if (found := _ROW.fullmatch(row)) else None
        if cells is not None and len(cells) == len(names):
            yield number, table, dict(zip(names, cells, strict=True))
        elif not _OTHER.match(text):
            source.skip(number, text)


def _bare(name: str) -> str:
    """`"PUBLIC"."CmEngines_abs"` -> `CmEngines_abs`."""
    return re.findall(_NAME, name)[-1].strip('"').replace('""', '"')


def _cells(row: str) -> list[Cell] | None:
    found: list[Cell] = []
    at = 0
    while value := _VALUE.match(row, at):
        null, text, number, truth, comma = value.groups()
        try:
            found.append(None if null else float(number) if number else truth or text.replace("''", "'"))
        except ValueError:
            return None
        at = value.end()
        if not comma:
            return found if at == len(row) else None
    return None
