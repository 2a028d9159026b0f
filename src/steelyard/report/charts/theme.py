"""Colours and type of every chart, light and dark. The palette is Okabe and Ito's (2008)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.analysis.judgement.results import Judgement
from steelyard.report.about.about import About
from steelyard.report.charts.figure import Spec
from steelyard.report.presented.ranking import main_factor

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', Arial, sans-serif"
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "stroke", "wedge")
DASHES: tuple[list[int], ...] = ([1, 0], [6, 2], [2, 2], [8, 2, 2, 2], [4, 1], [1, 3], [10, 3], [3, 1, 1, 1])
MOST_COLOURS = 8

# yellow is darkened on white, blue lightened on black: a line needs 3:1 against its ground
_LIGHT = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#555B66", "#9A8700")
_DARK = ("#3F9FDF", "#E8762B", "#1DB98C", "#DB93BA", "#7CC8F2", "#F0B429", "#A9B1BD", "#F0E442")


@dataclass(frozen=True)
class Colours:
    """Which colour an option has, in every chart alike.

    of: the name that the colour stands for, by option: the option itself, or, with more than
    eight options, its level of the factor that matters most. domain: all such names, in order.
    """

    title: str
    domain: tuple[str, ...]
    of: Mapping[str, str]

    @property
    def by_option(self) -> bool:
        """Whether each option has a colour of its own."""
        return self.title == "option"

    def encode(self, legend: bool = True) -> Spec:
        """Colour of a row by its field `colour`."""
        return self._channel({}, legend)

    def css(self) -> list[tuple[str, str, str]]:
        """For the page's own key: name, number of the colour, dashes; in the order of the domain."""
        return [
            (name, str(place), " ".join(map(str, DASHES[place]))) for place, name in enumerate(self.domain)
        ]

    def dash(self, legend: bool = True) -> Spec:
        """The same by line style, so that colour never stands alone."""
        return self._channel({"range": list(DASHES[: len(self.domain)])}, legend)

    def shape(self, legend: bool = True) -> Spec:
        """The same by shape of a mark."""
        return self._channel({"range": list(SHAPES[: len(self.domain)])}, legend)

    def _channel(self, scale: Spec, legend: bool) -> Spec:
        return {
            "field": "colour",
            "type": "nominal",
            "title": None if self.by_option else self.title,
            "scale": {"domain": list(self.domain), **scale},
            # no `legend` at all where one is wanted: then a page can turn it off by its theme
            **({} if legend and len(self.domain) > 1 else {"legend": None}),
        }


def colours(judgement: Judgement, about: About) -> Colours:
    """Colours by option; by the most important factor's level when there are more than eight."""
    options = judgement.options
    if len(options) <= MOST_COLOURS:
        return Colours("option", options, {label: label for label in options})
    factor = main_factor(judgement, about)
    levels = {label: about.option_levels.get(label, {}).get(factor or "", "other") for label in options}
    domain = tuple(dict.fromkeys(levels.values()))
    if factor is None or len(domain) > MOST_COLOURS:
        return Colours("options", ("all",), dict.fromkeys(options, "all"))
    return Colours(factor, domain, levels)


def paint(rows: Sequence[dict[str, Any]], palette: Colours) -> list[dict[str, Any]]:
    """The rows with a field `colour` that `Colours.encode` reads."""
    return [{**row, "colour": palette.of.get(str(row.get("option")), "other")} for row in rows]


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
