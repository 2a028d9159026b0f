"""readprofile and kernprof: ticks of the kernel's functions."""

from __future__ import annotations

import re

from steelyard.recordings.report import Report
from steelyard.recordings.source import Source

TITLE = "readprofile and kernprof (Linux)"

_TICKS = re.compile(r"\s*(\d+) +([A-Za-z_]\S*) +(\d+\.\d+)\s*")
_KERNPROF = re.compile(r"\s*([A-Za-z_]\S*)(?: \[[0-9a-f]+\]:)? +(\d+)(?: \( ?[\d.]+%\))?\s*")
_USER, _IDLE, _TOTALS = "USER", ("default_idle", "poll_idle", "cpu_idle"), ("total", "TOTAL_SAMPLES")
_REST = "functions not listed"


def sniff(head: str) -> bool:
    """Whether most of the first lines are ticks, symbol and load, or kernprof's."""
    lines = [line for line in head.split("\n")[:40] if line.strip()]
    fitting = sum(bool(_TICKS.fullmatch(line)) for line in lines)
    return bool(re.search(r"^\s*TOTAL_SAMPLES +\d+", head, re.MULTILINE)) or fitting > 0.6 * max(
        1, len(lines)
    )


def read(source: Source) -> list[Report]:
    """One report: samples by function; the rest of the total becomes one row."""
    report = Report(source.place(source.first))
    samples: dict[str, int] = {}
    for number, text in source.lines():
        if found := _TICKS.fullmatch(text):
            name, count = found[2], int(found[1])
        elif found := _KERNPROF.fullmatch(text):
            name, count = found[1], int(found[2])
        else:
            source.skip(number, text)
            continue
        samples[name] = samples.get(name, 0) + count
    total = max((samples.pop(name, 0) for name in _TOTALS), default=0)
    if rest := max(0, total - sum(samples.values())):
        samples[_REST] = rest
    for name, count in samples.items():
        stack = name if name == _USER else f"{name}_[k]"
        report.row("profile", role="idle" if name in _IDLE else "", stack=stack, samples=count)
    return [report]
