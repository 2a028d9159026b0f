"""lockstat of Solaris and FreeBSD: one table per kind of event; times in ns where the column says nsec."""

from __future__ import annotations

import re

from steelyard.recordings.report import Report
from steelyard.recordings.source import Source

TITLE = "lockstat (Solaris, illumos, FreeBSD)"

_SECTION = re.compile(r"(\S.*?): (\d+) events in ([\d.]+) seconds \(.*\)")
_HEADING = re.compile(r"\s*Count\s+indv\s+cuml\s+rcnt\s+(nsec|spin|\S+)?\s*Lock\s+Caller\s*")
_ROW = re.compile(r"\s*(\d+)\s+([\d.]+)%\s+([\d.]+)%\s+(\d+\.\d+)\s+(?:(\d+)\s+)?(?!\d+\s)(\S+)\s+(\S.*?)\s*")


def sniff(head: str) -> bool:
    """Whether a table of events begins."""
    return any(_SECTION.fullmatch(line) for line in head.split("\n")) and "indv" in head


def read(source: Source) -> list[Report]:
    """One report: spins and blocks become rows of `locks`, all else samples."""
    report = Report(source.place(source.first))
    event, unit = "", None
    for line, text in source.lines():
        if section := _SECTION.fullmatch(text):
            event, unit = section[1], None
            report.seconds = float(section[3])
            report.sample(0, event, "events", float(section[2]))
        elif heading := _HEADING.fullmatch(text):
            unit = heading[1] or ""
        elif (row := _ROW.fullmatch(text)) and unit is not None and bool(unit) == bool(row[5]):
            _row(report, event, unit, row)
        else:
            source.skip(line, text)
    return [report]


def _row(report: Report, event: str, unit: str, row: re.Match[str]) -> None:
    count, each = int(row[1]), None if row[5] is None else int(row[5])
    if unit == "nsec" and each is not None and "hold" not in event:
        report.row(
            "locks",
            role="",
            lock=row[6],
            type=event,
            call_site=row[7],
            contended=count,
            # lockstat prints means alone, no longest wait
            wait_total_ns=count * each,
        )
    else:
        report.sample(0, f"{event}: {row[6]} at {row[7]}", "events", float(count))
        if each is not None:
            report.sample(
                0, f"{event}: {row[6]} at {row[7]}", f"mean_{unit.replace('nsec', 'ns')}", float(each)
            )
