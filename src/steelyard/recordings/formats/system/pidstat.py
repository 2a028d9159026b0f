"""pidstat of sysstat: CPU, memory, I/O and switches of processes."""

from __future__ import annotations

import re

from steelyard.recordings.formats.system._sysstat import collect
from steelyard.recordings.report import Report
from steelyard.recordings.source import BANNER, Source

TITLE = "pidstat (Linux)"

_HEADING = re.compile(r"^\d\d:\d\d:\d\d(?: [AP]M)?\s+(?:UID|USER)\s+(?:PID|TGID)\s", re.MULTILINE)


def sniff(head: str) -> bool:
    """Whether the banner is there, and a heading of pidstat."""
    return bool(BANNER.search(head) and _HEADING.search(head))


def read(source: Source) -> list[Report]:
    """One report: samples by process."""
    return [collect(source, "system/pidstat")]
