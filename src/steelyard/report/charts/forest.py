"""Ratios to the baseline with their intervals, one below the other, beside the margin as a band."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard import quantities as fmt
from steelyard.analysis.judgement.results import Comparison
from steelyard.report.charts.domain import arrows, domain_of, drawn_interval
from steelyard.report.charts.figure import Spec
from steelyard.report.charts.marks import colour, nominal, paint, quantitative, view
from steelyard.report.presented.marks import WORDS
from steelyard.report.presented.palette import Palette

# any other standing, such as a leaning, proves nothing: a circle
_STANDINGS = ("better", "equivalent", "inconclusive", "worse")
_SHAPES = ("triangle-up", "square", "circle", "triangle-down")


def forest(
    named: Sequence[tuple[str, Comparison]],
    order: Sequence[str],
    direction: str,
    palette: Palette,
    row_px: int,
    above: bool = False,
) -> Spec:
    """Ratios on a logarithmic axis. named: each with the name of its row; order: of the rows, from above.

    above: names stand over the intervals.
    """
    items = [item for _, item in named]
    margin = items[0].margin
    shown = domain_of(
        [1 - 2 * margin, 1 + 2 * margin, *(item.ratio for item in items)],
        [end for item in items for end in drawn_interval(item.low, item.high)],
        log=True,
    )
    rows = paint([shown.clip({**_row(item), "name": name}) for name, item in named], palette)
    axis = None if above else {"domain": False, "labelPadding": 10}
    y = nominal("name", None, sort=order, axis=axis, scale={"domain": order, "paddingOuter": 0.3})
    x = quantitative("ratio", direction, scale=shown.scale, axis=shown.ratio_axis)
    layers = _layers(x, y, margin, palette, rows)
    if above:
        layers.append(
            {
                "mark": {"type": "text", "align": "left", "dy": -12, "style": "ink"},
                "encoding": {"y": y, "text": {"field": "name"}, "x": {"value": 2}},
            }
        )
    return view(len(items) * row_px, layers, rows)


def _layers(x: Spec, y: Spec, margin: float, palette: Palette, rows: Sequence[Spec]) -> list[Spec]:
    """The margin as a band, the baseline as a rule, each interval with its estimate."""
    coloured = colour(palette, legend=not palette.by_option)
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
            "mark": {"type": "rule", "strokeWidth": 2.5, "strokeCap": "round"},
            "encoding": {
                "y": y,
                "x": {**x, "field": "low"},
                "x2": {"field": "high"},
                "color": coloured,
                "tooltip": tip,
            },
        },
        {
            "mark": {"type": "point", "filled": True, "size": 90, "opacity": 1},
            "encoding": {
                "y": y,
                "x": x,
                "color": coloured,
                "shape": {
                    "field": "shape",
                    "type": "nominal",
                    "scale": {"domain": list(_STANDINGS), "range": list(_SHAPES)},
                    "legend": None,
                },
                "tooltip": tip,
            },
        },
        *arrows(rows, "x", {"x": x, "y": y, "color": coloured, "tooltip": tip}),
    ]


def _row(item: Comparison) -> Spec:
    low, high = drawn_interval(item.low, item.high)
    return {
        "option": item.option,
        "ratio": item.ratio,
        "low": low,
        "high": high,
        "outcome": WORDS[item.standing],
        "shape": item.standing if item.standing in _STANDINGS else "inconclusive",
        "text": fmt.ratio(item.ratio, item.low, item.high),
        "p": fmt.probability(item.p_value),
        "blocks": item.blocks,
    }
