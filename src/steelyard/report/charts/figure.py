"""A figure: one or more Vega-Lite panels, and the same numbers as a table; its colours, type and pictures.

The palette is Okabe and Ito's (2008).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from steelyard.printable import printable
from steelyard.report.drawing import draw
from steelyard.report.table import Table

Spec = dict[str, Any]
Layout = Literal["stack", "grid", "pairs", "tabs"]
Key = Literal["none", "line", "dash", "fill"]
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', Arial, sans-serif"
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "stroke", "wedge")
DASHES = ([1, 0], [6, 2], [2, 2], [8, 2, 2, 2], [4, 1], [1, 3], [10, 3], [3, 1, 1, 1])

# yellow is darkened on white, blue lightened on black: a line needs 3:1 against its ground
_LIGHT = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#555B66", "#9A8700")
_DARK = ("#3F9FDF", "#E8762B", "#1DB98C", "#DB93BA", "#7CC8F2", "#F0B429", "#A9B1BD", "#F0E442")
WIDTH_PX = 760


@dataclass(frozen=True)
class Panel:
    """One Vega-Lite view, as wide as its container. name: a file name; title: what it shows.

    narrow: the same for a phone, where it must differ.
    """

    name: str
    title: str
    spec: Spec
    narrow: Spec | None = None


@dataclass(frozen=True)
class Figure:
    """One picture of the report. caption: how to read it, a sentence or two.

    key: how a page shows which colour is which option, unless the marks are labelled (dash: lines that are
    dashed as well, each option in its own way). notes: what the picture means, in sentences. open: whether
    its table is shown at once, under the title `numbers`. folded: further tables by title, shown on demand.
    """

    name: str
    title: str
    caption: str
    panels: tuple[Panel, ...]
    table: Table
    layout: Layout = "stack"
    key: Key = "none"
    notes: tuple[str, ...] = ()
    open: bool = False
    numbers: str = "Numbers"
    folded: tuple[tuple[str, Table], ...] = ()


def of_tables(
    name: str,
    title: str,
    caption: str,
    tables: Iterable[tuple[str, Table]],
    panels: Iterable[Panel] = (),
    **more: Any,
) -> Figure:
    """tables: with their titles, the first of them open."""
    (first, table), *others = tables
    shown: dict[str, Any] = {"open": True, "numbers": first, "folded": tuple(others), **more}
    return Figure(name, title, caption, tuple(panels), table, **shown)


def slug(text: str) -> str:
    """A file name made of any text: letters, digits, dashes."""
    kept = "".join(char if char.isascii() and char.isalnum() else "-" for char in text.lower())
    return "-".join(part for part in kept.split("-") if part)[:60] or "x"


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
        "range": {"category": list(hues(dark))},
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


def uniquely_named(figures: Sequence[Figure]) -> list[Figure]:
    """The same figures, each panel under a name that no other has."""
    seen = set[str]()

    def renamed(panel: Panel) -> Panel:
        name, number = panel.name, 2
        while name in seen:
            name, number = f"{panel.name}-{number}", number + 1
        seen.add(name)
        return replace(panel, name=name)

    return [replace(figure, panels=tuple(map(renamed, figure.panels))) for figure in figures]


def svg(panel: Panel, title: bool = True) -> str:
    """The panel as SVG text. Raises OSError."""
    return draw("svg", standalone(panel, title)).decode()


def png(panel: Panel) -> bytes:
    """The panel as PNG, twice as wide. Raises OSError."""
    return draw("png", standalone(panel))


def standalone(panel: Panel, title: bool = True) -> Spec:
    """The panel's specification as a picture of its own: fixed width, light, on white.

    Without what is only for a pointer: of a large study that is most of the picture.
    """
    spec = {
        **panel.spec,
        "layer": [layer for layer in panel.spec["layer"] if layer["mark"].get("opacity") != 0],
        "width": WIDTH_PX,
        "config": {**config(), "background": "white", "aria": title},
    }
    if title:
        spec["title"] = {"text": panel.title, "anchor": "start", "fontSize": 14, "offset": 10}
    # no XML holds a control character: the library that draws ends the whole process at one
    return _printable(spec)


def _printable(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {printable(key): _printable(part) for key, part in cast(Spec, value).items()}
    if isinstance(value, list):
        return [_printable(part) for part in cast(list[Any], value)]
    return value
