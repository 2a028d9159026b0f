"""`prstat -mL` of Solaris: where each thread spent its time, in percent of it."""

from __future__ import annotations

import re

from steelyard.recordings.cells import abbreviated, exact
from steelyard.recordings.report import Report
from steelyard.recordings.source import Source

TITLE = "prstat -mL (Solaris)"

_COLUMNS = ["USR", "SYS", "TRP", "TFL", "DFL", "LCK", "SLP", "LAT", "VCX", "ICX", "SCL", "SIG"]
_HEADING = re.compile(
    r"^ *PID USERNAME USR SYS TRP TFL DFL LCK SLP LAT VCX ICX SCL SIG PROCESS/", re.MULTILINE
)
_CELL = r"\s*(\d[\d.]*[KMG]?|-)"
# the user may follow its process without a gap, so may a percentage of 100
_ROW = re.compile(
    rf"\s*(\d+)\s*([A-Za-z_]\S*?)(?=\s)(?:\s+{_CELL[3:]})"
    + rf"\s+{_CELL[3:]}" * 11
    + r"\s+(\S+|[^\s\d]\S*(?: \S+)+)\s*"
)
_TOTAL = re.compile(r"Total: \d+ processes, (\d+) lwps, load averages: ([\d.]+), ([\d.]+), ([\d.]+)\s*")


def sniff(head: str) -> bool:
    """Whether its heading is there."""
    return bool(_HEADING.search(head))


def read(source: Source) -> list[Report]:
    """One report; a heading begins another reading."""
    report = Report(source.place(source.first))
    report.notices.append(("interval-unknown", "prstat prints no times: its readings are numbered"))
    at = -1
    for line, text in source.lines():
        if _HEADING.match(text):
            at += 1
        elif total := _TOTAL.fullmatch(text):
            report.sample(float(max(at, 0)), "host", "lwps", float(total[1]))
            report.sample(float(max(at, 0)), "host", "load_1_min", float(total[2]))
        elif (row := _ROW.fullmatch(text)) and at >= 0:
            if not _thread(report, float(at), row):
                source.skip(line, text)
        else:
            source.skip(line, text)
    return [report]


def _thread(report: Report, at: float, row: re.Match[str]) -> bool:
    cells = row.groups()[2:14]
    try:
        shares = [exact(cell) for cell in cells[:8]]
        counts = [abbreviated(cell) for cell in cells[8:]]
    except ValueError:
        return False
    entity = f"{row[1]} {row[15]}"
    for name, value in zip(_COLUMNS, [*shares, *counts], strict=True):
        report.sample(at, entity, name.lower() + ("_percent" if name in _COLUMNS[:8] else ""), value)
    return True
