"""DbxTune's recordings of ASE, which it keeps in a database of H2: tables of it, exported as CSV.

A table per counter model and kind: `_abs` as counted; `_diff` follows from it, and is read of spinlocks
alone; `_rate` is refused. Columns: SessionStartTime, SessionSampleTime, CmSampleTime, CmSampleMs, CmRowState,
and then the columns of the monitor table. https://github.com/goranschwarz/DbxTune
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime

from steelyard.recordings.cells import LARGEST, moment, number
from steelyard.recordings.csv_tables import csv_rows
from steelyard.recordings.formats.ase.monitor_tables import COUNTERS, NAMES
from steelyard.recordings.report import Report
from steelyard.recordings.rulers import slug
from steelyard.recordings.source import Source
from steelyard.recordings.text_columns import TextColumns
from steelyard.study.errors import InputError

_EXPORT = """call csvwrite('CmEngines_abs.csv', 'select * from "CmEngines_abs"')"""
TITLE = f"DbxTune's recording of ASE, a table of its H2 database as CSV: {_EXPORT}"

Cell = str | float | None

# how a file of H2 begins
_DATABASE = "H:2,"
_TIME = "SessionSampleTime"
_OWN = {
    "sessionstarttime",
    "sessionsampletime",
    "cmsampletime",
    "cmsamplems",
    "cmrowstate",
    "cmnewdiffraterow",
}


def sniff(head: str) -> bool:
    """Whether columns of CSV are the times of DbxTune; or a database of H2."""
    first = {cell.strip('" ') for cell in head.partition("\n")[0].split(",")}
    if head.startswith(_DATABASE) and "block:" in head[:200]:
        return True
    return {_TIME, "CmSampleTime"} <= first


def read(source: Source) -> list[Report]:
    """One report: the readings of a counter model at their times, or spinlocks as rows of `latches`.

    Raises InputError for the database itself, and for a table of rates.
    """
    if source.head().startswith(_DATABASE):
        raise InputError(
            f"{source.path}: a database of H2, which only Java reads", f"export its tables: {_EXPORT}"
        )
    name, _, kind = source.path.name.partition(".")[0].rpartition("_")
    if kind == "rate":
        raise InputError(f"{source.path}: rates, which follow from the counters", f"export {name}_abs")
    if kind not in ("abs", "diff"):
        name = source.path.name.partition(".")[0]
    report = Report(source.place(source.first))
    spinlocks: dict[str, list[int]] = {}
    texts = TextColumns()
    last: datetime | None = None
    for line, cells in _rows(source):
        if (at := _moment(cells.get(_TIME))) is None:
            source.skip(line, f"{name}: no time: {cells.get(_TIME)}")
        elif kind == "diff":
            if not _spinlock(spinlocks, cells):
                source.skip(line, f"{name}_diff: no spinlock")
        else:
            report.began, last = report.began or at, max(last or at, at)
            texts.add(line, name, {f"{name} {c}": cell for c, cell in cells.items() if _is_value(c)})
            _take(report, (at - report.began).total_seconds(), name, cells)
    for latch, (gets, misses) in spinlocks.items():
        report.row("latches", latch=latch, gets=gets, misses=misses)
    if report.began and last and last > report.began:
        report.seconds = (last - report.began).total_seconds()
    texts.close(source, report)
    return [report]


def _rows(source: Source) -> Iterator[tuple[int, dict[str, Cell]]]:
    columns = [cell.strip('" ') for cell in source.head().partition("\n")[0].split(",")]
    by_slug = {column.lower(): column for column in columns}
    for line, text, texts in csv_rows(source):
        if not texts:
            source.skip(line, text)
            continue
        yield line, {by_slug.get(name, name): _cell(cell) for name, cell in texts.items()}


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
    name = cells.get("SpinlockName", cells.get("spinName"))
    gets, misses = (cells.get(key, cells.get(key.lower())) for key in ("Grabs", "Waits"))
    if not isinstance(name, str) or not isinstance(gets, float) or not isinstance(misses, float):
        return False
    if not (0 <= gets <= LARGEST and 0 <= misses <= LARGEST):
        return False
    counts = found.setdefault(name.strip(), [0, 0])
    counts[0], counts[1] = counts[0] + int(gets), counts[1] + int(misses)
    return True


def _is_value(column: str) -> bool:
    own = slug(column).replace("_", "")
    return own not in _OWN and own not in NAMES


def _take(report: Report, at_s: float, name: str, cells: dict[str, Cell]) -> None:
    own = {slug(column).replace("_", ""): cell for column, cell in cells.items()}
    named = [own[key] for key in NAMES if own.get(key) is not None]
    texts = [cell for key, cell in own.items() if isinstance(cell, str) and key not in _OWN]
    words = (f"{cell:g}" if isinstance(cell, float) else str(cell) for cell in named or texts)
    entity = " ".join([name, *words])[:200]
    for key, cell in own.items():
        if isinstance(cell, float) and key not in _OWN and key not in NAMES and math.isfinite(cell):
            report.sample(at_s, entity, f"{key}_total" if key in COUNTERS else key, cell)
    # what is used of what there is: the statement cache, and sp_monitorconfig
    used, whole = own.get("usedsizekb"), own.get("totalsizekb")
    if isinstance(used, float) and isinstance(whole, float):
        report.sample(at_s, entity, "usedsizekb_limit", whole)
    active, free = own.get("numactive"), own.get("numfree")
    if isinstance(active, float) and isinstance(free, float):
        report.sample(at_s, entity, "numactive_limit", active + free)
