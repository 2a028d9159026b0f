"""A figure: one or more Vega-Lite panels, and the same numbers as a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

Spec = dict[str, Any]
Layout = Literal["stack", "grid", "pairs", "tabs"]
Key = Literal["none", "line", "fill"]


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
class Table:
    """Numbers as text, ready to read. The first column names the row."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Figure:
    """One picture of the report. caption: how to read it, a sentence or two.

    key: how a page shows which colour is which option, unless the marks are labelled. notes: what
    the picture means, in sentences. open: whether its table is shown at once, under the title `numbers`.
    folded: further tables by title, shown on demand.
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


def slug(text: str) -> str:
    """A file name made of any text: letters, digits, dashes."""
    kept = "".join(char if char.isascii() and char.isalnum() else "-" for char in text.lower())
    return "-".join(part for part in kept.split("-") if part)[:60] or "x"
