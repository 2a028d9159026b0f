"""SPECjbb2005: throughput in bops and the spread of its threads, as text or raw properties."""

from __future__ import annotations

import re

from steelyard.recordings.cells import exact
from steelyard.recordings.report import Report
from steelyard.recordings.source import Source

TITLE = "SPECjbb2005: text and raw properties"

_LINES = (
    (re.compile(r".*throughput = +([\d.]+) SPECjbb2005 bops.*"), "bops", "bops", "higher"),
    (re.compile(r".*Difference \(thread spread\) = +[\d.]+ \(([\d.]+)%\).*"), "thread_spread", "%", "lower"),
    (
        re.compile(r".*Minimum transactions by a warehouse = +(\d+)(?! *\d).*"),
        "warehouse_least",
        "",
        "neither",
    ),
    (
        re.compile(r".*Maximum transactions by a warehouse = +(\d+)(?! *\d).*"),
        "warehouse_most",
        "",
        "neither",
    ),
)
_PROPERTY = re.compile(r"((?:result|input|config|global)\.\S+?)=(.*)")


def sniff(head: str) -> bool:
    """Whether its result or its properties are there."""
    return "SPECjbb2005 bops" in head or bool(re.search(r"^result\.test\d+\.company\.", head, re.MULTILINE))


def read(source: Source) -> list[Report]:
    """One report per point (a number of warehouses)."""
    report = Report("drivers/specjbb2005", source.place(source.first))
    found = [report]
    for line, text in source.lines():
        for pattern, name, unit, better in _LINES:
            if row := pattern.fullmatch(text):
                report.figure(name, exact(row[1]), unit, better, pooled=True)  # pyright: ignore[reportArgumentType]
                if name == "bops":
                    report = Report("drivers/specjbb2005", source.place(line))
                    found.append(report)
                break
        else:
            row = _PROPERTY.fullmatch(text.strip())
            if row and re.fullmatch(r"-?\d+(\.\d+)?", row[2].strip()):
                report.sample(0, "properties", row[1], float(row[2]))
            elif not (row or re.fullmatch(r"\s*Calculating results[ .]*", text)):
                source.skip(line, text)
    return [one for one in found if one.understood]
