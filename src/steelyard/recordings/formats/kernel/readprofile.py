"""readprofile and kernprof: ticks of the kernel's functions."""

import re

from steelyard.recordings.lines import Found, Lines, Now, rule
from steelyard.recordings.report import Report
from steelyard.recordings.source import Source

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


_LINES = Lines(
    (
        rule(r"\s*(?P<count>\d+) +(?P<name>total) +\d+\.\d+\s*", _count, once="total"),
        rule(_TICKS, _count),
        rule(r"\s*(?P<name>TOTAL_SAMPLES) +(?P<count>\d+)\s*", _count, once="samples"),
        rule(_KERNPROF, _count),
    ),
    lambda now: now.report.ticks({str(name): int(count) for name, count in now.numbers.items()}),
    after=("total", r"\s*\d+ "),
)


def read(source: Source) -> list[Report]:
    """One report: ticks, between the first and the last capture where there are several."""
    first, *later = (report for report in _LINES(source) if report.rows)
    captures = [{row["stack"]: row["samples"] for row in one.rows["profile"]} for one in (first, *later)]
    if later:
        first.rows.clear()
        for capture in captures:
            # functions without ticks are not printed
            for stack in dict.fromkeys(name for one in captures for name in one):
                first.stack(stack, capture.get(stack, 0))
        first.differences("profile", "the kernel's profile")
    return [first]
