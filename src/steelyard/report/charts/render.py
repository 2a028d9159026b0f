"""Figures as pictures: panels under names of their own, specifications that stand alone, SVG and PNG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from steelyard.printable import printable
from steelyard.report.charts.figure import Figure, Panel, Spec
from steelyard.report.charts.theme import config

WIDTH_PX = 760


def uniquely_named(figures: Sequence[Figure]) -> list[Figure]:
    """The same figures, each panel under a name that no other has."""
    seen: set[str] = set()

    def renamed(panel: Panel) -> Panel:
        name, number = panel.name, 2
        while name in seen:
            name, number = f"{panel.name}-{number}", number + 1
        seen.add(name)
        return replace(panel, name=name)

    return [replace(figure, panels=tuple(map(renamed, figure.panels))) for figure in figures]


def svg(panel: Panel, title: bool = True) -> str:
    """The panel as SVG text."""
    import vl_convert as vlc

    return vlc.vegalite_to_svg(standalone(panel, title))


def png(panel: Panel) -> bytes:
    """The panel as PNG, twice as wide."""
    import vl_convert as vlc

    return vlc.vegalite_to_png(standalone(panel), scale=2)


def standalone(panel: Panel, title: bool = True) -> Spec:
    """The panel's specification as a picture of its own: fixed width, light, on white."""
    spec = {**panel.spec, "width": WIDTH_PX, "config": {**config(), "background": "white"}}
    if title:
        spec["title"] = {"text": panel.title, "anchor": "start", "fontSize": 14, "offset": 10}
    # no XML holds a control character: the library that draws ends the whole process at one
    return _printable(spec)


def _printable(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {printable(key): _printable(part) for key, part in cast(dict[str, Any], value).items()}
    if isinstance(value, list):
        return [_printable(part) for part in cast(list[Any], value)]
    return value
