"""`perf lock contention`: the columns vary with its options, so they are read from the heading."""

from __future__ import annotations

import re

from steelyard.recordings.cells import time_ns
from steelyard.recordings.report import Report
from steelyard.recordings.source import Source

TITLE = "perf lock contention"

_TIME = r"[\d.]+ (?:s|m|ms|us|ns)"
_HEADING = re.compile(r"\s*contended\s+total wait\s+max wait\s+avg wait\s+(\S.*?)\s*")
_ROW = re.compile(rf"\s*(\d+)\s+({_TIME})\s+({_TIME})\s+({_TIME})\s+(\S.*?)\s*")
_STACK = re.compile(
    r"\s+0x[0-9a-f]+\s+\S+|=== output for debug ===|bad: \d+, total: \d+|bad rate:.*|histogram of.*"
)


def sniff(head: str) -> bool:
    """Whether its heading is there."""
    return any(_HEADING.fullmatch(line) for line in head.split("\n"))


def read(source: Source) -> list[Report]:
    """One report: a row per lock, caller or thread."""
    report = Report(source.place(source.first))
    columns: list[str] = []
    for number, text in source.lines():
        if heading := _HEADING.fullmatch(text):
            columns = heading[1].split()
        elif (row := _ROW.fullmatch(text)) and columns:
            _lock(report, columns, row)
        elif not _STACK.fullmatch(text):
            source.skip(number, text)
    return [report]


def _lock(report: Report, columns: list[str], row: re.Match[str]) -> None:
    parts = dict(zip(columns, row[5].split(maxsplit=len(columns) - 1), strict=False))
    kind = parts.get("type", "")
    name = parts.get("symbol") or parts.get("comm") or parts.get("address") or kind or row[5]
    report.row(
        "locks",
        role="",
        lock=name,
        type=kind,
        call_site=parts.get("caller", ""),
        contended=int(row[1]),
        wait_total_ns=round(time_ns(row[2]) or 0),
        wait_max_ns=round(time_ns(row[3]) or 0),
    )
