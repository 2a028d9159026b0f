"""Oracle v$latch and v$result_cache_statistics, SQL*Plus or CSV.

Both count since the server started. Of two captures in one file the difference counts; a count that went
back was reset in between, and the difference is not formed.
"""

from steelyard.recordings.cells import number, slug, whole
from steelyard.recordings.lines import Lines, NotMine, Now, has, known
from steelyard.recordings.tables import Row

# counters by column; how many of the bundle's one of it is
_LATCH = {"gets": 1, "misses": 1, "sleeps": 1, "spin_gets": 1, "wait_time": 1000}
# columns of one of the views are named
sniff = has(
    r"(?i)\bname\b(?:.*\bgets\b.*\bmisses\b|[\",\s]+value\b(?=[\s\S]*\b(?:Block (?:Size|Count)|Create Count"
    r"|Find Count|Invalidation Count|Delete Count|Hash Chain|Find Copy|Latch)))"
)


def _row(now: Now, row: Row) -> None:
    cells, report = row.cells, now.report
    value = number(cells.get("value", ""))
    # without a number the column is empty
    counts = {
        c.replace("time", "ns"): whole(cells[c]) * one
        for c, one in _LATCH.items()
        if number(cells.get(c, "")) is not None
    }
    # a latch has children, each with its number
    name = " ".join(filter(None, (cells["name"], cells.get("child"))))
    if not name or f"{row.table} {name}" in now.seen:
        raise NotMine
    now.seen.add(f"{row.table} {name}")
    if "gets" in counts:
        report.row("latches", latch=name, **counts)
    elif value is None:
        raise NotMine
    else:
        at = now.numbers[name]
        now.numbers[name] += 1
        counted = "Count" in name and "Block Count" not in name
        report.sample(at, "result cache", slug(name) + ("_total" if counted else ""), value)
        if name == "Block Count Maximum":
            report.sample(at, "result cache", "block_count_current_limit", value)


def _close(now: Now) -> None:
    if max(now.numbers.values(), default=0) > 1:
        now.report.notice("interval-unknown", "the views tell no times: their readings are numbered")
    now.report.differences("latches", "v$latch")


read = Lines((known(r"\s*(?:\d+ rows? selected\.|SQL>|Elapsed: )"),), _close, table=_row)
