"""Times from the median to the rarest: one curve per option."""

from __future__ import annotations

from typing import Any

from steelyard.report.charts.domain import domain_of
from steelyard.report.charts.figure import Spec
from steelyard.report.charts.marks import colour, dash, dots, paint, quantitative, view
from steelyard.report.presented.palette import Palette

# the axis counts one transaction in n: 2 is the median, 100 the 99th percentile
_PERCENT = (
    "datum.value == 1 ? '0 %' : datum.value == 2 ? '50 %' : datum.value == 10 ? '90 %'"
    " : datum.value == 100 ? '99 %' : datum.value == 1000 ? '99.9 %' : datum.value == 10000 ? '99.99 %' : ''"
)


def quantile_curves(data: list[dict[str, Any]], palette: Palette, of: str, unit: str = "ms") -> Spec:
    """One line per option over quantiles of which one in 2, 10, 100 ... are slower; both axes log.

    data: with one time above 0 at least.
    """
    unit_ns = {"ms": 1e6, "µs": 1e3}[unit]
    drawn = [
        {**row, "one_in": 1 / (1 - row["quantile"]), "time": row["ns"] / unit_ns}
        for row in data
        if row["ns"] > 0
    ]
    last = max(row["one_in"] for row in drawn)
    crowded = not palette.by_option
    encoding: Spec = {
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
            scale=domain_of((row["time"] for row in drawn), log=True).scale,
            axis={"format": ".3~f", "tickCount": 6},
        ),
        "detail": {"field": "option"},
        "color": colour(palette),
    }
    tip = [
        {"field": "option", "type": "nominal"},
        {"field": "quantile", "type": "quantitative", "format": ".3~%"},
        {"field": "time", "type": "quantitative", "title": unit, "format": ".3~r"},
    ]
    line: Spec = {
        "mark": {"type": "line", "opacity": 0.55 if crowded else 1},
        "encoding": {**encoding, **({} if crowded else {"strokeDash": dash(palette)})},
    }
    return view(260, [line, dots(encoding, tip, seen=False)], paint(drawn, palette))
