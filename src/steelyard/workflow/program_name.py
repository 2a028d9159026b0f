"""The name of the program in suggested commands; and opening a bundle for a command."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.workflow.complaint import say

if TYPE_CHECKING:
    from steelyard.bundle.reader import Bundle


def program() -> str:
    """`steelyard` where that is on the PATH, else the path of this call."""
    return "steelyard" if shutil.which("steelyard") else os.path.relpath(sys.argv[0])


def opened(path: Path) -> Bundle:
    """The bundle; damaged runs that it leaves out are listed on standard error. Raises InputError."""
    from steelyard.bundle.reader import Bundle

    bundle = Bundle(path)
    for _, text in bundle.inventory.notices:
        say(f"warning: {path}: {text}")
    return bundle
