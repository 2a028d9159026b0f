"""The name of the program in suggested commands; and opening a bundle for a command."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.study.errors import typed
from steelyard.workflow.complaint import say

if TYPE_CHECKING:
    from steelyard.bundle.reader import Bundle


def program(folder: Path | None = None) -> str:
    """`steelyard` where that is on the PATH, else this call as it is typed in the folder (default: here)."""
    if shutil.which("steelyard"):
        return "steelyard"
    called = Path(sys.argv[0])
    if called.name == "__main__.py":
        return f"{typed(Path(sys.executable))} -m steelyard.cli"
    place = os.path.relpath(called, folder)
    # without a folder a shell looks for it on the path alone
    return typed(Path(place)) if os.sep in place else f"./{typed(Path(place))}"


def opened(path: Path) -> Bundle:
    """The bundle; damaged runs that it leaves out are listed on standard error. Raises InputError."""
    from steelyard.bundle.reader import Bundle

    bundle = Bundle(path)
    for _, text in bundle.inventory.notices:
        say(f"warning: {path}: {text}")
    return bundle
