"""How the user calls us, for the commands that we suggest, and with which bundle."""

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
    """By name where it is on the path, else as it was called just now."""
    return "steelyard" if shutil.which("steelyard") else os.path.relpath(sys.argv[0])


def opened(path: Path) -> Bundle:
    """The bundle; what is left out of it is said on standard error. Raises InputError."""
    from steelyard.bundle.reader import Bundle

    bundle = Bundle(path)
    for _, text in bundle.inventory.notices:
        say(f"warning: {path}: {text}")
    return bundle
