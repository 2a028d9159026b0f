"""Results of queries of ASE's monitor tables, as isql prints them or as CSV.

Which table it is, its columns say. Spinlocks become rows of `latches`: its integer Contention rounds to 0,
so that 100 x Waits / Grabs is computed from the counts. They count since the server started: of two captures
in one file the difference counts.
"""

import re
from collections.abc import Mapping
from typing import Any

from steelyard.recordings.cells import whole
from steelyard.recordings.report import Report
from steelyard.recordings.source import Source
from steelyard.recordings.tables import (
    Cell,
    Cells,
    Row,
    TextColumns,
    cell,
    is_csv,
    names_of_csv,
    rows_of,
    ruled_rows,
    take_each,
)

TITLE = "ASE monitor tables (monStatementCache, monEngine, monSpinlockActivity ...), isql or CSV"

# rows of `latches` by table or interval, and by name
Counts = dict[tuple[str, str], dict[str, Any]]
# known columns: by one of them a result is recognised
_KNOWN = {
    "instanceid", "enginenumber", "spinlockname", "totalsizekb", "numsearches", "cacheid", "cachename",
    "waiteventid", "spid", "kpid", "dbid",
}  # fmt: skip
_COUNTERS = {
    "numsearches", "hitcount", "numinserts", "numremovals", "numrecompilesschemachanges",
    "numrecompilesplanflushes", "grabs", "spins", "waits", "logicalreads", "physicalreads", "cachesearches",
    "committed", "rollbacks", "transactions", "selects", "inserts", "updates", "deletes", "contextswitches",
}  # fmt: skip
NAMES = ("spinlockname", "cachename", "enginenumber", "name", "waiteventid", "instanceid")
# what is used, and the columns that add up to what there is
_LIMITS = {"usedsizekb": ("totalsizekb",), "numactive": ("numactive", "numfree")}
# as a list, whose heading has no ruler
_SPINLOCK = re.compile(
    r"\s*(?P<spinlockname>[^\s\d]\S*(?: \S+)*?)\s+(?P<grabs>\d+)\s+(?P<spins>\d+)"
    r"\s+(?P<waits>\d+)\s+(?P<contention>\d+)\s*"
)
_SPINLOCKS = re.compile(r"\s*SpinlockName\s*/\s*Grabs.*")
_DONE = r"\(\d+ rows? affected\)|\(return status = 0\)"


def sniff(head: str) -> bool:
    """Whether a ruled table or CSV has a column of the monitor tables, or spinlocks are listed."""
    if is_csv(head):
        # DbxTune's tables have the same columns, and its own times
        first = names_of_csv(head)
        return len(first) > 2 and bool(first & _KNOWN) and "sessionsampletime" not in first
    tables = ruled_rows(enumerate(head.split("\n"), start=1), [])
    return any(row.cells.keys() & _KNOWN for row in tables) or bool(_SPINLOCKS.search(head))


def read(source: Source) -> list[Report]:
    """One report; rows of one entity that come again are its next readings."""
    report = Report(source.place(source.first))
    seen: dict[str, int] = {}
    spinlocks: Counts = {}
    texts = TextColumns()

    def take(row: Row) -> bool | None:
        if "spinlockname" in row.cells:
            spins = float(whole(row.cells["spins"]))
            name = add_spinlock(report, spinlocks, str(row.table), row.cells)
            captures = sum(other == name for _, other in spinlocks)
            report.sample(captures - 1.0, name, "spins", spins)
        elif not _reading(report, seen, row.cells):
            return False
        if not all(row.cells.values()):
            # isql prints NULL, and pads a row: a cell without anything was cut off
            source.skip_in_part(row.line, row.text)
        texts.add(row, {c: cell(text) for c, text in row.cells.items() if c not in NAMES})
        return None

    take_each(source, rows_of(source, _DONE, _SPINLOCKS, _SPINLOCK), take)
    texts.close(source, report)
    if max(seen.values(), default=0) > 0:
        report.notice("interval-unknown", "monitor tables tell no times: their readings are numbered")
    report.differences("latches", "monSpinlockActivity")
    return [report]


def add_numbers(report: Report, at_s: float, entity: str, cells: Mapping[str, Cell]) -> bool:
    """Adds readings of the cells with numbers, and limits of those that have one; whether there are any."""
    numbers = {column: cell for column, cell in cells.items() if isinstance(cell, float)}
    for used, parts in _LIMITS.items():
        if numbers.keys() >= {used, *parts}:
            numbers[f"{used}_limit"] = sum((numbers[part] for part in parts), 0.0)
    named = {f"{c}_total" if c in _COUNTERS else c: value for c, value in numbers.items()}
    report.samples.add_row(at_s, entity, named)
    return bool(named)


def _reading(report: Report, seen: dict[str, int], cells: Cells) -> bool:
    name = next((name for name in NAMES if cells.get(name)), None)
    if name is None:
        return False
    entity = f"{name} {cells[name]}"
    at = seen.get(entity, -1) + 1
    values = {c: cell(text) for c, text in cells.items() if c != name and not c.endswith("id")}
    if known := add_numbers(report, at, entity, values):
        seen[entity] = at
    return known


def add_spinlock(report: Report, found: Counts, of: str, cells: Cells) -> str:
    """Adds counts of a spinlock, whose name it gives; of one table or interval, or of several intervals, they
    are added up. Raises ValueError, KeyError.
    """
    name = cells["spinlockname" if "spinlockname" in cells else "spinname"].strip()
    gets, misses = whole(cells["grabs"]), whole(cells["waits"])
    if not isinstance(cell(name), str) or min(gets, misses) < 0:
        raise ValueError(name)
    if (of, name) not in found:
        report.row("latches", latch=name, gets=0, misses=0)
        found[of, name] = report.rows["latches"][-1]
    found[of, name]["gets"] += gets
    found[of, name]["misses"] += misses
    return name
