"""The parts of a Vega-Lite specification: views, layers, encodings, axes, colours, shapes and dashes."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from steelyard.report.charts.figure import DASHES, SHAPES, Panel, Spec
from steelyard.report.presented import Palette
from steelyard.report.table import Cell, Row, cell_of

# an axis that a reader can zoom: its ends are signals of the picture, which the page's script sets
# drag: over a stretch of the axis; frame: a click on what begins and ends there
How = Literal["drag", "frame"]
FROM, TO = "x_from", "x_to"
SCALE: Spec = {"domain": [{"expr": FROM}, {"expr": TO}], "nice": False}
# for names that the page's key does not know; the grey reads on white and on black
OWN_LEGEND: Spec = {"orient": "bottom", "title": None, "disable": False, "labelColor": "#7A828C"}
# an interval stretches an axis by so much of the data's extent at most, or on a logarithmic axis threefold
_REACH = 0.5
_REACH_LOG = math.log(3)
_LEAST_EXTENT_LOG = math.log(1.02)
ENDS = ("low", "high")
_RATIO_LABEL = "format(datum.value, datum.value < 10000 ? '.6~r' : '.3~s')"


def view(height: int, layers: Sequence[Spec], rows: Sequence[Row], **more: Any) -> Spec:
    """A layered view over its own rows; width follows the container."""
    drawn = _fields(layers)
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "width": "container",
        "height": height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        # only what is drawn, to six digits: a page of a large study stays small
        "data": {
            "values": [{key: _short(value) for key, value in row.items() if key in drawn} for row in rows]
        },
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


def bare_axis(**more: Any) -> Spec:
    """Axis of a count: 20k, 1.5M, and 0 rather than 0k."""
    return {"format": "~s", "labelExpr": "datum.value === 0 ? '0' : datum.label", **more}


def nominal(name: str, title: str | None, **more: Any) -> Spec:
    """An encoding of a name."""
    return {"field": name, "type": "nominal", "title": title, **more}


def dots(encoding: Spec, tip: Sequence[Spec], seen: bool, only: str = "") -> Spec:
    """A point at each value, with what is known of it; not seen: only under the pointer."""
    place = {**encoding, "tooltip": list(tip)}
    return layer("point", place, only=only, size=22 if seen else 80, opacity=1 if seen else 0, clip=True)


def _fields(part: Any) -> set[str]:
    """Names of all fields that an encoding reads."""
    if isinstance(part, list | tuple):
        return {name for item in cast("Sequence[Any]", part) for name in _fields(item)}
    if not isinstance(part, dict):
        return set()
    known = cast("Spec", part)
    named = {name for name in [known.get("field")] if isinstance(name, str)}
    return named.union(*(_fields(value) for key, value in known.items() if key != "data"))


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


def dash(palette: Palette) -> Spec:
    """The same by line style, so that colour never stands alone."""
    return _channel(palette, {"range": list(DASHES[: len(palette.domain)])}, legend=True)


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


@dataclass(frozen=True)
class Domain:
    """What an axis shows, from low to high, both included."""

    low: float
    high: float
    log: bool = False

    @property
    def scale(self) -> Spec:
        """Scale of an encoding."""
        kind = {"type": "log"} if self.log else {}
        return {**kind, "domain": [self.low, self.high], "nice": False}

    @property
    def ratio_axis(self) -> Spec:
        """Axis of ratios; within a power of ten a logarithmic one has too few labels of its own."""
        axis = {"tickCount": 6, "grid": True, "labelExpr": _RATIO_LABEL}
        if self.high >= 10 * self.low:
            return axis
        step = _nice((self.high - self.low) / 5)
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        return {**axis, "values": [float(f"{n * step:.9g}") for n in range(first, last + 1)]}

    def holds(self, value: float) -> bool:
        """Whether the axis shows the value."""
        return self.low <= value <= self.high

    def clip(self, row: Spec) -> Spec:
        """The row, its interval `low` to `high` within the axis; `cut_low`, `cut_high`: where it was cut."""
        low, high = (row[end] for end in ENDS)
        cut: Spec = {}
        if low is not None and low < self.low:
            cut |= {"low": self.low, "cut_low": self.low}
        if high is not None and high > self.high:
            cut |= {"high": self.high, "cut_high": self.high}
        return {**row, **cut}


def domain_of(
    data: Iterable[float | None], ends: Iterable[float | None] = (), *, log: bool = False, pad: float = 0.04
) -> Domain:
    """The axis that holds all data, and the ends of intervals as far as they are near the data.

    data, ends: None, NaN and infinities are left out of the data; an end may be infinite. On a logarithmic
    axis what is not positive is left out too. A linear axis begins at 0. pad: room beyond the last
    mark, as a part of the axis.
    """
    known = [place for value in data if math.isfinite(place := _place(value, log))]
    if not known or not log:
        known.append(0.0)
    low, high = min(known), max(known)
    reach = max(_REACH * (high - low), _REACH_LOG if log else 0.0)
    places = [place for end in ends if not math.isnan(place := _place(end, log))]
    bottom = max(min([low, *places]), low - reach)
    top = min(max([high, *places]), high + reach)
    least = _LEAST_EXTENT_LOG if log else 0.02 * abs(top) or 1.0
    room = pad * max(top - bottom, least)
    flat = least if top == bottom else 0.0
    if log:
        return Domain(math.exp(bottom - room - flat), math.exp(top + room + flat), log=True)
    # an axis that begins at 0 has no room below it
    floor = bottom and bottom - room - flat
    return Domain(floor, 0.0 if top == 0 and bottom < 0 else top + room + flat)


def cut_note(panels: Sequence[Panel]) -> str:
    """What arrowheads mean, where a panel has one; else ''."""
    rows = [row for panel in panels for row in panel.spec["data"]["values"]]
    cut = any(f"cut_{end}" in row for row in rows for end in ENDS)
    return " An arrowhead marks an interval that goes on beyond the picture." if cut else ""


def _nice(step: float) -> float:
    """The nearest step of 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(step))
    return min((power, 2 * power, 5 * power, 10 * power), key=lambda nice: abs(math.log(nice / step)))


def _place(value: float | None, log: bool) -> float:
    """Where a value stands; NaN where it is not known, minus infinity for 0 on a logarithmic axis."""
    if value is None or math.isnan(value):
        return math.nan
    if not log:
        return value
    return math.log(value) if value > 0 else -math.inf
