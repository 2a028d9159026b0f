"""How often each statement ran in a second."""

from __future__ import annotations

from typing import Any

from steelyard import quantities as fmt
from steelyard.analysis.judgement.results import Judgement
from steelyard.bundle.series.columns import Series, rows
from steelyard.report.about.about import About
from steelyard.report.charts.figure import (
    Figure,
    Panel,
    Spec,
    Table,
    nominal,
    plain_axis,
    quantitative,
    slug,
    view,
)
from steelyard.report.charts.theme import Colours, paint
from steelyard.report.presented.ranking import over_points, ranked

_LONGEST_BESIDE = 14


def figure(judgement: Judgement, series: Series, palette: Colours, about: About) -> Figure | None:
    """A panel a statement, a bar an option; whole transactions are left out where others exist."""
    data = [row for row in rows(series.statements) if row["per_s"] is not None]
    names = [str(row["statement"]) for row in data]
    single = [name for name in dict.fromkeys(names) if name != "transaction"] or list(dict.fromkeys(names))
    if not data:
        return None
    order = [row.label for row in ranked(judgement)]
    many = len(order) > 8
    return Figure(
        name="statements",
        title="Statements a second",
        caption=f"Completed without error, geometric mean over runs{over_points(about, ' and ')}.",
        panels=tuple(
            _panel(name, [row for row in data if row["statement"] == name], order, palette) for name in single
        ),
        table=Table(
            ("option", "statement", "per second"),
            tuple((str(row["option"]), str(row["statement"]), fmt.significant(row["per_s"])) for row in data),
        ),
        layout="tabs" if many else "pairs",
        key="none" if palette.by_option else "fill",
    )


def _panel(name: str, data: list[dict[str, Any]], order: list[str], palette: Colours) -> Panel:
    long = max(len(str(row["option"])) for row in data) > _LONGEST_BESIDE
    return Panel(
        f"statements-{slug(name)}",
        name,
        _bars(data, order, palette, above=False),
        _bars(data, order, palette, above=True) if long else None,
    )


def _bars(data: list[dict[str, Any]], order: list[str], palette: Colours, above: bool) -> Spec:
    drawn = [{**row, "text": fmt.significant(row["per_s"])} for row in data]
    shown = [option for option in order if option in {row["option"] for row in data}]
    top = max(row["per_s"] for row in data) or 1
    y = nominal(
        "option",
        None,
        sort=shown,
        scale={"domain": shown},
        axis=None if above else {},
    )
    x = quantitative("per_s", None, scale={"domain": [0, top * 1.2]}, axis=plain_axis(tickCount=5))
    layers: list[Spec] = [
        {
            "mark": {"type": "bar", "height": 12},
            "encoding": {"y": y, "x": x, "color": palette.encode(legend=not palette.by_option)},
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
