"""readprofile and kernprof: ticks of the kernel's functions."""

from __future__ import annotations

import re

from steelyard.recordings.lines import Found, Lines, Now, rule

TITLE = "readprofile and kernprof (Linux)"

_TICKS = r"\s*(?P<count>\d+) +(?P<name>[A-Za-z_]\S*) +\d+\.\d+\s*"
_KERNPROF = r"\s*(?P<name>[A-Za-z_]\S*)(?: \[[0-9a-f]+\]:)? +(?P<count>\d+)(?: \( ?[\d.]+%\))?\s*"


def sniff(head: str) -> bool:
    """Whether most of the first lines are ticks, symbol and load, or kernprof's."""
    lines = [line for line in head.split("\n")[:40] if line.strip()]
    fitting = sum(bool(re.fullmatch(_TICKS, line)) for line in lines)
    kernprof = re.search(r"^\s*TOTAL_SAMPLES +\d+", head, re.MULTILINE)
    return bool(kernprof) or fitting > 0.6 * max(1, len(lines))


def _count(now: Now, found: Found) -> None:
    name = found["name"]
    now.numbers[name] += int(found["count"])


read = Lines(
    (rule(_TICKS, _count), rule(_KERNPROF, _count)),
    lambda now: now.report.ticks({str(name): int(count) for name, count in now.numbers.items()}),
)
