"""The parts of a Vega-Lite specification: views, encodings, colours, shapes and dashes of options."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

from steelyard.report.charts.figure import Spec
from steelyard.report.charts.theme import DASHES, SHAPES
from steelyard.report.presented.palette import Palette


def view(height: int, layers: Sequence[Spec], rows: Sequence[Spec], **more: Any) -> Spec:
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


def quantitative(name: str, title: str | None, **more: Any) -> Spec:
    """An encoding of a number."""
    return {"field": name, "type": "quantitative", "title": title, **more}


def plain_axis(**more: Any) -> Spec:
    """Axis of a count: 20k, 1.5M, and 0 rather than 0k."""
    return {"format": "~s", "labelExpr": "datum.value === 0 ? '0' : datum.label", **more}


def nominal(name: str, title: str | None, **more: Any) -> Spec:
    """An encoding of a name."""
    return {"field": name, "type": "nominal", "title": title, **more}


def dots(encoding: Spec, tip: Sequence[Spec], seen: bool = True) -> Spec:
    """A point at each value, with what is known of it; not seen: only under the pointer."""
    mark: Spec = {"type": "point", "filled": True, "size": 22 if seen else 80, "opacity": 1 if seen else 0}
    return {"mark": {**mark, "clip": True}, "encoding": {**encoding, "tooltip": list(tip)}}


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


def _drawable(rows: Sequence[Spec], fields: set[str]) -> list[Spec]:
    """Only what is drawn, to six digits: a page of a large study stays small."""
    return [{key: _short(value) for key, value in row.items() if key in fields} for row in rows]


def _short(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    # JSON knows no infinity: an interval without an end is drawn as a point
    return float(f"{value:.6g}") if math.isfinite(value) else None


def paint(rows: Sequence[dict[str, Any]], palette: Palette) -> list[dict[str, Any]]:
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
