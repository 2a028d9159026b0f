"""DbxTune's recording of ASE, a table of its H2 database as CSV: call csvwrite('CmEngines_abs.csv', 'select *
from "CmEngines_abs"').

A table per counter model and kind: `_abs` as counted; `_diff` follows from it, and is read of spinlocks
alone; `_rate` is refused. Columns: SessionStartTime, SessionSampleTime, CmSampleTime, CmSampleMs, CmRowState,
and then the columns of the monitor table. https://github.com/goranschwarz/DbxTune
"""

from datetime import datetime

from steelyard.errors import InputError
from steelyard.recordings.formats.ase.monitor_tables import NAMES, add_numbers, add_spinlock, keys_of
from steelyard.recordings.lines import Lines, Now, has
from steelyard.recordings.report import Report
from steelyard.recordings.source import Source
from steelyard.recordings.tables import Row, cell

_EXPORT = """call csvwrite('CmEngines_abs.csv', 'select * from "CmEngines_abs"')"""
_TIME = "sessionsampletime"
_AGAIN = "rows that come again, as of a table that was exported twice, count once"
_OWN = {"sessionstarttime", _TIME, "cmsampletime", "cmsamplems", "cmrowstate", "cmnewdiffraterow", *NAMES}

# columns of CSV are the times of DbxTune; or a database of H2
sniff = has(r"\A(?:H:2,[\s\S]{0,190}block:|(?i:(?=.*\bsessionsampletime\b).*\bcmsampletime\b))")


def read(source: Source) -> list[Report]:
    """A report per session: readings of a counter model at their times, or spinlocks as rows of `latches`.

    Raises InputError for the database itself, and for a table of rates.
    """
    if source.head().startswith("H:2,"):
        raise InputError(
            f"{source.path}: a database of H2, which only Java reads", f"export its tables: {_EXPORT}"
        )
    name, kind = _name_of(source)
    if kind == "rate":
        raise InputError(f"{source.path}: rates, which follow from the counters", f"export {name}_abs")
    return _TABLE(source)


def _name_of(source: Source) -> tuple[str, str]:
    """Name of a counter model, and kind of its table."""
    whole = source.path.name.partition(".")[0]
    name, _, kind = whole.rpartition("_")
    return (name, kind) if kind in ("abs", "diff", "rate") else (whole, "")


def _row(now: Now, row: Row) -> None:
    raw = {column.replace("_", ""): text for column, text in row.cells.items()}
    at, report = datetime.fromisoformat(raw[_TIME]).replace(tzinfo=None), now.report
    if raw[_TIME][10] not in " T":
        # a day alone, or a damaged one
        raise ValueError
    if row.text in now.seen:
        report.notices = [("rows-again", _AGAIN)]
        return
    now.seen.add(row.text)
    name, kind = _name_of(now.source)
    if kind == "diff":
        add_spinlock(now, 0, raw)
        return
    at_s = report.at(at)
    values = {column: cell(text) for column, text in raw.items() if column not in _OWN}
    now.texts.add(row, {f"{name} {column}": value for column, value in values.items()})
    names = [raw[key] for key in keys_of(raw)]
    words = names or [value for value in values.values() if isinstance(value, str)]
    entity = " ".join([name, *words])[:200]
    if f"{at_s} {entity}" in now.seen:
        raise ValueError(entity)
    now.seen.add(f"{at_s} {entity}")
    add_numbers(report, at_s, entity, {column: raw[column] for column in values})


_TABLE = Lines((), table=_row, run="sessionstarttime")
