"""Latency from the median to the rarest: one curve an option."""

from __future__ import annotations

from typing import Any

from steelyard import quantities as fmt
from steelyard.bundle.series.columns import Series, rows
from steelyard.report.about.about import About
from steelyard.report.charts.figure import Figure, Panel, Spec, Table, quantitative, view
from steelyard.report.charts.theme import Colours, paint

# the axis counts one transaction in n: 2 is the median, 100 the 99th percentile
_PERCENT = (
    "datum.value == 1 ? '0 %' : datum.value == 2 ? '50 %' : datum.value == 10 ? '90 %'"
    " : datum.value == 100 ? '99 %' : datum.value == 1000 ? '99.9 %' : datum.value == 10000 ? '99.99 %' : ''"
)
_IN_TABLE = (0.5, 0.9, 0.95, 0.99, 0.999)


def figure(series: Series, palette: Colours, about: About) -> Figure | None:
    """A panel a point (number of clients)."""
    data = [row for row in rows(series.latency) if row["ns"] is not None and 0 <= row["quantile"] < 1]
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
                curves([row for row in data if int(row["clients"]) == clients], palette, f"{about.work_is}s"),
            )
            for clients in reversed(points)
        ),
        table=_table(data, about.points_are),
        layout="tabs",
        key="line",
    )


def curves(data: list[dict[str, Any]], palette: Colours, of: str, unit: str = "ms") -> Spec:
    """A line an option over quantiles of which one in 2, 10, 100 ... are slower; both axes log."""
    unit_ns = {"ms": 1e6, "µs": 1e3}[unit]
    drawn = [{**row, "one_in": 1 / (1 - row["quantile"]), "time": row["ns"] / unit_ns} for row in data]
    positive = [row["time"] for row in drawn if row["time"] > 0] or [1.0]
    low, high = min(positive), max(positive)
    last = max(row["one_in"] for row in drawn)
    crowded = not palette.by_option
    return view(
        260,
        [
            {
                "mark": {"type": "line", "interpolate": "monotone", "opacity": 0.55 if crowded else 1},
                "encoding": {
                    "x": quantitative(
                        "one_in",
                        f"share of {of} that were quicker",
                        scale={"type": "log", "domain": [1, last], "nice": False},
                        axis={
                            "values": [n for n in (1, 2, 10, 100, 1000, 10000) if n <= last * 1.001],
                            "labelExpr": _PERCENT,
                            "grid": True,
                        },
                    ),
                    "y": quantitative(
                        "time",
                        unit,
                        scale={"type": "log", "nice": False, "domain": [low * 0.8, high * 1.25]},
                        axis={"format": ".3~f", "tickCount": 6},
                    ),
                    "detail": {"field": "option"},
                    "color": palette.encode(),
                    **({} if crowded else {"strokeDash": palette.dash()}),
                    "tooltip": [
                        {"field": "option", "type": "nominal"},
                        {"field": "quantile", "type": "quantitative", "format": ".3~%"},
                        {"field": "time", "type": "quantitative", "title": unit, "format": ".3~r"},
                    ],
                },
            }
        ],
        paint(drawn, palette),
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
