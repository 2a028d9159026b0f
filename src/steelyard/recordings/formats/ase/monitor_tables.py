"""Results of queries of ASE's monitor tables, as isql prints them or as CSV.

Which table it is, its columns say. Spinlocks become rows of `latches`: its integer Contention rounds to 0,
so that 100 x Waits / Grabs is computed from the counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from steelyard.recordings.cells import number, whole
from steelyard.recordings.csv_tables import csv_rows
from steelyard.recordings.report import Report
from steelyard.recordings.rulers import ruled_tables
from steelyard.recordings.source import Line, Source
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
_SPINLOCK = re.compile(r"([^\s\d]\S*(?: \S+)*?)\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)")
_SPINLOCK_COLUMNS = ("spinlockname", "grabs", "spins", "waits", "contention")
_SPINLOCKS = re.compile(r"\s*SpinlockName\s*/\s*Grabs")
_DONE = re.compile(r"\(\d+ rows? affected\)|\(return status = 0\)")


def sniff(head: str) -> bool:
    """Whether a ruled table or CSV has a column of the monitor tables, or spinlocks are listed."""
    first = {cell.strip('" ').lower() for cell in head.partition("\n")[0].split(",")}
    if len(first) > 1:
        # DbxTune's tables have the same columns, and its own times
        return len(first) > 2 and bool(first & _KNOWN) and "sessionsampletime" not in first
    numbered = list(enumerate(head.split("\n"), start=1))
    tables = any(set(table.columns) & _KNOWN for table in ruled_tables(numbered))
    return tables or bool(_SPINLOCKS.search(head))


def read(source: Source) -> list[Report]:
    """One report; rows of one entity that come again are its next readings."""
    report = Report(source.place(source.first))
    seen: dict[tuple[str, str], int] = {}
    rows = csv_rows(source) if "," in source.head().partition("\n")[0] else _isql_rows(source)
    texts = TextColumns()
    for number_, text, cells in rows:
        if not _row(report, seen, cells):
            source.skip(number_, text)
            continue
        if not all(cells.values()):
            # isql prints NULL, and pads a row: a cell without anything was cut off
            source.skip_in_part(number_, text)
        texts.add(number_, text, {c: _value(cell) for c, cell in cells.items() if c not in NAMES})
    texts.close(source, report)
    if max(seen.values(), default=0) > 0:
        report.notices.append(
            ("interval-unknown", "monitor tables tell no times: their readings are numbered")
        )
    return [report]


def _isql_rows(source: Source) -> Iterator[tuple[int, str, dict[str, str]]]:
    other: list[Line] = []
    for table in ruled_tables(source.lines(), other):
        yield from table.rows
    listed = False
    for number_, text in sorted(other):
        listed = listed or bool(_SPINLOCKS.match(text))
        if listed and (found := _SPINLOCK.fullmatch(text.strip())):
            cells: dict[str, str] = dict(zip(_SPINLOCK_COLUMNS, found.groups(), strict=True))
            yield number_, text, cells
        elif not _DONE.fullmatch(text.strip()) and not _SPINLOCKS.match(text):
            source.skip(number_, text)


def _row(report: Report, seen: dict[tuple[str, str], int], cells: dict[str, str]) -> bool:
    if "spinlockname" in cells:
        return _spinlock(report, cells)
    name = next((n for n in NAMES if cells.get(n) and (n != "instanceid" or len(cells) > 1)), None)
    if name is None:
        return False
    entity = f"{name} {cells[name].strip()}"
    numbers: dict[str, float] = {}
    for column, cell in cells.items():
        value = None if column == name or column.endswith("id") else _value(cell)
        if isinstance(value, float):
            numbers[column] = value
    if not numbers:
        return False
    time = seen[entity, ""] = seen.get((entity, ""), -1) + 1
    for column, value in numbers.items():
        metric = column + ("_total" if column in COUNTERS else "")
        report.sample(float(time), entity, metric, value)
    if "usedsizekb" in numbers and "totalsizekb" in numbers:
        report.sample(float(time), entity, "usedsizekb_limit", numbers["totalsizekb"])
    return True


def _value(cell: str) -> float | str | None:
    try:
        return number(cell)
    except ValueError:
        return cell


def _spinlock(report: Report, cells: dict[str, str]) -> bool:
    try:
        gets, spins, waits = (whole(cells[name]) for name in ("grabs", "spins", "waits"))
    except (KeyError, ValueError):
        return False
    if min(gets, spins, waits) < 0 or not cells["spinlockname"].strip():
        return False
    report.row("latches", latch=cells["spinlockname"].strip(), gets=gets, misses=waits)
    report.sample(0.0, cells["spinlockname"].strip(), "spins", float(spins))
    return True
