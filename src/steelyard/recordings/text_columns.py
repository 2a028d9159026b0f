"""Cells of text in tables that mostly hold numbers: text columns, and numbers that are damaged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from steelyard.recordings.report import Report
from steelyard.recordings.source import Line, Source

_LINES_MAX = 1000


@dataclass
class TextColumns:
    """Which columns had numbers, and which had text: in the same column text is a damaged number."""

    numbers: set[str] = field(default_factory=set[str])
    texts: dict[str, list[Line]] = field(default_factory=dict[str, list[Line]])

    def add(self, line: int, text: str, cells: Mapping[str, float | str | None]) -> None:
        """Takes note of the cells of one row by column; None: no value."""
        for column, cell in cells.items():
            if isinstance(cell, float):
                self.numbers.add(column)
            elif cell and len(lines := self.texts.setdefault(column, [])) < _LINES_MAX:
                lines.append((line, text))

    def close(self, source: Source, report: Report) -> None:
        """Reports damaged numbers by their lines, and columns of text by their names."""
        only_text = [column for column in self.texts if column not in self.numbers]
        for column in self.texts.keys() & self.numbers:
            for line, text in self.texts[column]:
                source.skip_in_part(line, text)
        if only_text:
            names = ", ".join(sorted(only_text))
            report.notices.append(
                ("columns-not-read", f"{report.format}: columns of text are not kept: {names}")
            )
