"""Ratios to the baseline with their intervals: where an interval clears the margin, it matters."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard import quantities as fmt
from steelyard.analysis.judgement.results import Comparison, Judgement, Metric
from steelyard.report.about.about import About
from steelyard.report.charts.figure import Figure, Panel, Spec, Table, nominal, quantitative, view
from steelyard.report.charts.theme import Colours, paint
from steelyard.report.presented.ranking import MARKS, comparisons_of, heading, headline, over_points

_OUTCOMES = ("better", "equivalent", "inconclusive", "worse")
_SHAPES = ("triangle-up", "square", "circle", "triangle-down")
# on a phone, longer labels stand above their interval: beside it they would leave no picture
_LONGEST_BESIDE = 14
_MANY = 8
# what goes beyond is cut off at the edge of the picture
_FARTHEST = 20.0


def figure(judgement: Judgement, palette: Colours, about: About) -> Figure | None:
    """A panel for each of throughput, CPU per transaction and p99 that was compared."""
    found = [(metric, comparisons_of(judgement, metric)) for metric in headline(judgement.metrics).judged()]
    compared = [(metric, items) for metric, items in found if items]
    if not compared:
        return None
    margin = compared[0][1][0].margin
    return Figure(
        name="ratios",
        title=f"Compared with {judgement.baseline}",
        caption=(
            f"Ratio to the baseline {judgement.baseline}{over_points(about, ', geometric mean over ')}, with"
            " its 95 % interval, adjusted for the number of options."
            f" Grey band: differences under {margin * 100:.3g} %, which the study calls too "
            "small to matter."
        ),
        panels=tuple(_panel(metric, items, palette) for metric, items in compared),
        table=_table(compared),
        layout="tabs" if len(compared[0][1]) > _MANY else "grid",
        key="none" if palette.by_option else "fill",
    )


def _panel(metric: Metric, items: list[Comparison], palette: Colours) -> Panel:
    long = max(len(item.option) for item in items) > _LONGEST_BESIDE
    return Panel(
        f"ratios-{metric.name}",
        heading(metric),
        _plot(metric, items, palette, above=False),
        _plot(metric, items, palette, above=True) if long else None,
    )


def _plot(metric: Metric, items: list[Comparison], palette: Colours, above: bool) -> Spec:
    named = [(item.option, item) for item in items]
    order = [item.option for item in items]
    row_px = 36 if above else 26 if len(items) <= _MANY else 20
    return intervals(named, order, _direction(metric), palette, row_px, above)


def intervals(
    named: Sequence[tuple[str, Comparison]],
    order: Sequence[str],
    direction: str,
    palette: Colours,
    row_px: int,
    above: bool = False,
) -> Spec:
    """Ratios on a logarithmic axis. named: each with the name of its row; order: of the rows, from above.

    above: names stand over the intervals.
    """
    items = [item for _, item in named]
    rows = paint([{**_row(item), "name": name} for name, item in named], palette)
    margin = items[0].margin
    ends = [e for item in items for e in (item.low, item.ratio, item.high) if 1 / _FARTHEST < e < _FARTHEST]
    low = min([*ends, 1 - 2 * margin]) * 0.985
    high = max([*ends, 1 + 2 * margin]) * 1.015
    axis = None if above else {"domain": False}
    y = nominal("name", None, sort=order, axis=axis, scale={"domain": order, "paddingOuter": 0.3})
    axis_x: Spec = {"tickCount": 6, "format": ".2~f", "grid": True}
    x = quantitative(
        "ratio",
        direction,
        scale={"type": "log", "domain": [low, high], "nice": False},
        axis=axis_x,
    )
    layers = _layers(x, y, margin, palette)
    if above:
        layers.append(
            {
                "mark": {"type": "text", "align": "left", "dy": -12, "style": "ink"},
                "encoding": {"y": y, "text": {"field": "name"}, "x": {"value": 2}},
            }
        )
    return view(len(items) * row_px, layers, rows)


def _layers(x: Spec, y: Spec, margin: float, palette: Colours) -> list[Spec]:
    """The margin as a band, the baseline as a rule, each interval with its estimate."""
    tip = [
        {"field": "name", "type": "nominal", "title": " "},
        {"field": "text", "type": "nominal", "title": "ratio"},
        {"field": "outcome", "type": "nominal"},
        {"field": "p", "type": "nominal"},
        {"field": "blocks", "type": "quantitative"},
    ]
    return [
        {
            "data": {"values": [{"from": 1 - margin, "to": 1 + margin}]},
            "mark": {"type": "rect", "style": "faint"},
            "encoding": {"x": {**x, "field": "from"}, "x2": {"field": "to"}},
        },
        {
            "data": {"values": [{"at": 1}]},
            "mark": {"type": "rule", "style": "mutedline", "strokeDash": [3, 3]},
            "encoding": {"x": {**x, "field": "at"}},
        },
        {
            "mark": {"type": "rule", "strokeWidth": 2.5, "strokeCap": "round", "clip": True},
            "encoding": {
                "y": y,
                "x": {**x, "field": "low"},
                "x2": {"field": "high"},
                "color": palette.encode(legend=not palette.by_option),
                "tooltip": tip,
            },
        },
        {
            "mark": {"type": "point", "filled": True, "size": 90, "opacity": 1},
            "encoding": {
                "y": y,
                "x": x,
                "color": palette.encode(legend=not palette.by_option),
                "shape": {
                    "field": "outcome",
                    "type": "nominal",
                    "scale": {"domain": list(_OUTCOMES), "range": list(_SHAPES)},
                    "legend": None,
                },
                "tooltip": tip,
            },
        },
    ]


def _row(item: Comparison) -> Spec:
    return {
        "option": item.option,
        "ratio": item.ratio,
        "low": item.low,
        "high": item.high,
        "outcome": item.outcome,
        "text": fmt.ratio(item.ratio, item.low, item.high),
        "p": fmt.probability(item.p_value),
        "blocks": item.blocks,
    }


def _direction(metric: Metric) -> str:
    if metric.better == "lower":
        return "← less is better"
    return "more is better →" if metric.better == "higher" else "ratio"


def _table(compared: list[tuple[Metric, list[Comparison]]]) -> Table:
    return Table(
        ("option", "metric", "ratio [95 % interval]", "", "outcome", "p, adjusted", "blocks"),
        tuple(
            (
                item.option,
                heading(metric),
                fmt.ratio(item.ratio, item.low, item.high),
                MARKS[item.outcome],
                item.outcome,
                fmt.probability(item.p_value),
                str(item.blocks),
            )
            for metric, items in compared
            for item in items
        ),
    )
