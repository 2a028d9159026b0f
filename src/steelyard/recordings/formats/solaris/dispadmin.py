"""`dispadmin -c CLASS -g`: a dispatch table. Quanta are in units of 1/RES seconds."""

from __future__ import annotations

import re

from steelyard.recordings.report import Report
from steelyard.recordings.source import Source

TITLE = "dispadmin -g (Solaris): a dispatch table"

_RES = re.compile(r"\s*RES\s*=\s*(\d+)\s*")
_HEADING = re.compile(r"#\s*((?:ts|ia|rt|fx)_quantum\b.*?)\s+PRIORITY LEVEL\s*", re.IGNORECASE)
_COMMENT = re.compile(r"\s*#\s*([A-Za-z]|$)")
_ROW = re.compile(r"((?:\s*-?\d+)+)\s*(?:#\s*(\d+))?\s*")


def sniff(head: str) -> bool:
    """Whether a resolution and the names of the columns are there."""
    lines = head.split("\n")
    return any(_RES.fullmatch(x) for x in lines) and any(_HEADING.fullmatch(x.strip()) for x in lines)


def read(source: Source) -> list[Report]:
    """One report: the table's columns by priority level."""
    report = Report(source.place(source.first))
    columns: list[str] = []
    res, level = 0, 0
    for line, text in source.lines():
        if found := _RES.fullmatch(text):
            res = int(found[1])
            report.facts["RES"] = found[1]
        elif heading := _HEADING.fullmatch(text.strip()):
            columns = heading[1].split()
        elif _COMMENT.match(text):
            report.facts["class"] = text.strip("# ").removesuffix(" Configuration")
        elif (row := _ROW.fullmatch(text)) and res and columns:
            cells = row[1].split()
            level = int(row[2]) if row[2] else level
            # -2 is an endless quantum
            if len(cells) != len(columns) or int(cells[0]) < 0:
                source.skip(line, text)
                continue
            for name, cell in zip(columns, cells, strict=True):
                quantum = name.endswith("quantum")
                value = int(cell) * 1000 / res if quantum else float(cell)
                report.sample(0, f"priority {level}", "quantum_ms" if quantum else name, value)
            level += 1
        elif text.strip():
            source.skip(line, text)
    return [report]
