"""The library that draws the page's pictures, as one script to be written into the page."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.bundle.storage.files import write_whole

if TYPE_CHECKING:
    from markupsafe import Markup

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


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
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "steelyard" / f"vega-{version('vl-convert-python')}.kept"


def _kept(place: Path) -> str:
    """The script as it was kept. Raises OSError; ValueError where it is not whole, or may be another's.

    Every page runs it, so it must be what we wrote, in a folder that nobody else writes to.
    """
    _check_ours(place.parent)
    handle = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        if os.fstat(handle).st_uid != os.geteuid():
            raise ValueError(f"{place}: of another user")
        checksum, _, script = file.read().partition(b"\n")
    if checksum != _checksum(script):
        raise ValueError(f"{place}: not whole")
    return script.decode()


def _keep(place: Path, script: str) -> None:
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _check_ours(place.parent)
    data = script.encode()
    write_whole(place, _checksum(data) + b"\n" + data)


def _check_ours(folder: Path) -> None:
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & _OTHERS_WRITE:
        raise ValueError(f"{folder}: others write to it")


def _checksum(data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest().encode()
