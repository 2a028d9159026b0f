"""What the page holds for its script: specifications, the library that draws them; stills without scripts."""

import base64
import hashlib
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from steelyard.bundle.storage.files import write_whole
from steelyard.report.charts.figure import Figure, config, svg
from steelyard.report.drawing import draw
from steelyard.user_cache import cache_folder


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
    every = [panel for figure in figures for panel in figure.panels]
    themes = {"light": config(), "dark": config(dark=True)}
    for theme in themes.values():
        theme["legend"] = {"disable": True}  # the page has a key of its own, which can wrap
    data = {
        "themes": themes,
        "specs": {panel.name: panel.spec for panel in every},
        "narrow": {panel.name: panel.narrow for panel in every if panel.narrow},
    }
    return htmlsafe_json_dumps(data, allow_nan=False, separators=(",", ":"))


def vega_script() -> Markup:
    """Safe within a <script>. Kept between pages, as to put it together takes a third of a page's time."""
    # without a home, or with a folder that others write to, nothing is kept
    with suppress(OSError, RuntimeError, ValueError):
        return Markup(_kept(_place()))
    bundle = draw("script", "window.vegaEmbed = vegaEmbed;").decode()
    script = re.sub(r"<(?=/script|!--)", r"\\x3c", bundle, flags=re.IGNORECASE)
    with suppress(OSError, RuntimeError, ValueError):
        data = script.encode()
        write_whole(_place(), _checksum(data) + b"\n" + data)
    return Markup(script)


def _place() -> Path:
    # every page runs it: nobody else may write it
    return cache_folder("") / f"vega-{version('vl-convert-python')}.kept"


def _kept(place: Path) -> str:
    """The script as it was kept. Raises OSError; ValueError where it is not whole, or may be another's."""
    handle = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        if os.fstat(handle).st_uid != os.geteuid():
            raise ValueError(f"{place}: of another user")
        checksum, _, script = file.read().partition(b"\n")
    if checksum != _checksum(script):
        raise ValueError(f"{place}: not whole")
    return script.decode()


def _checksum(data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest().encode()
