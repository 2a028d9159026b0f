"""A figure: one or more Vega-Lite panels, and the same numbers as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from steelyard.report.table import Table

Spec = dict[str, Any]
Layout = Literal["stack", "grid", "pairs", "tabs"]
Key = Literal["none", "line", "dash", "fill"]


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


def slug(text: str) -> str:
    """A file name made of any text: letters, digits, dashes."""
    kept = "".join(char if char.isascii() and char.isalnum() else "-" for char in text.lower())
    return "-".join(part for part in kept.split("-") if part)[:60] or "x"
