"""readprofile and kernprof: ticks of the kernel's functions."""

from __future__ import annotations

import re

from steelyard.recordings.lines import Found, Lines, Now, rule

TITLE = "readprofile and kernprof (Linux)"

_TICKS = r"\s*(?P<count>\d+) +(?P<name>[A-Za-z_]\S*) +\d+\.\d+\s*"
_KERNPROF = r"\s*(?P<name>[A-Za-z_]\S*)(?: \[[0-9a-f]+\]:)? +(?P<count>\d+)(?: \( ?[\d.]+%\))?\s*"
_USER, _IDLE, _TOTALS = "USER", ("default_idle", "poll_idle", "cpu_idle"), ("total", "TOTAL_SAMPLES")
_REST = "functions not listed"


def sniff(head: str) -> bool:
    """Whether most of the first lines are ticks, symbol and load, or kernprof's."""
    lines = [line for line in head.split("\n")[:40] if line.strip()]
    fitting = sum(bool(re.fullmatch(_TICKS, line)) for line in lines)
    kernprof = re.search(r"^\s*TOTAL_SAMPLES +\d+", head, re.MULTILINE)
    return bool(kernprof) or fitting > 0.6 * max(1, len(lines))


def _count(now: Now, found: Found) -> None:
    name = found["name"]
    now.numbers[name] = now.numbers.get(name, 0) + int(found["count"])


def _close(now: Now) -> None:
    """The rest of the total becomes one row."""
    samples = {str(name): int(count) for name, count in now.numbers.items()}
    total = max((samples.pop(name, 0) for name in _TOTALS), default=0)
    if rest := max(0, total - sum(samples.values())):
        samples[_REST] = rest
    for name, count in samples.items():
        stack = name if name == _USER else f"{name}_[k]"
        now.report.row("profile", role="idle" if name in _IDLE else "", stack=stack, samples=count)


read = Lines((rule(_TICKS, _count), rule(_KERNPROF, _count)), _close)
