"""sp_monitorconfig of ASE: how much of each configured resource is in use.

One report per 'Usage information at date and time'; a cache that fills and is never reclaimed is seen in
a series of them. 12.5 gives Reused as Yes or No, 15 and later a count.
"""

from __future__ import annotations

import re
from datetime import datetime

from steelyard.recordings.cells import number
from steelyard.recordings.clocks import moment_in
from steelyard.recordings.report import Report
from steelyard.recordings.rulers import ruled_tables, slug
from steelyard.recordings.source import Line, Source

TITLE = "ASE sp_monitorconfig: configured resources in use"

_AT = re.compile(r"Usage information at date and time: ([A-Z][a-z]{2} +\d+ \d{4} +\d+:\d\d[AP]M)")
_DONE = re.compile(r"\(\d+ rows? affected\)|\(return status = 0\)")


def sniff(head: str) -> bool:
    """Whether its columns are named."""
    return bool(re.search(r"\bnum_free\s+num_active\s+pct_act\b", head, re.IGNORECASE))


def read(source: Source) -> list[Report]:
    """One report of the whole file: samples at the times that the file gives."""
    report = Report(source.place(source.first))
    blocks: list[tuple[datetime | None, list[Line]]] = [(None, [])]
    for number_, text in source.lines():
        if found := _AT.search(text):
            blocks.append((moment_in(found[1], "%b %d %Y %I:%M%p"), []))
        elif "Usage information at" in text:
            source.skip(number_, text)
            blocks.append((None, []))
        else:
            blocks[-1][1].append((number_, text))
    times = [at for at, _ in blocks if at is not None]
    report.began = min(times, default=None)
    for at, lines in blocks:
        at_s = (at - report.began).total_seconds() if at and report.began else 0.0
        other: list[Line] = []
        for table in ruled_tables(lines, other):
            for number_, text, cells in table.rows:
                # isql prints NULL for what has no value
                if not all(cells.values()) or not _resource(report, at_s, cells):
                    source.skip(number_, text)
        for number_, text in other:
            if not sniff(text) and not _DONE.fullmatch(text.strip()):
                source.skip(number_, text)
    if len(times) > 1 and report.began:
        report.seconds = (max(times) - report.began).total_seconds()
    return [report]


def _resource(report: Report, at_s: float, cells: dict[str, str]) -> bool:
    """Adds a row. num_active has its limit beside it: what is free and what is active together."""
    try:
        free, active = number(cells["num_free"]), number(cells["num_active"])
        most = number(cells["max_used"])
    except (KeyError, ValueError):
        return False
    name = cells.get("name", "").strip()
    if not name or active is None:
        return False
    report.sample(at_s, name, "num_active", active)
    report.sample(at_s, name, "max_used", most)
    if free is not None and free + active > 0:
        report.sample(at_s, name, "num_active_limit", free + active)
        report.sample(at_s, name, "active_percent", 100 * active / (free + active))
    for column in ("reused", "reuse_cnt"):
        cell = cells.get(column, "")
        if cell and cell not in ("Yes", "No", "NA", "NULL") and not cell.isdigit():
            return False
        if cell in ("Yes", "No"):
            report.sample(at_s, name, "reused", float(cell == "Yes"))
        elif cell.isdigit():
            report.sample(at_s, name, "reused_total", float(cell))
    if name.startswith("procedure cache size"):
        report.figure(slug(name) + "_active", active, "pages of 2 KB")
    return True
