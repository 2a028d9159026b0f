"""The shapes of charts: each draws columns of a Table. Bars, intervals, a map, lines, and steps for the time
that a sample is the mean of.
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import median_low
from typing import Any, Literal

from steelyard.bundle.evidence import grouped
from steelyard.report.charts.figure import Spec
from steelyard.report.charts.marks import (
    ENDS,
    Domain,
    colour,
    dots,
    layer,
    nominal,
    paint,
    quantitative,
    view,
)
from steelyard.report.presented import Palette
from steelyard.report.table import Cell, Table, cell_of, text_of

_OWN_LINE: Spec = {"strokeWidth": 2.5, "strokeCap": "round"}
_INK_LINE: Spec = {"style": "inkline", "strokeWidth": 1.5}
_NOTE: Spec = {"dx": 5, "style": "ink"}
_ARROWS = {"x": ("triangle-left", "triangle-right"), "y": ("triangle-down", "triangle-up")}
Rows = list[Spec]

# so many steps beyond its own a line is drawn on; a longer gap interrupts it
_GAP = 0.5
# points that are drawn; of more, only the line is seen
DOTS_MAX = 120


def bars(table: Table, y: Spec, x: Spec, tip: Sequence[str], thick: int, **how: Any) -> Spec:
    """A bar per row, with the interval of a Cell as a line. how: as `intervals` has it."""
    return _by_name(table, y, x, tip, {"type": "bar", "height": thick}, **how)


def intervals(table: Table, y: Spec, x: Spec, tip: Sequence[str], size: int, **how: Any) -> Spec:
    """A point per row, with the interval of a Cell as a line.

    y: names, one below the other, px apart; x: their numbers; tip: as `told` has it. look: encodings of the
    marks; line: look of the intervals; at: a rule at this number; margin: half the width of a band around it.
    beside: the field that stands to the right of a mark, with the look `note`; above: names stand over marks.
    """
    return _by_name(table, y, x, tip, {"type": "point", "filled": True, "size": size, "opacity": 1}, **how)


def lines(
    table: Table,
    x: Spec,
    y: Spec,
    tip: Sequence[str],
    *,
    height: int,
    palette: Palette | None = None,
    look: Spec | None = None,
    size: int = 0,
    joined: bool = True,
    lines_only: Spec | None = None,
    points_only: Spec | None = None,
    behind: Sequence[Spec] = (),
    **line: Any,
) -> Spec:
    """A line per colour and detail, a band where its numbers are Cells, and a point at each value.

    look: encodings of both; size: of the points, 0: seen under the pointer alone; joined: by lines.
    """
    rows, shown = told(table, *tip)
    own, rows = ({"color": colour(palette)}, paint(rows, palette)) if palette else ({}, rows)
    place = {"x": x, "y": y, **own, **(look or {})}
    layers = [layer("line", {**place, **(lines_only or {})}, **line)] if joined else []
    on = {**place, **(points_only or {}), "tooltip": shown}
    layers.append(layer("point", on, size=size) if size else dots(place, shown, seen=False))
    if any(isinstance(row[y["field"]], Cell) for row in rows):
        rows = _spanned(rows, y)
        band = {**place, "y": {**y, "field": "low"}, "y2": {"field": "high"}}
        layers = [layer("area", band, opacity=0.18), *layers, *arrows(rows, "y", {**place, "tooltip": shown})]
    return view(height, [*behind, *layers], rows)


def told(table: Table, *names: str) -> tuple[list[Spec], list[Spec]]:
    """Rows with what stands under the pointer as text, and the encodings that show it.

    names: of columns; `time:.3~s`: of numbers in this format of d3.
    """
    rows: list[Any] = list(table.data)
    tip: list[Spec] = []
    for name in names:
        key, _, form = name.partition(":")
        column = table.column(key)
        if form:
            tip.append(quantitative(key, column.title, format=form))
            continue
        as_it_is = all(isinstance(row[key], str | int) for row in rows)
        if not as_it_is:
            rows = [{**row, f"{key}_text": text_of(row[key], column.say)} for row in rows]
        tip.append(nominal(key if as_it_is else f"{key}_text", column.title))
    return rows, tip


def _spanned(rows: Sequence[Spec], axis: Spec) -> list[Spec]:
    """The rows with `low` and `high` of the number that the axis shows, cut to it."""
    shown = Domain(*axis["scale"]["domain"])
    ends = [cell_of(row[axis["field"]]).ends for row in rows]
    return [shown.clip({**row, "low": a, "high": b}) for row, (a, b) in zip(rows, ends, strict=True)]


def arrows(rows: Sequence[Spec], along: Literal["x", "y"], encoding: Spec) -> list[Spec]:
    """Marks at the edge of the picture for intervals cut there. rows: as `_spanned` gave them."""
    return [
        layer(
            "point",
            {**encoding, along: {**encoding[along], "field": f"cut_{end}"}},
            only=f"isValid(datum.cut_{end})",
            size=70,
            style="ink",
            shape=shape,
        )
        for end, shape in zip(ENDS, _ARROWS[along], strict=True)
        if any(f"cut_{end}" in row for row in rows)
    ]


def rule(axis: Spec, at: float, along: Literal["x", "y"] = "x", **look: Any) -> Spec:
    """A line across the picture at a number of this axis."""
    return layer("rule", {along: {**axis, "field": "at"}}, rows=[{"at": at}], **look)


def _by_name(
    table: Table,
    y: Spec,
    x: Spec,
    tip: Sequence[str],
    mark: Spec,
    *,
    px: int,
    palette: Palette | None = None,
    look: Spec | None = None,
    at: float | None = None,
    margin: float = 0.0,
    beside: str = "",
    note: Spec = _NOTE,
    above: int = 0,
) -> Spec:
    rows, shown = told(table, *tip)
    look, place, over = look or {}, {"y": y, "x": x, "tooltip": shown}, mark["type"] == "bar"
    if palette:
        rows = paint(rows, palette)
        # names stand at the marks: where each is an option, no legend has to say so
        look = {"color": colour(palette, legend=not palette.by_option), **look}
    marks = [{"mark": mark, "encoding": {**place, **look}}]
    layers: list[Spec] = []
    if margin and at is not None:
        band = {"x": {**x, "field": "from"}, "x2": {"field": "to"}}
        layers.append(layer("rect", band, rows=[{"from": at - margin, "to": at + margin}], style="faint"))
    if at is not None:
        layers.append(rule(x, at, style="mutedline", strokeDash=[1, 0] if over else [3, 3]))
    if any(isinstance(row[x["field"]], Cell) for row in rows):
        rows = _spanned(rows, x)
        # over a bar in ink, beneath a point in its own colour
        place |= {} if over else {"color": look["color"]}
        span = {**place, "x": {**x, "field": "low"}, "x2": {"field": "high"}}
        line = layer("rule", span, **(_INK_LINE if over else _OWN_LINE))
        marks = [*marks, line] if over else [line, *marks]
        marks += arrows(rows, "x", place)
    layers += marks
    if beside:
        text = {"y": y, "x": x, "text": {"field": beside}}
        layers.append(layer("text", text, align="left", **note))
    if above:
        text = {"y": y, "text": {"field": y["field"]}, "x": {"value": 2}}
        layers.append(layer("text", text, align="left", dy=-above, style="ink"))
    return view(px, layers, rows)


def stepped(
    time: Callable[[str], Spec],
    place: Spec,
    tip: Sequence[Spec],
    seen: bool,
    middle: str = "middle_s",
    *,
    lines_only: Spec,
    **look: Any,
) -> list[Spec]:
    """Steps over `t_s`, one line per option, and a point in the middle of each; not seen: under the pointer.

    time: the axis of a field; middle: a field.
    """
    line = {"x": time("t_s"), **place, "detail": {"field": "option"}, **lines_only}
    # the last corner of a line is no value of its own
    only = "" if middle == "t_s" else f"isValid(datum.{middle})"
    points = dots({"x": time(middle), **place}, tip, seen, only)
    return [layer("line", line, interpolate="step-after", clip=True, order=False, **look), points]


def steps(samples: Rows, keys: Sequence[str], *, until: bool = False) -> Rows:
    """The corners of step lines (`step-after`); a row without a time interrupts a line where there is a gap.

    samples: t_s, and what tells lines apart under `keys`. until: t_s is the end of a sample's time, not
    its start. middle_s: where the point of a sample stands; None for the last corner before a gap.
    """
    out: Rows = []
    for line in grouped((tuple(sample[key] for key in keys), sample) for sample in samples).values():
        line.sort(key=lambda sample: sample["t_s"])
        # the usual time between two samples, gaps apart; one second for a single sample
        apart = [b["t_s"] - a["t_s"] for a, b in pairwise(line) if b["t_s"] > a["t_s"]]
        step_s = median_low(apart) if apart else 1.0
        starts = [sample["t_s"] - step_s * until for sample in line]
        for sample, start_s, next_s in zip(line, starts, [*starts[1:], math.inf], strict=True):
            end_s = start_s + step_s
            out.append({**sample, "t_s": start_s, "middle_s": start_s + step_s / 2})
            if next_s > end_s + _GAP * step_s:
                out += [{**sample, "t_s": t_s, "middle_s": None} for t_s in (end_s, None)]
    return out
