"""How the user calls us, for the commands that we suggest."""

from __future__ import annotations

import os
import shutil
import sys


def program() -> str:
    """By name where it is on the path, else as it was called just now."""
    return "steelyard" if shutil.which("steelyard") else os.path.relpath(sys.argv[0])
