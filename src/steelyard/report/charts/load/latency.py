"""Latency from the median to the rarest: one curve per option."""

from __future__ import annotations

from typing import Any

from steelyard import quantities as fmt
from steelyard.bundle.series.columns import rows
from steelyard.report.charts.figure import Figure, Panel
from steelyard.report.charts.quantiles import quantile_curves
from steelyard.report.presented.presented import Presented
from steelyard.report.text_table import Table

_IN_TABLE = (0.5, 0.9, 0.95, 0.99, 0.999)


def figure(presented: Presented) -> Figure | None:
    """One panel per load point."""
    about, palette = presented.about, presented.palette
    data = [
        row for row in rows(presented.series.latency) if row["ns"] is not None and 0 <= row["quantile"] < 1
    ]
    if not data:
        return None
    points = sorted({int(row["clients"]) for row in data})
    return Figure(
        name="latency",
        title="Latency",
        caption=(
            f"How long {about.work_is}s took: half were quicker than the value at 50 %, one in a hundred was "
            "slower than the value at 99 %. Geometric mean over runs of the runs' own percentiles."
        ),
        panels=tuple(
            Panel(
                f"latency-{clients}",
                fmt.count(clients, about.point_is, about.points_are),
                quantile_curves(
                    [row for row in data if int(row["clients"]) == clients], palette, f"{about.work_is}s"
                ),
            )
            for clients in reversed(points)
            if any(row["ns"] > 0 for row in data if int(row["clients"]) == clients)
        ),
        table=_table(data, about.points_are),
        layout="tabs",
        key="dash",
    )


def _table(data: list[dict[str, Any]], points_are: str) -> Table:
    curves: dict[tuple[str, int], dict[float, float]] = {}
    for row in data:
        curves.setdefault((str(row["option"]), int(row["clients"])), {})[row["quantile"]] = row["ns"]
    return Table(
        ("option", points_are, *(f"p{quantile * 100:g}" for quantile in _IN_TABLE)),
        tuple(
            (option, str(clients), *(_nearest(curve, quantile) for quantile in _IN_TABLE))
            for (option, clients), curve in curves.items()
        ),
    )


def _nearest(curve: dict[float, float], quantile: float) -> str:
    near = min(curve, key=lambda known: abs(known - quantile))
    close = abs(near - quantile) <= (1 - quantile) * 0.05 + 1e-9
    return fmt.quantity(curve[near], "ns") if close else fmt.MISSING
