"""vmstat of Linux, 2.4 included. Its first row counts since the boot: it is left out where others follow.

Amounts of memory and pages have the unit that the option -S chose, which the text does not tell: their
names carry none. Without timestamps (-t) the readings are numbered.
"""

from __future__ import annotations

import re
from datetime import datetime

from steelyard.recordings.cells import exact
from steelyard.recordings.formats.system._sysstat import mean
from steelyard.recordings.report import Report
from steelyard.recordings.source import Source

TITLE = "vmstat (Linux, 2.4 included)"

_HEADING = re.compile(r"^ *r +b +(?:w +)?swpd +free\b.*\bid\b", re.MULTILINE)
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*$")
_CPU = {"us": "us_percent", "sy": "sy_percent", "id": "id_percent", "wa": "wa_percent", "st": "st_percent",
        "gu": "gu_percent"}  # fmt: skip


def sniff(head: str) -> bool:
    """Whether its heading is there."""
    return bool(_HEADING.search(head))


def read(source: Source) -> list[Report]:
    """One report: readings of the host and its CPUs."""
    report = Report("system/vmstat", source.place(source.first))
    columns: list[str] = []
    rows: list[tuple[datetime | None, dict[str, float]]] = []
    for line, text in source.lines():
        if _HEADING.match(text):
            columns = text.split()
        elif text.lstrip().startswith(("procs", "--procs")):
            continue
        elif text.strip():
            row = _row(columns, text)
            if row is None:
                source.skip(line, text)
            else:
                rows.append(row)
    _place(report, rows)
    return [report]


def _row(columns: list[str], text: str) -> tuple[datetime | None, dict[str, float]] | None:
    stamp = _STAMP.search(text)
    numbers = (text[: stamp.start()] if stamp else text).split()
    names = columns[: columns.index("id") + 1] if "id" in columns else []
    names += [name for name in columns[len(names) :] if name in _CPU]
    try:
        at = datetime.fromisoformat(stamp[1]) if stamp else None
        if not names or len(numbers) != len(names):
            return None
        return at, {name: exact(cell) for name, cell in zip(names, numbers, strict=True)}
    except ValueError:
        return None


def _place(report: Report, rows: list[tuple[datetime | None, dict[str, float]]]) -> None:
    since_boot = rows[0][0] if len(rows) > 1 else None
    if len(rows) > 1:
        rows = rows[1:]
        report.notices.append(("since-boot", "the first row of vmstat counts since the boot: left out"))
    elif rows:
        report.notices.append(("since-boot", "the only row of vmstat counts since the boot"))
    times = [at for at, _ in rows if at is not None]
    if times and len(times) == len(rows):
        report.began = times[0]
        report.seconds = (times[-1] - times[0]).total_seconds() or None
    elif rows:
        report.notices.append(
            ("interval-unknown", "vmstat tells no times (option -t): its readings are numbered")
        )
    busy: list[float] = []
    for i, (at, values) in enumerate(rows):
        at_s = (at - report.began).total_seconds() if at and report.began else float(i)
        for name, value in values.items():
            entity, metric = ("cpu all", _CPU[name]) if name in _CPU else ("host", name)
            report.sample(at_s, entity, metric, value)
        # from what is idle: the printed parts are rounded, and may add up to more than 100
        busy.append(100 - sum(values.get(name, 0.0) for name in ("id", "wa", "st")))
    if since_boot and report.began:
        report.begin_earlier((report.began - since_boot).total_seconds())
    report.figure("cpu_busy_vmstat", mean(busy), "%")
