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
    # of gv$ each instance counts for itself; a latch has children, each with its number or its address
    of = f" of instance {cells['inst_id']}" if cells.get("inst_id") else ""
    name, address = " ".join(filter(None, (cells["name"], cells.get("child")))) + of, cells.get("addr", "")
    if not cells["name"] or f"{row.table} {name}" in now.seen or now.words[name] not in ("", address):
        raise NotMine
    now.seen.add(f"{row.table} {name}")
    now.words[name], at = address, now.numbers[name]
    now.numbers[name] += 1
    if "gets" in counts:
        report.row("latches", latch=name, **counts)
        for column in ("immediate_gets", "immediate_misses"):
            report.sample(at, f"latch {name}", f"{column}_total", number(cells.get(column, "")))
    elif value is None:
        raise NotMine
    else:
        counted = "Count" in name and "Block Count" not in name
        metric = slug(cells["name"]) + ("_total" if counted else "")
        report.sample(at, f"result cache{of}", metric, value)
        if metric == "block_count_maximum":
            report.sample(at, f"result cache{of}", "block_count_current_limit", value)


read = Lines(
    (known(r"\s*(?:\d+ rows? selected\.|SQL>|Elapsed: )"),),
    lambda now: now.report.differences("latches", "v$latch"),
    table=_row,
)
