"""sar of sysstat, as text: where the binary file is gone. `sadf -j` of the binary is the better source."""

from __future__ import annotations

import re

from steelyard.recordings.formats.system._sysstat import collect
from steelyard.recordings.report import Report
from steelyard.recordings.source import BANNER, Source

TITLE = "sar (Linux), as text"

_HEADING = re.compile(
    r"^\d\d:\d\d:\d\d(?: [AP]M)?\s+(?:CPU\s+%user|proc/s|runq-sz|kbmemfree|kbswpfree|pgpgin/s|tps|IFACE|DEV|"
    r"INTR|dentunusd|pswpin/s|TTY)",
    re.MULTILINE,
)


def sniff(head: str) -> bool:
    """Whether the banner is there, and a heading of sar."""
    return bool(BANNER.search(head) and _HEADING.search(head))


def read(source: Source) -> list[Report]:
    """One report; the CPU's use is the mean over all readings of `all`."""
    return [collect(source, "system/sar", "cpu_busy_sar")]
