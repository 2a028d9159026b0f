"""mpstat of sysstat on Linux."""

from __future__ import annotations

import re

from steelyard.recordings.formats.system._sysstat import collect
from steelyard.recordings.report import Report
from steelyard.recordings.source import BANNER, Source

TITLE = "mpstat (Linux)"

_HEADING = re.compile(r"^\d\d:\d\d:\d\d(?: [AP]M)?\s+CPU\s+%usr\s+%nice", re.MULTILINE)


def sniff(head: str) -> bool:
    """Whether the banner is there, and a heading of mpstat."""
    return bool(BANNER.search(head) and _HEADING.search(head))


def read(source: Source) -> list[Report]:
    """One report; the CPU's use is the mean over all readings of `all`."""
    return [collect(source, "system/mpstat", "cpu_busy_mpstat")]
