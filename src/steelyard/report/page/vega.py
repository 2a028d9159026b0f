"""The library that draws the page's pictures, as one script to be written into the page."""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.bundle.storage.files import write_whole
from steelyard.user_cache import cache_folder, closed

if TYPE_CHECKING:
    from markupsafe import Markup


def vega_script() -> Markup:
    """Safe within a <script>. Kept between pages, as to put it together takes a third of a page's time."""
    import vl_convert as vlc
    from markupsafe import Markup

    # without a home, or with a folder that others write to, nothing is kept
    with suppress(OSError, RuntimeError, ValueError):
        return Markup(_kept(_place()))
    bundle = vlc.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    script = re.sub(r"<(?=/script|!--)", r"\\x3c", bundle, flags=re.IGNORECASE)
    with suppress(OSError, RuntimeError, ValueError):
        _keep(_place(), script)
    return Markup(script)


def _place() -> Path:
    # every page runs it: nobody else may write it
    return closed(cache_folder("")) / f"vega-{version('vl-convert-python')}.kept"


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


def _keep(place: Path, script: str) -> None:
    data = script.encode()
    write_whole(place, _checksum(data) + b"\n" + data)


def _checksum(data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest().encode()
