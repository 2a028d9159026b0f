"""Kernel settings that are coupled, and those that no study may change: catalog/settings/linux.toml."""

import re
import tomllib
from contextlib import suppress
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any


def coupled(path: Path) -> set[Path]:
    """The files of this machine that the kernel changes or checks together with this one, and itself."""
    for expression, patterns in _lists()["coupled"].items():
        if found := re.fullmatch(expression, str(path)):
            return {path, *(f for pattern in patterns for f in Path("/").glob(found.expand(pattern)[1:]))}
    return {path}


def why_refused(path: Path | None) -> str:
    """Why no study may change this file, as a clause; '' where it may."""
    refused = _lists()["refused"].items()
    return next((reason for reason, name in refused if re.fullmatch(name, str(path), re.VERBOSE)), "")


def out_of_range(path: Path | None, value: str) -> str:
    """Why the kernel refuses a value, as a clause; '' where it takes it, or its range is not known."""
    low, high = _lists()["ranges"].get(str(path), (None, None))
    if low is None or value in map(str, (*range(low, high + 1), True, False)):
        return ""
    return f"the kernel takes whole numbers from {low} to {high}"


def without_effect(path: Path) -> str:
    """Why a file can change nothing on this machine, as a clause; '' where it can."""
    for reason, (names, file, content) in _lists()["without_effect"].items():
        if re.fullmatch(names, str(path)):
            with suppress(OSError):
                return reason if re.fullmatch(content, Path(file).read_text()) else ""
    return ""


@cache
def _lists() -> dict[str, Any]:
    return tomllib.loads((resources.files("steelyard.catalog") / "settings" / "linux.toml").read_text())
