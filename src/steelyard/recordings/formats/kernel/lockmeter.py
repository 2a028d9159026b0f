"""lockmeter's `lockstat` of Linux 2.4 and 2.6: spinlocks and reader-writer locks, with their callers.

The number of waits is the printed share of all acquisitions: a ratio of rounded figures. Lines may
be wrapped: a row that ends early is read together with the next line.
"""

from __future__ import annotations

import re
from typing import Any

from steelyard.recordings.cells import exact, time_ns
from steelyard.recordings.report import Report
from steelyard.recordings.source import Source

TITLE = "lockmeter's lockstat (Linux 2.4, 2.6)"

_T = r"[\d.]+(?:us|ms|s)?"
_P = r"[\d.]+\s?%"
# of a lock or a call site; no share, as a damaged one before it would be
_NAME = r"(?P<name>[A-Za-z_*\[&][^%]*[^%\s])"
# NOWAIT SPIN RJECT, of all acquisitions; an older layout has none of them
_SHARES = rf"(?:\s+{_P}(?:\s+(?P<spin>{_P})(?:\s+{_P})?)?)?"
_ROW = re.compile(
    rf"\s*(?:(?P<util>{_P}|[\d.]+(?= +[\d.]+%))\s+)?(?P<con>{_P})\s+(?P<hold>{_T})"
    rf"(?:\(\s*(?P<hold_max>{_T})\))?\s+(?P<wait>{_T})(?:\(\s*(?P<wait_max>{_T})\))?"
    rf"(?:\(\s*(?P<cpu>[\d.]+)\s*%\))?\s+(?:{_T}(?:\(\s*{_T}\))?\s+)?"
    rf"(?P<total>\d+){_SHARES}(?:\(\s*{_P}\))?\s+{_NAME}\s*"
)
_READS = re.compile(
    rf"\s*(?:(?P<util>{_P})\s+)?(?P<con>{_P})\s+(?P<hold>{_T})\s+(?P<readers>\d+)\s+(?P<busy>{_T})"
    rf"(?:\(\s*{_T}\))?\s+(?P<wait>{_T})(?:\(\s*(?P<wait_max>{_T})\))?(?:\(\s*(?P<cpu>[\d.]+)\s*%\))?\s+"
    rf"(?P<total>\d+){_SHARES}\s+{_NAME}\s*"
)
_SECTION = re.compile(r"\s*(SPINLOCKS|RWLOCK READS|RWLOCK WRITES)\b")
_KNOWN = re.compile(r"\s*(UTIL|TOT/SEC|System:|Total counts|All \(\d+\) CPUs|Start time|End +time|_+|- -)")
_DELTA = re.compile(r"Delta Time: ([\d.]+) sec")
_OVERFLOW = re.compile(r"overflowed|may be in error", re.IGNORECASE)
_TYPES = {"SPINLOCKS": "spinlock", "RWLOCK READS": "rwlock:R", "RWLOCK WRITES": "rwlock:W"}


def sniff(head: str) -> bool:
    """Whether a table of spinlocks begins."""
    return bool(re.search(r"^[>\s]*SPINLOCKS\s+HOLD\s+WAIT", head, re.MULTILINE))


def read(source: Source) -> list[Report]:
    """One report: its locks."""
    report = Report(source.place(source.first))
    section, name_at, parent, begun = "SPINLOCKS", 0, "", ""
    for number, text in source.lines():
        if found := _DELTA.search(text):
            report.seconds = float(found[1])
        if begun and (_SECTION.match(text) or _OVERFLOW.search(text) or not text.strip()):
            source.skip(number - 1, begun)
            begun = ""
        if found := _SECTION.match(text):
            section = found[1]
        elif re.search(r"\bNAME\s*$", text) and "TOTAL" in text:
            name_at = text.rindex("NAME")
        elif _OVERFLOW.search(text):
            report.notices.append(("source-warns", f"lockmeter warns: {text.strip()}"))
        elif text.lstrip().startswith("+0x") and report.rows.get("locks"):
            _continue(report.rows["locks"][-1], text.strip())
        elif row := (_READS if section == "RWLOCK READS" else _ROW).fullmatch(begun + text):
            child = not begun and row.start("name") > name_at + 1 and bool(parent)
            parent = parent if child else row["name"]
            if not _lock(report, section, row, parent if child else ""):
                source.skip(number, text)
            begun = ""
        elif re.match(r"\s*[\d.]+ ?%", text):
            # a wrapped row begins
            if begun:
                source.skip(number - 1, begun)
            begun = text.rstrip() + " "
        else:
            if begun:
                source.skip(number - 1, begun)
                begun = ""
            if not _KNOWN.match(text) and not _DELTA.search(text):
                source.skip(number, text)
    if begun:
        source.skip(source.first, begun)
    return [report]


def _continue(row: dict[str, Any], rest: str) -> None:
    at = "call_site" if row["call_site"] else "lock"
    row[at] += rest


def _lock(report: Report, section: str, row: re.Match[str], parent: str) -> bool:
    try:
        total = int(row["total"])
        contended = round(total * exact(row["con"].rstrip("% ")) / 100)
        # an attempt that was rejected did not wait: the mean is of those that spun
        waited = round(total * exact((row["spin"] or row["con"]).rstrip("% ")) / 100)
        wait, wait_max = time_ns(row["wait"]) or 0.0, time_ns(row["wait_max"] or "0") or 0.0
        values: dict[str, Any] = {
            "wait_cpu_percent": exact(row["cpu"]) if row["cpu"] else None,
            "hold_mean_ns": time_ns(row["hold"]),
        }
        if row["util"] and row["util"].endswith("%"):
            values["utilisation_percent"] = exact(row["util"].rstrip("% "))
        if "hold_max" in row.groupdict() and row["hold_max"]:
            values["hold_max_ns"] = time_ns(row["hold_max"])
    except ValueError:
        return False
    report.row(
        "locks",
        role="",
        lock=parent or row["name"],
        type="" if row["name"].startswith("*") else _TYPES[section],
        call_site=row["name"] if parent else "",
        acquisitions=total,
        contended=contended,
        wait_total_ns=round(waited * wait),
        wait_max_ns=round(wait_max),
        **values,
    )
    return True
