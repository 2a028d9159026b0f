"""The published result-cache study, as the catalogue has it."""

from __future__ import annotations

import csv
from importlib import resources

T2, I7 = "UltraSPARC T2", "Core i7 980X"


def rows(name: str, platform: str) -> list[dict[str, str]]:
    text = resources.files("steelyard.catalog").joinpath("published", name).read_text(encoding="utf-8")
    return [row for row in csv.DictReader(text.splitlines()) if row["platform"] == platform]


def lookups_per_s(platform: str, access: str, most: int = 12) -> tuple[list[int], list[float]]:
    """Processes and lookups a second."""
    found = [
        (int(row["processes"]), float(row["lookups_per_s"]))
        for row in rows("result-cache-scaling.csv", platform)
        if row["access"] == access and int(row["processes"]) <= most
    ]
    return [n for n, _ in found], [x for _, x in found]


def latch(platform: str, column: str) -> list[int]:
    """A counter of the result cache latch for 1..12 processes."""
    return [int(row[column]) for row in rows("result-cache-latch.csv", platform)]
