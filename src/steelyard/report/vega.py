"""The library that draws the page's pictures, as one script to be written into the page."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markupsafe import Markup


def vega_script() -> Markup:
    """Safe within a <script>. Kept between pages, as to put it together takes a third of a page's time."""
    import vl_convert as vlc
    from markupsafe import Markup

    # without a home nothing is kept
    with suppress(OSError, RuntimeError):
        return Markup(_place().read_text(encoding="utf-8"))
    bundle = vlc.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    script = re.sub(r"<(?=/script|!--)", r"\\x3c", bundle, flags=re.IGNORECASE)
    with suppress(OSError, RuntimeError):
        _keep(_place(), script)
    return Markup(script)


def _place() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "steelyard" / f"vega-{version('vl-convert-python')}.js"


def _keep(place: Path, script: str) -> None:
    """Whole or not at all: others may read it meanwhile."""
    place.parent.mkdir(parents=True, exist_ok=True)
    fresh = place.with_suffix(f".{os.getpid()}")
    fresh.write_text(script, encoding="utf-8")
    fresh.replace(place)
