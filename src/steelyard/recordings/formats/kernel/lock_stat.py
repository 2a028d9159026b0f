"""/proc/lock_stat of Linux, versions 0.3 (10 numbers a row) and 0.4 (12): times in microseconds.

The table `locks` has no columns for bounces, shortest times and the time held: they are readings of the lock.
The means of version 0.4 are totals over counts, and are not kept. Below a class, the call sites that waited
come first, those that they waited for second. https://docs.kernel.org/locking/lockstat.html
"""

from __future__ import annotations

import re
from typing import Any

from steelyard.recordings.cells import exact
from steelyard.recordings.report import Report
from steelyard.recordings.source import Source

TITLE = "/proc/lock_stat of Linux, versions 0.3 and 0.4"

_VERSION = re.compile(r"lock_stat version (0\.[34])\b")
_OLD = [
    "con-bounces",
    "contentions",
    "waittime-min",
    "waittime-max",
    "waittime-total",
    "acq-bounces",
    "acquisitions",
    "holdtime-min",
    "holdtime-max",
    "holdtime-total",
]
_NEW = [*_OLD[:5], "waittime-avg", *_OLD[5:], "holdtime-avg"]
_ROW = re.compile(r"\s*(\S.*?):((?:\s+\d+(?:\.\d+)?)+)\s*(\.\.\.)?\s*")
_SITE = re.compile(r"\s*(\S.*?)\s+(\d+)\s+\[<[0-9a-fx]+>\]\s+(\S+)\s*")
# columns that are readings: their metric, and what a unit of them is
_READINGS = {
    "con-bounces": ("contention_bounces", 1),
    "acq-bounces": ("acquisition_bounces", 1),
    "waittime-min": ("wait_min_ns", 1e3),
    "holdtime-min": ("hold_min_ns", 1e3),
    "holdtime-total": ("hold_total_ns", 1e3),
}
_RULER = re.compile(r"\s+-+\s*")
# up to the total of the waits: without it a row of a cut file says nothing
_LEAST = 5


def sniff(head: str) -> bool:
    """Whether the version is given, or the columns are."""
    return bool(_VERSION.search(head)) or "class name    con-bounces" in head


def read(source: Source) -> list[Report]:
    """One report: locks by class, and their call sites."""
    report = Report(source.place(source.first))
    names, rulers = _NEW, 0
    sites: set[tuple[int, str]] = set()
    for number, text in source.lines():
        if found := _VERSION.search(text):
            names = _OLD if found[1] == "0.3" else _NEW
        elif text.lstrip().startswith("class name"):
            names = _NEW if "waittime-avg" in text else _OLD
        elif row := _ROW.fullmatch(text):
            cells, rulers = row[2].split(), 0
            sites.clear()
            whole = len(cells) == len(names) or (row[3] and _LEAST <= len(cells) < len(names))
            if not whole or not _lock(report, row[1], dict(zip(names, cells, strict=False))):
                source.skip(number, text)
        elif _RULER.fullmatch(text):
            rulers += 1
        elif site := _SITE.fullmatch(text):
            # the kernel keeps no times of a call site, and has each site once below a ruler
            metric = {1: "contentions", 2: "waited_for"}.get(rulers)
            if metric is None or (rulers, site[3]) in sites:
                source.skip(number, text)
                rulers = 3
                continue
            sites.add((rulers, site[3]))
            report.sample(0, f"{site[1]} at {site[3]}", metric, float(site[2]))
        elif text.strip() != "All lock debugging disabled":
            source.skip(number, text)
        else:
            report.notices.append(
                ("source-warns", "lock_stat: all lock debugging disabled: its counts stopped")
            )
    return [report]


def _lock(report: Report, name: str, cells: dict[str, str]) -> bool:
    try:
        values = {column: exact(cell) for column, cell in cells.items()}
    except ValueError:
        return False
    for column, (metric, times) in _READINGS.items():
        report.sample(0, name, metric, values[column] * times if column in values else None)
    kind = {"-R": "rwsem:R", "-W": "rwsem:W"}.get(name[-2:], "")
    more: dict[str, Any] = {}
    if "acquisitions" in values:
        more["acquisitions"] = int(values["acquisitions"])
    if "holdtime-total" in values and values["acquisitions"]:
        more["hold_mean_ns"] = 1e3 * values["holdtime-total"] / values["acquisitions"]
        more["hold_max_ns"] = 1e3 * values["holdtime-max"]
    report.row(
        "locks",
        role="",
        lock=name,
        type=kind,
        call_site="",
        contended=int(values["contentions"]),
        wait_total_ns=round(1e3 * values["waittime-total"]),
        wait_max_ns=round(1e3 * values["waittime-max"]),
        **more,
    )
    return True
