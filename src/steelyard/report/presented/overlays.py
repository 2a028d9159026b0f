"""The curves of other bundles, drawn behind those of this one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from steelyard.analysis.judgement.scaling import Scaling


def overlays(others: Sequence[tuple[str, Sequence[Scaling]]]) -> dict[str, list[Any]]:
    """The curves of other bundles, each given by its name and its judgement's scaling."""
    found = [
        (f"{name} {scaling.option}", point.clients, point.throughput_per_s, point.linear)
        for name, scalings in others
        for scaling in scalings
        for point in scaling.points
    ]
    names = ("source", "clients", "tps", "linear")
    return {name: [row[i] for row in found] for i, name in enumerate(names)}
