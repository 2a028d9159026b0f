"""Times from the median to the rarest: one curve per option."""

from __future__ import annotations

from typing import Any

from steelyard.report.charts.figure import Spec
from steelyard.report.charts.marks import colour, dash, paint, quantitative, view
from steelyard.report.presented.palette import Palette

# the axis counts one transaction in n: 2 is the median, 100 the 99th percentile
_PERCENT = (
    "datum.value == 1 ? '0 %' : datum.value == 2 ? '50 %' : datum.value == 10 ? '90 %'"
    " : datum.value == 100 ? '99 %' : datum.value == 1000 ? '99.9 %' : datum.value == 10000 ? '99.99 %' : ''"
)


def quantile_curves(data: list[dict[str, Any]], palette: Palette, of: str, unit: str = "ms") -> Spec:
    """One line per option over quantiles of which one in 2, 10, 100 ... are slower; both axes log."""
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
                    "color": colour(palette),
                    **({} if crowded else {"strokeDash": dash(palette)}),
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
