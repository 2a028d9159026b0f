"""The parts of a Vega-Lite specification: views, layers, encodings, colours, shapes and dashes of options."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal, cast

from steelyard.report.charts.domain import domain_of
from steelyard.report.charts.figure import Spec
from steelyard.report.charts.theme import DASHES, SHAPES
from steelyard.report.presented.palette import Palette
from steelyard.report.table import Cell, Row, cell_of

# an axis that a reader can zoom: its ends are signals of the picture, which the page's script sets
# drag: over a stretch of the axis; frame: a click on what begins and ends there
How = Literal["drag", "frame"]
FROM, TO = "x_from", "x_to"
SCALE: Spec = {"domain": [{"expr": FROM}, {"expr": TO}], "nice": False}


def view(height: int, layers: Sequence[Spec], rows: Sequence[Row], **more: Any) -> Spec:
    """A layered view over its own rows; width follows the container."""
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "width": "container",
        "height": height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "data": {"values": _drawable(rows, _fields(layers))},
        "layer": list(layers),
        **more,
    }


def layer(
    mark: str, encoding: Spec, *, rows: Sequence[Row] | None = None, only: str = "", **look: Any
) -> Spec:
    """A mark per row, or a line per colour. rows: instead of those of the view; only: a test of a row."""
    return {
        **({} if rows is None else {"data": {"values": list(rows)}}),
        **({"transform": [{"filter": only}]} if only else {}),
        "mark": {"type": mark, **({"filled": True, "opacity": 1} if mark == "point" else {}), **look},
        "encoding": encoding,
    }


def quantitative(name: str, title: str | None, **more: Any) -> Spec:
    """An encoding of a number."""
    return {"field": name, "type": "quantitative", "title": title, **more}


def scaled(
    rows: Iterable[Row],
    name: str,
    title: str | None,
    *also: float,
    log: bool = False,
    pad: float = 0.04,
    ratios: bool = False,
    **axis: Any,
) -> Spec:
    """An encoding of a number whose axis holds all of the rows, with the intervals that they have.

    also: other values to be held; ratios: labelled as such, on a logarithmic axis.
    """
    cells = [cell_of(row[name]) for row in rows]
    ends = [end for cell in cells for end in cell.ends]
    shown = domain_of([*also, *(cell.value for cell in cells)], ends, log=log or ratios, pad=pad)
    return quantitative(name, title, scale=shown.scale, axis={**(shown.ratio_axis if ratios else {}), **axis})


def plain_axis(**more: Any) -> Spec:
    """Axis of a count: 20k, 1.5M, and 0 rather than 0k."""
    return {"format": "~s", "labelExpr": "datum.value === 0 ? '0' : datum.label", **more}


def nominal(name: str, title: str | None, **more: Any) -> Spec:
    """An encoding of a name."""
    return {"field": name, "type": "nominal", "title": title, **more}


def dots(encoding: Spec, tip: Sequence[Spec], seen: bool = True, only: str = "") -> Spec:
    """A point at each value, with what is known of it; not seen: only under the pointer."""
    place = {**encoding, "tooltip": list(tip)}
    return layer("point", place, only=only, size=22 if seen else 80, opacity=1 if seen else 0, clip=True)


def own_legend() -> Spec:
    """For names that the page's key does not know; the grey reads on white and on black."""
    return {"orient": "bottom", "title": None, "disable": False, "labelColor": "#7A828C"}


def _fields(part: Any) -> set[str]:
    """Names of all fields that an encoding reads."""
    if isinstance(part, list | tuple):
        return {name for item in cast("Sequence[Any]", part) for name in _fields(item)}
    if not isinstance(part, dict):
        return set()
    known = cast("Spec", part)
    named = {name for name in [known.get("field")] if isinstance(name, str)}
    return named.union(*(_fields(value) for key, value in known.items() if key != "data"))


def _drawable(rows: Sequence[Row], fields: set[str]) -> list[Spec]:
    """Only what is drawn, to six digits: a page of a large study stays small."""
    return [{key: _short(value) for key, value in row.items() if key in fields} for row in rows]


def _short(value: Any) -> Any:
    if isinstance(value, float):
        # JSON knows no infinity: an interval without an end is drawn as a point
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return _short(value.value) if isinstance(value, Cell) else value


def paint(rows: Sequence[Row], palette: Palette) -> list[Spec]:
    """The rows with a field `colour` that the encodings below read."""
    return [{**row, "colour": palette.of.get(str(row.get("option")), "other")} for row in rows]


def colour(palette: Palette, legend: bool = True) -> Spec:
    """Colour of a row by its field `colour`."""
    return _channel(palette, {}, legend)


def dash(palette: Palette, legend: bool = True) -> Spec:
    """The same by line style, so that colour never stands alone."""
    return _channel(palette, {"range": list(DASHES[: len(palette.domain)])}, legend)


def shape(palette: Palette, legend: bool = True) -> Spec:
    """The same by shape of a mark."""
    return _channel(palette, {"range": list(SHAPES[: len(palette.domain)])}, legend)


def _channel(palette: Palette, scale: Spec, legend: bool) -> Spec:
    return {
        "field": "colour",
        "type": "nominal",
        "title": None if palette.by_option else palette.title,
        "scale": {"domain": list(palette.domain), **scale},
        # no `legend` at all where one is wanted: then a page can turn it off by its theme
        **({} if legend and len(palette.domain) > 1 else {"legend": None}),
    }


def zoomable(spec: Spec, low: float, high: float, how: How = "drag") -> Spec:
    """The view with an axis from low to high whose encodings have SCALE; its marks must be clipped."""
    params = [{"name": FROM, "value": low}, {"name": TO, "value": high}]
    return {**spec, "params": [*spec.get("params", ()), *params], "usermeta": {"zoom": how}}
