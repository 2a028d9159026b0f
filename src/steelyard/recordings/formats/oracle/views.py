"""Results of v$latch and v$result_cache_statistics, as SQL*Plus prints them or as CSV.

Both count since the server started. Of two captures in one file the difference counts; a count that went
back was reset in between, and the difference is not formed.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from steelyard.recordings.cells import number
from steelyard.recordings.csv_tables import csv_rows
from steelyard.recordings.report import Report
from steelyard.recordings.rulers import ruled_tables, slug
from steelyard.recordings.source import Line, Source

TITLE = "Oracle v$latch and v$result_cache_statistics, SQL*Plus or CSV"

_LATCH = {
    "gets": "gets",
    "misses": "misses",
    "sleeps": "sleeps",
    "spin_gets": "spin_gets",
    "wait_time": "wait_us",
}
_RESULT_CACHE = re.compile(
    r"\b(Block (Size|Count)|Create Count|Find Count|Invalidation Count|Delete Count|Hash Chain"
    r"|Find Copy|Latch)"
)
_DONE = re.compile(r"\s*(\d+ rows? selected\.|SQL>.*|Elapsed: .*)\s*")


def sniff(head: str) -> bool:
    """Whether columns of one of the views are named."""
    lowered = head.lower()
    latch = re.search(r"\bname\b.*\bgets\b.*\bmisses\b", lowered)
    return bool(latch) or bool(re.search(r"\bname\b[\",\s]+value\b", lowered) and _RESULT_CACHE.search(head))


def read(source: Source) -> list[Report]:
    """One report: what was counted between the first and the last capture."""
    report = Report(source.place(source.first))
    seen: dict[str, list[dict[str, int]]] = {}
    captures: dict[str, int] = {}
    for number_, text, cells in _rows(source):
        name = (cells.get("name") or "").strip()
        try:
            values = {to: number(cells[column]) for column, to in _LATCH.items() if column in cells}
            value = number(cells.get("value", ""))
        except ValueError:
            source.skip(number_, text)
            continue
        if name and values.get("gets") is not None:
            seen.setdefault(name, []).append({k: int(v) for k, v in values.items() if v is not None})
        elif name and value is not None and "value" in cells:
            at = captures[name] = captures.get(name, -1) + 1
            _statistic(report, float(at), name, value)
        else:
            source.skip(number_, text)
    if max(captures.values(), default=0) > 0:
        report.notices.append(("interval-unknown", "the views tell no times: their readings are numbered"))
    most = max(map(len, seen.values()), default=0)
    for name, readings in seen.items():
        if len(readings) < most:
            text = f"latch {name} is not in all captures: its counts are left out"
            report.notices.append(("capture-missing", text))
        else:
            _latch(report, name, readings)
    return [report]


def _rows(source: Source) -> Iterator[tuple[int, str, dict[str, str]]]:
    if "," in source.head().partition("\n")[0]:
        yield from csv_rows(source)
        return
    other: list[Line] = []
    for table in ruled_tables(source.lines(), other):
        yield from table.rows
    for number_, text in sorted(other):
        if not _DONE.fullmatch(text):
            source.skip(number_, text)


def _statistic(report: Report, at: float, name: str, value: float) -> None:
    counted = "Count" in name and "Block Count" not in name
    report.sample(at, "result cache", slug(name) + ("_total" if counted else ""), value)
    if name == "Block Count Maximum":
        report.sample(at, "result cache", "block_count_current_limit", value)


def _latch(report: Report, name: str, readings: list[dict[str, int]]) -> None:
    first, last = readings[0], readings[-1]
    counts = dict(last)
    if len(readings) == 1:
        report.notices.append(
            ("counted-since-start", "one capture of v$latch: it counts since the server started")
        )
    elif any(b[k] < a[k] for a, b in itertools.pairwise(readings) for k in a.keys() & b.keys()):
        report.notices.append(
            ("counter-reset", f"latch {name}: its counts went back between two captures: left out")
        )
        report.row("latches", latch=name)
        return
    else:
        counts = {k: last[k] - first[k] for k in last.keys() & first.keys()}
    if "wait_us" in counts:
        counts["wait_ns"] = 1000 * counts.pop("wait_us")
    report.row("latches", latch=name, **counts)
