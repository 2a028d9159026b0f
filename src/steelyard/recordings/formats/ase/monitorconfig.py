"""sp_monitorconfig of ASE: how much of each configured resource is in use.

One report of all 'Usage information at date and time'; a cache that fills and is never reclaimed is seen in
a series. A cache's figure is its last. 12.5 gives Reused as Yes or No, 15 and later a count.
"""

import re
from collections.abc import Iterator
from datetime import datetime

from steelyard.recordings.cells import exact, number, slug
from steelyard.recordings.clocks import moment_in
from steelyard.recordings.lines import has
from steelyard.recordings.report import Report
from steelyard.recordings.source import Line, Source
from steelyard.recordings.tables import Row, ruled_rows, take_each

TITLE = "ASE sp_monitorconfig: configured resources in use"

_AT = re.compile(r"Usage information at date and time: ([A-Z][a-z]{2} +\d+ \d{4} +\d+:\d\d[AP]M)")
_DONE = re.compile(r"\(\d+ rows? affected\)|\(return status = 0\)")

# its columns are named
sniff = has(r"(?i)\bnum_free\s+num_active\s+pct_act\b")


def read(source: Source) -> list[Report]:
    """One report of the whole file: samples at the times that the file gives."""
    report = Report(source.place(source.first))
    ats: list[datetime] = []

    def lines() -> Iterator[Line]:
        for line, text in source.lines():
            if "Usage information at" in text:
                found = _AT.search(text)
                if at := found and moment_in(found[1], "%b %d %Y %I:%M%p"):
                    ats.append(at)
                else:
                    source.skip(line, text)
                text = ""
            yield line, text

    def take(row: Row) -> bool:
        # the time above the table
        return _resource(report, (ats[-1] - ats[0]).total_seconds() if ats else 0.0, row)

    other: list[Line] = []
    take_each(source, ruled_rows(lines(), other), take)
    for line, text in other:
        if not sniff(text) and not _DONE.fullmatch(text.strip()):
            source.skip(line, text)
    if ats:
        report.began, report.seconds = ats[0], (ats[-1] - ats[0]).total_seconds() or None
    return [report]


def _resource(report: Report, at_s: float, row: Row) -> bool:
    """Adds a row. num_active has its limit beside it: what is free and what is active together."""
    cells = row.cells
    free, active, most = number(cells["num_free"]), exact(cells["num_active"]), number(cells["max_used"])
    reused = next((cells[name] for name in ("reused", "reuse_cnt") if name in cells), "")
    # isql prints NULL for what has no value
    if not all(cells.values()) or not re.fullmatch(r"Yes|No|NA|NULL|\d*", reused):
        return False
    name = cells["name"]
    report.sample(at_s, name, "num_active", active)
    report.sample(at_s, name, "max_used", most)
    if free is not None and free + active > 0:
        report.sample(at_s, name, "num_active_limit", free + active)
        report.sample(at_s, name, "active_percent", 100 * active / (free + active))
    if reused in ("Yes", "No"):
        report.sample(at_s, name, "reused", float(reused == "Yes"))
    elif reused.isdigit():
        report.sample(at_s, name, "reused_total", float(reused))
    if name.startswith("procedure cache size"):
        report.figure(slug(name) + "_active", active, "pages of 2 KB")
    return True
