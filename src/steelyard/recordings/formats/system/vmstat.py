"""vmstat of Linux, 2.4 included. Its first row counts since the boot: it is left out where others follow.

Amounts of memory and pages have the unit that the option -S chose, which the text does not tell: their
names carry none. Without timestamps (-t) the readings are numbered.
"""

from __future__ import annotations

import re
from datetime import datetime

from steelyard.recordings.cells import exact
from steelyard.recordings.mean import Mean
from steelyard.recordings.report import Report
from steelyard.recordings.source import Source

TITLE = "vmstat (Linux, 2.4 included)"

_HEADING = re.compile(r"^ *r +b +(?:w +)?swpd +free\b.*\bid\b", re.MULTILINE)
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*$")
_CPU = {"us": "us_percent", "sy": "sy_percent", "id": "id_percent", "wa": "wa_percent", "st": "st_percent",
        "gu": "gu_percent"}  # fmt: skip
_Row = tuple[datetime | None, list[str], list[float]]


def sniff(head: str) -> bool:
    """Whether its heading is there."""
    return bool(_HEADING.search(head))


def read(source: Source) -> list[Report]:
    """One report: readings of the host and its CPUs."""
    report = Report("system/vmstat", source.place(source.first))
    columns: list[str] = []
    stamped = False
    first: _Row | None = None
    busy, rows = Mean(), 0
    for line, text in source.lines():
        if "swpd" in text and _HEADING.match(text):
            columns = _names(text.split())
            # the name of the timestamps is that of their zone
            stamped = text.split()[-1] not in (*_CPU, *columns)
        elif text.lstrip().startswith(("procs", "--procs")) or not text.strip():
            continue
        elif (row := _row(columns, stamped, text)) is None:
            source.skip(line, text)
        elif first is None:
            first = row
        else:
            _keep(report, busy, row, rows)
            rows += 1
    if first is not None:
        _since_boot(report, busy, first, rows)
    report.figure("cpu_busy_vmstat", busy.value, "%")
    return [report]


def _names(columns: list[str]) -> list[str]:
    """Column names without the timestamp's. Raises ValueError for an unknown one between `us` and `id`."""
    first, last = columns.index("us"), columns.index("id") + 1
    if unknown := [name for name in columns[first:last] if name not in _CPU]:
        raise ValueError(f"no column of a CPU is named {unknown[0]!r}")
    return columns[:last] + [name for name in columns[last:] if name in _CPU]


def _row(columns: list[str], stamped: bool, text: str) -> _Row | None:
    stamp = _STAMP.search(text, max(0, len(text) - 30))
    cells = (text[: stamp.start()] if stamp else text).split()
    if not columns or len(cells) != len(columns) or stamped != bool(stamp):
        return None
    try:
        at = datetime.fromisoformat(stamp[1]) if stamp else None
        return at, columns, [exact(cell) for cell in cells]
    except ValueError:
        return None


def _keep(report: Report, busy: Mean, row: _Row, number: int) -> None:
    at, names, values = row
    report.began = report.began or at
    at_s = (at - report.began).total_seconds() if at and report.began else float(number)
    if at_s:
        report.seconds = at_s if at else None
    cut = names.index("us")
    report.samples.add_row(at_s, "host", names[:cut], values[:cut])
    report.samples.add_row(at_s, "cpu all", [_CPU[name] for name in names[cut:]], values[cut:])
    # from what is idle: the printed parts are rounded, and may add up to more than 100
    busy.add(
        100 - sum(value for name, value in zip(names, values, strict=True) if name in ("id", "wa", "st"))
    )


def _since_boot(report: Report, busy: Mean, first: _Row, following: int) -> None:
    """Leaves the first row out where others follow, and says so."""
    at = first[0]
    if following:
        report.notices.append(("since-boot", "the first row of vmstat counts since the boot: left out"))
    else:
        report.notices.append(("since-boot", "the only row of vmstat counts since the boot"))
        _keep(report, busy, first, 0)
    if at is None:
        report.notices.append(
            ("interval-unknown", "vmstat tells no times (option -t): its readings are numbered")
        )
    elif following and report.began:
        report.begin_earlier((report.began - at).total_seconds())
