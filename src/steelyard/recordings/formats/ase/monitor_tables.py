"""Results of queries of ASE's monitor tables, as isql prints them or as CSV.

Which table it is, its columns say. Spinlocks become rows of `latches`: its integer Contention rounds to 0,
so that 100 x Waits / Grabs is computed from the counts. They count since the server started: of two captures
in one file the difference counts.
"""

from __future__ import annotations

import re
from typing import Any

from steelyard.recordings.captures import differences
from steelyard.recordings.cells import number, whole
from steelyard.recordings.report import Report
from steelyard.recordings.rulers import ruled_tables
from steelyard.recordings.source import Source
from steelyard.recordings.tables import is_csv, table_rows
from steelyard.recordings.text_columns import TextColumns

TITLE = "ASE monitor tables (monStatementCache, monEngine, monSpinlockActivity ...), isql or CSV"

# known columns: by one of them a result is recognised
_KNOWN = {
    "instanceid", "enginenumber", "spinlockname", "totalsizekb", "numsearches", "cacheid", "cachename",
    "waiteventid", "spid", "kpid", "dbid",
}  # fmt: skip
COUNTERS = {
    "numsearches", "hitcount", "numinserts", "numremovals", "numrecompilesschemachanges",
    "numrecompilesplanflushes", "grabs", "spins", "waits", "logicalreads", "physicalreads", "cachesearches",
    "committed", "rollbacks", "transactions", "selects", "inserts", "updates", "deletes", "contextswitches",
}  # fmt: skip
NAMES = ("spinlockname", "cachename", "enginenumber", "name", "waiteventid", "instanceid")
# as a list, whose heading has no ruler
_SPINLOCK = re.compile(
    r"\s*(?P<spinlockname>[^\s\d]\S*(?: \S+)*?)\s+(?P<grabs>\d+)\s+(?P<spins>\d+)"
    r"\s+(?P<waits>\d+)\s+(?P<contention>\d+)\s*"
)
_SPINLOCKS = re.compile(r"\s*SpinlockName\s*/\s*Grabs.*")
_DONE = r"\(\d+ rows? affected\)|\(return status = 0\)"


def sniff(head: str) -> bool:
    """Whether a ruled table or CSV has a column of the monitor tables, or spinlocks are listed."""
    first = {cell.strip('" ').lower() for cell in head.partition("\n")[0].split(",")}
    if is_csv(head):
        # DbxTune's tables have the same columns, and its own times
        return len(first) > 2 and bool(first & _KNOWN) and "sessionsampletime" not in first
    numbered = list(enumerate(head.split("\n"), start=1))
    tables = any(set(table.columns) & _KNOWN for table in ruled_tables(numbered))
    return tables or bool(_SPINLOCKS.search(head))


def read(source: Source) -> list[Report]:
    """One report; rows of one entity that come again are its next readings."""
    report = Report(source.place(source.first))
    seen: dict[str, int] = {}
    spinlocks: dict[tuple[int, str], dict[str, Any]] = {}
    texts = TextColumns()
    for table, line, text, cells in table_rows(source, _DONE, _SPINLOCKS, _SPINLOCK):
        spins = spinlocks if "spinlockname" in cells else None
        if not (_row(report, seen, cells) if spins is None else _spinlock(report, spins, table, cells)):
            source.skip(line, text)
            continue
        if not all(cells.values()):
            # isql prints NULL, and pads a row: a cell without anything was cut off
            source.skip_in_part(line, text)
        texts.add(line, text, {c: _value(cell) for c, cell in cells.items() if c not in NAMES})
    texts.close(source, report)
    if max(seen.values(), default=0) > 0:
        report.notices.append(
            ("interval-unknown", "monitor tables tell no times: their readings are numbered")
        )
    differences(report, "latches", ("latch",), ("gets", "misses"), "monSpinlockActivity")
    return [report]


def _row(report: Report, seen: dict[str, int], cells: dict[str, str]) -> bool:
    name = next((n for n in NAMES if cells.get(n) and (n != "instanceid" or len(cells) > 1)), None)
    if name is None:
        return False
    entity = f"{name} {cells[name].strip()}"
    numbers: dict[str, float] = {}
    for column, cell in cells.items():
        value = None if column == name or column.endswith("id") else _value(cell)
        if isinstance(value, float):
            numbers[column + ("_total" if column in COUNTERS else "")] = value
    if not numbers:
        return False
    if "usedsizekb" in numbers and "totalsizekb" in numbers:
        numbers["usedsizekb_limit"] = numbers["totalsizekb"]
    at = seen[entity] = seen.get(entity, -1) + 1
    report.samples.add_row(float(at), entity, list(numbers), list(numbers.values()))
    return True


def _value(cell: str) -> float | str | None:
    try:
        return number(cell)
    except ValueError:
        return cell


def _spinlock(
    report: Report, found: dict[tuple[int, str], dict[str, Any]], table: int, cells: dict[str, str]
) -> bool:
    """Adds a row. Within a table spinlocks of one name are added up."""
    try:
        gets, spins, waits = (whole(cells[name]) for name in ("grabs", "spins", "waits"))
    except (KeyError, ValueError):
        return False
    name = cells["spinlockname"].strip()
    if min(gets, spins, waits) < 0 or not name:
        return False
    row = found.get((table, name))
    if row is None:
        report.row("latches", latch=name, gets=0, misses=0)
        row = found[table, name] = report.rows["latches"][-1]
    row["gets"], row["misses"] = row["gets"] + gets, row["misses"] + waits
    captures = sum(other == name for _, other in found)
    report.sample(captures - 1.0, name, "spins", float(spins))
    return True
