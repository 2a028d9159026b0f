"""The charts within the page: specifications for its script, stills for readers without scripts."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from steelyard.report.charts.figure import Figure
from steelyard.report.charts.render import svg
from steelyard.report.charts.theme import DASHES, config
from steelyard.report.presented.palette import Palette

if TYPE_CHECKING:
    from markupsafe import Markup


def key_of(palette: Palette) -> list[tuple[str, str, str]]:
    """For the page's own key: name, number of the colour, dashes; in the order of the domain."""
    return [(name, str(i), " ".join(map(str, DASHES[i]))) for i, name in enumerate(palette.domain)]


def stills(figures: Sequence[Figure]) -> dict[str, str]:
    """Each panel as a data address, by its name."""
    prefix = "data:image/svg+xml;base64,"
    return {
        panel.name: prefix + base64.b64encode(svg(panel, title=False).encode()).decode()
        for figure in figures
        for panel in figure.panels
    }


def specifications(figures: Sequence[Figure]) -> Markup:
    """The specifications as JSON that cannot end its script element: no <, > or & in it."""
    from markupsafe import Markup

    every = [panel for figure in figures for panel in figure.panels]
    themes = {"light": config(), "dark": config(dark=True)}
    for theme in themes.values():
        theme["legend"] = {"disable": True}  # the page has a key of its own, which can wrap
    data = {
        "themes": themes,
        "specs": {panel.name: panel.spec for panel in every},
        "narrow": {panel.name: panel.narrow for panel in every if panel.narrow},
    }
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)
