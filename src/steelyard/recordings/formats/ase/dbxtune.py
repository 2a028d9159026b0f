"""DbxTune's recordings of ASE, which it keeps in a database of H2: tables of it, exported as CSV.

A table per counter model and kind: `_abs` as counted; `_diff` follows from it, and is read of spinlocks
alone; `_rate` is refused. Columns: SessionStartTime, SessionSampleTime, CmSampleTime, CmSampleMs, CmRowState,
and then the columns of the monitor table. https://github.com/goranschwarz/DbxTune
"""

from __future__ import annotations

from datetime import datetime

from steelyard.recordings.cells import moment, number
from steelyard.recordings.formats.ase.monitor_tables import COUNTERS, NAMES
from steelyard.recordings.report import Report
from steelyard.recordings.source import Source
from steelyard.recordings.tables import table_rows
from steelyard.recordings.text_columns import TextColumns
from steelyard.study.errors import InputError

_EXPORT = """call csvwrite('CmEngines_abs.csv', 'select * from "CmEngines_abs"')"""
TITLE = f"DbxTune's recording of ASE, a table of its H2 database as CSV: {_EXPORT}"

Cell = str | float | None

# how a file of H2 begins
_DATABASE = "H:2,"
_TIME = "sessionsampletime"
_OWN = {"sessionstarttime", _TIME, "cmsampletime", "cmsamplems", "cmrowstate", "cmnewdiffraterow"}
# what is used, and the columns that add up to what there is
_LIMITS = {"usedsizekb": ("totalsizekb",), "numactive": ("numactive", "numfree")}


def sniff(head: str) -> bool:
    """Whether columns of CSV are the times of DbxTune; or a database of H2."""
    first = {cell.strip('" ').lower() for cell in head.partition("\n")[0].split(",")}
    return {_TIME, "cmsampletime"} <= first or (head.startswith(_DATABASE) and "block:" in head[:200])


def read(source: Source) -> list[Report]:
    """One report: the readings of a counter model at their times, or spinlocks as rows of `latches`.

    Raises InputError for the database itself, and for a table of rates.
    """
    if source.head().startswith(_DATABASE):
        raise InputError(
            f"{source.path}: a database of H2, which only Java reads", f"export its tables: {_EXPORT}"
        )
    whole = source.path.name.partition(".")[0]
    name, _, kind = whole.rpartition("_")
    if kind == "rate":
        raise InputError(f"{source.path}: rates, which follow from the counters", f"export {name}_abs")
    name = name if kind in ("abs", "diff") else whole
    report = Report(source.place(source.first))
    spinlocks: dict[str, list[int]] = {}
    texts = TextColumns()
    for _, line, text, raw in table_rows(source):
        cells = {column.replace("_", ""): _cell(cell) for column, cell in raw.items()}
        at = _moment(cells.get(_TIME))
        if at is None or (kind == "diff" and not _spinlock(spinlocks, cells)):
            source.skip(line, text)
        elif kind != "diff":
            began = report.began = report.began or at
            at_s = (at - began).total_seconds()
            report.seconds = max(at_s, report.seconds or 0) or None
            named = _OWN.union(NAMES)
            values = {column: cell for column, cell in cells.items() if column not in named}
            texts.add(line, text, {f"{name} {column}": cell for column, cell in values.items()})
            _take(report, at_s, name, cells, values)
    for latch, (gets, misses) in spinlocks.items():
        report.row("latches", latch=latch, gets=gets, misses=misses)
    texts.close(source, report)
    return [report]


def _cell(text: str) -> Cell:
    try:
        return number(text)
    except ValueError:
        return text


def _moment(cell: Cell) -> datetime | None:
    try:
        return moment(str(cell)).replace(tzinfo=None)
    except ValueError:
        return None


def _spinlock(found: dict[str, list[int]], cells: dict[str, Cell]) -> bool:
    """Whether a row counts a spinlock over one interval; then it is added to those before."""
    name = cells.get("spinlockname", cells.get("spinname"))
    gets, misses = cells.get("grabs"), cells.get("waits")
    if not isinstance(name, str) or not isinstance(gets, float) or not isinstance(misses, float):
        return False
    if gets < 0 or misses < 0:
        return False
    counts = found.setdefault(name, [0, 0])
    counts[0], counts[1] = counts[0] + int(gets), counts[1] + int(misses)
    return True


def _take(report: Report, at_s: float, name: str, cells: dict[str, Cell], values: dict[str, Cell]) -> None:
    named = [cells[key] for key in NAMES if cells.get(key) is not None]
    words = named or [cell for cell in values.values() if isinstance(cell, str)]
    shown = (f"{cell:g}" if isinstance(cell, float) else str(cell) for cell in words)
    entity = " ".join([name, *shown])[:200]
    numbers = {column: cell for column, cell in values.items() if isinstance(cell, float)}
    for column, cell in numbers.items():
        report.sample(at_s, entity, f"{column}_total" if column in COUNTERS else column, cell)
    for used, parts in _LIMITS.items():
        if used in numbers and numbers.keys() >= {*parts}:
            report.sample(at_s, entity, f"{used}_limit", sum(numbers[part] for part in parts))
