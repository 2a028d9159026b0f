"""Results of v$latch and v$result_cache_statistics, as SQL*Plus prints them or as CSV.

Both count since the server started. Of two captures in one file the difference counts; a count that went
back was reset in between, and the difference is not formed.
"""

import re

from steelyard.recordings.cells import number, slug, whole
from steelyard.recordings.report import Report
from steelyard.recordings.source import Source
from steelyard.recordings.tables import Row, rows_of, take_each

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
    rows: set[tuple[int, str]] = set()

    def take(row: Row) -> bool | None:
        cells = row.cells
        value = number(cells.get("value", ""))
        # without a number the column is empty
        counts = {
            to: whole(cells[c]) * one
            for c, (to, one) in _LATCH.items()
            if number(cells.get(c, "")) is not None
        }
        # a latch has children, each with its number
        name = " ".join(filter(None, (cells["name"], cells.get("child"))))
        if not name or (row.table, name) in rows:
            return False
        rows.add((row.table, name))
        if "gets" in counts:
            report.row("latches", latch=name, **counts)
        elif value is None:
            return False
        else:
            at = captures[name] = captures.get(name, -1) + 1
            counted = "Count" in name and "Block Count" not in name
            report.sample(at, "result cache", slug(name) + ("_total" if counted else ""), value)
            if name == "Block Count Maximum":
                report.sample(at, "result cache", "block_count_current_limit", value)
        return None

    take_each(source, rows_of(source, _DONE), take)
    if max(captures.values(), default=0) > 0:
        report.notice("interval-unknown", "the views tell no times: their readings are numbered")
    report.differences("latches", "v$latch")
    return [report]
