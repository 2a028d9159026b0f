"""Results of v$latch and v$result_cache_statistics, as SQL*Plus prints them or as CSV.

Both count since the server started. Of two captures in one file the difference counts; a count that went
back was reset in between, and the difference is not formed.
"""

from __future__ import annotations

import re

from steelyard.recordings.captures import differences
from steelyard.recordings.cells import number
from steelyard.recordings.report import Report
from steelyard.recordings.rulers import slug
from steelyard.recordings.source import Source
from steelyard.recordings.tables import table_rows

TITLE = "Oracle v$latch and v$result_cache_statistics, SQL*Plus or CSV"

# counters by column; what one of it is
_LATCH = {
    "gets": ("gets", 1),
    "misses": ("misses", 1),
    "sleeps": ("sleeps", 1),
    "spin_gets": ("spin_gets", 1),
    "wait_time": ("wait_ns", 1000),
}
_RESULT_CACHE = re.compile(
    r"\b(Block (Size|Count)|Create Count|Find Count|Invalidation Count|Delete Count|Hash Chain"
    r"|Find Copy|Latch)"
)
_DONE = r"\d+ rows? selected\.|SQL>.*|Elapsed: .*"


def sniff(head: str) -> bool:
    """Whether columns of one of the views are named."""
    lowered = head.lower()
    latch = re.search(r"\bname\b.*\bgets\b.*\bmisses\b", lowered)
    return bool(latch) or bool(re.search(r"\bname\b[\",\s]+value\b", lowered) and _RESULT_CACHE.search(head))


def read(source: Source) -> list[Report]:
    """One report: what was counted between the first and the last capture."""
    report = Report(source.place(source.first))
    captures: dict[str, int] = {}
    for _, line, text, cells in table_rows(source, _DONE):
        name = cells.get("name", "")
        try:
            values = {to: (number(cells[c]), one) for c, (to, one) in _LATCH.items() if c in cells}
            value = number(cells.get("value", ""))
        except ValueError:
            source.skip(line, text)
            continue
        counts = {to: int(count) * one for to, (count, one) in values.items() if count is not None}
        if name and "gets" in counts:
            report.row("latches", latch=name, **counts)
        elif name and value is not None:
            at = captures[name] = captures.get(name, -1) + 1
            _statistic(report, float(at), name, value)
        else:
            source.skip(line, text)
    if max(captures.values(), default=0) > 0:
        report.notices.append(("interval-unknown", "the views tell no times: their readings are numbered"))
    differences(report, "latches", ("latch",), [to for to, _ in _LATCH.values()], "v$latch")
    return [report]


def _statistic(report: Report, at: float, name: str, value: float) -> None:
    counted = "Count" in name and "Block Count" not in name
    report.sample(at, "result cache", slug(name) + ("_total" if counted else ""), value)
    if name == "Block Count Maximum":
        report.sample(at, "result cache", "block_count_current_limit", value)
