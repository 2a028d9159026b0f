"""Colours and type of every chart, light and dark. The palette is Okabe and Ito's (2008)."""

from __future__ import annotations

from steelyard.report.charts.figure import Spec

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', Arial, sans-serif"
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "stroke", "wedge")
DASHES: tuple[list[int], ...] = ([1, 0], [6, 2], [2, 2], [8, 2, 2, 2], [4, 1], [1, 3], [10, 3], [3, 1, 1, 1])

# yellow is darkened on white, blue lightened on black: a line needs 3:1 against its ground
_LIGHT = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#555B66", "#9A8700")
_DARK = ("#3F9FDF", "#E8762B", "#1DB98C", "#DB93BA", "#7CC8F2", "#F0B429", "#A9B1BD", "#F0E442")


def hues(dark: bool = False) -> tuple[str, ...]:
    """The palette, in order."""
    return _DARK if dark else _LIGHT


def config(dark: bool = False) -> Spec:
    """Vega-Lite configuration: what every chart shares."""
    ink, muted, grid = ("#E8EAED", "#9BA3AE", "#2A3038") if dark else ("#1B1F24", "#626B76", "#E7EAEE")
    return {
        "background": None,
        "font": FONT,
        "padding": {"left": 2, "right": 8, "top": 6, "bottom": 4},
        "range": {"category": list(_DARK if dark else _LIGHT)},
        "view": {"stroke": None},
        "axis": {
            "labelColor": muted,
            "titleColor": muted,
            "gridColor": grid,
            "domainColor": grid,
            "tickColor": grid,
            "labelFontSize": 11.5,
            "titleFontSize": 11.5,
            "titleFontWeight": "normal",
            "labelPadding": 6,
            "titlePadding": 8,
            "labelLimit": 260,
            # labels that only just do not overlap read as one number
            "labelSeparation": 8,
        },
        "axisX": {"grid": False, "tickSize": 4},
        "axisY": {"ticks": False, "domain": False, "titleAnchor": "end"},
        "legend": {
            "orient": "top",
            "labelColor": ink,
            "titleColor": muted,
            "labelFontSize": 11.5,
            "titleFontSize": 11.5,
            "titleFontWeight": "normal",
            "symbolStrokeWidth": 2.5,
            "symbolSize": 70,
            "labelLimit": 260,
            "columnPadding": 16,
            "columns": 3,
            "offset": 8,
        },
        "header": {"labelColor": ink, "titleColor": muted},
        "line": {"strokeWidth": 2, "strokeJoin": "round", "strokeCap": "round"},
        "text": {"color": ink, "fontSize": 11.5},
        "rule": {"color": muted},
        "bar": {"cornerRadiusEnd": 2},
        "style": {
            "faint": {"color": muted, "fill": muted, "opacity": 0.14},
            "muted": {"color": muted, "fill": muted},
            "ink": {"color": ink, "fill": ink},
            "inkline": {"color": ink, "stroke": ink},
            "mutedline": {"color": muted, "stroke": muted},
        },
    }
