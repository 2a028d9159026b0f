"""readprofile and kernprof (Linux). Ticks of the kernel's functions."""

import re

from steelyard.recordings.lines import Found, Lines, Now, rule

_TICKS = r"\s*(?P<count>\d+) +(?P<name>[A-Za-z_]\S*) +\d+\.\d+\s*"
_KERNPROF = r"\s*(?P<name>[A-Za-z_]\S*)(?: \[[0-9a-f]+\]:)? +(?P<count>\d+)(?: \( ?[\d.]+%\))?\s*"


def sniff(head: str) -> bool:
    """Whether most of the first lines are ticks, symbol and load, or kernprof's."""
    lines = [line for line in head.split("\n")[:40] if line.strip()]
    fitting = sum(bool(re.fullmatch(_TICKS, line)) for line in lines)
    kernprof = re.search(r"^\s*TOTAL_SAMPLES +\d+", head, re.MULTILINE)
    return bool(kernprof) or fitting > 0.6 * len(lines)


def _count(now: Now, found: Found) -> None:
    n, total = now.numbers, found["name"] in ("total", "TOTAL_SAMPLES")
    # kernprof begins with its total, as a sorted readprofile does; readprofile ends with it
    n["leads"] += total and not now.counts
    n["capture"] += total and n["leads"]
    now.counts[found["name"], n["capture"]] += int(found["count"])
    n["capture"] += total and not n["leads"]
    n["totals"] += total


def _close(now: Now) -> None:
    """Ticks between the first and the last capture where there are several."""
    counts, report, n = now.counts, now.report, now.numbers
    # where it is sorted otherwise, the only total stands among its functions
    if n["totals"] == 1:
        counts = {(name, 0.0): count for (name, _), count in counts.items()}
    captures = sorted({at for _, at in counts})
    for at in captures:
        # functions without ticks are not printed
        report.ticks({name: counts[name, at] for name, _ in counts})
    if len(captures) > 1:
        report.differences("profile", "the kernel's profile")


read = Lines(
    (
        rule(r"\s*(?P<count>\d+) +(?P<name>total) +\d+\.\d+\s*", _count),
        rule(_TICKS, _count),
        rule(r"\s*(?P<name>TOTAL_SAMPLES) +(?P<count>\d+)\s*", _count),
        rule(_KERNPROF, _count),
    ),
    _close,
)
