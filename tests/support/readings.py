"""Readings of a report, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from steelyard.recordings.samples import Samples


class Reading(NamedTuple):
    at_s: float
    entity: str
    metric: str
    value: float


def readings(samples: Samples) -> Iterator[Reading]:
    """In order of series."""
    for (entity, metric), table in samples.tables.items():
        for at_s, value, _ in table.tolist():
            yield Reading(at_s, entity, metric, value)
