"""A figure: one or more Vega-Lite panels, and the same numbers as a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

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

    key: how a page shows which colour is which option, unless the marks are labelled.
    """

    name: str
    title: str
    caption: str
    panels: tuple[Panel, ...]
    table: Table
    layout: Layout = "stack"
    key: Key = "none"


def view(height: int, layers: Sequence[Spec], rows: Sequence[Spec], **more: Any) -> Spec:
    """A layered view over its own rows; width follows the container."""
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "width": "container",
        "height": height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "data": {"values": [{key: _drawable(value) for key, value in row.items()} for row in rows]},
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


def _drawable(value: Any) -> Any:
    """JSON knows no infinity: an interval without an end is drawn as a point."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def slug(text: str) -> str:
    """A file name made of any text: letters, digits, dashes."""
    kept = "".join(char if char.isascii() and char.isalnum() else "-" for char in text.lower())
    return "-".join(part for part in kept.split("-") if part)[:60] or "x"
