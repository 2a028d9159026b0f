"""How often each statement ran, per second."""

from __future__ import annotations

from typing import Any

from steelyard import quantities as fmt
from steelyard.bundle.series.columns import rows
from steelyard.report.charts.domain import domain_of
from steelyard.report.charts.figure import Figure, Panel, Spec, slug
from steelyard.report.charts.marks import colour, nominal, paint, plain_axis, quantitative, view
from steelyard.report.presented.palette import Palette
from steelyard.report.presented.presented import Presented
from steelyard.report.text_table import Table

_LONGEST_BESIDE = 14
_STATEMENTS_MAX = 16  # of more the kinds of transactions alone are drawn


def figure(presented: Presented) -> Figure | None:
    """One panel per statement, one bar per option; whole transactions are left out where others exist."""
    palette = presented.palette
    data = [row for row in rows(presented.series.statements) if row["per_s"] is not None]
    names = [str(row["statement"]) for row in data]
    single = [name for name in dict.fromkeys(names) if name != "transaction"] or list(dict.fromkeys(names))
    kinds = [name for name in single if name.startswith("transaction ")]
    few = kinds if kinds and len(single) > _STATEMENTS_MAX else single
    if not data:
        return None
    order = [row.label for row in presented.ranking]
    many = len(order) > 8
    return Figure(
        name="statements",
        title="Statements per second",
        caption=f"Completed without error, geometric mean over runs{presented.about.over(' and ')}."
        + (" The numbers have every statement." if few != single else ""),
        panels=tuple(
            _panel(name, [row for row in data if row["statement"] == name], order, palette) for name in few
        ),
        table=Table(
            ("option", "statement", "per second"),
            tuple((str(row["option"]), str(row["statement"]), fmt.significant(row["per_s"])) for row in data),
        ),
        layout="tabs" if many else "pairs",
        key="none" if palette.by_option else "fill",
    )


def _panel(name: str, data: list[dict[str, Any]], order: list[str], palette: Palette) -> Panel:
    long = max(len(str(row["option"])) for row in data) > _LONGEST_BESIDE
    return Panel(
        f"statements-{slug(name)}",
        name,
        _bars(data, order, palette, above=False),
        _bars(data, order, palette, above=True) if long else None,
    )


def _bars(data: list[dict[str, Any]], order: list[str], palette: Palette, above: bool) -> Spec:
    drawn = [{**row, "text": fmt.significant(row["per_s"])} for row in data]
    shown = [option for option in order if option in {row["option"] for row in data}]
    # room for the numbers beside the bars
    scale = domain_of((row["per_s"] for row in data), pad=0.2).scale
    y = nominal(
        "option",
        None,
        sort=shown,
        scale={"domain": shown},
        axis=None if above else {},
    )
    x = quantitative("per_s", None, scale=scale, axis=plain_axis(tickCount=5))
    layers: list[Spec] = [
        {
            "mark": {"type": "bar", "height": 12},
            "encoding": {
                "y": y,
                "x": x,
                "color": colour(palette, legend=not palette.by_option),
                "tooltip": [
                    {"field": "option", "type": "nominal"},
                    {"field": "text", "type": "nominal", "title": "per second"},
                ],
            },
        },
        {
            "mark": {"type": "text", "align": "left", "dx": 5, "style": "ink"},
            "encoding": {"y": y, "x": x, "text": {"field": "text"}},
        },
    ]
    if above:
        layers.append(
            {
                "mark": {"type": "text", "align": "left", "dy": -13, "style": "ink"},
                "encoding": {"y": y, "x": {"value": 2}, "text": {"field": "option"}},
            }
        )
    return view(len(shown) * (36 if above else 24 if len(shown) <= 8 else 18), layers, paint(drawn, palette))
