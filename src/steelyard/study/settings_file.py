"""Settings in the form of postgresql.conf."""

from __future__ import annotations

import re
from pathlib import Path

from steelyard.study.errors import InputError
from steelyard.study.source import text_of

_LINE = re.compile(
    r"\s*(?:(?P<name>[A-Za-z_][\w.]*)(?:\s*=\s*|\s+)(?P<value>'(?:[^']|'')*'|[^\s#'=][^\s#']*))?\s*(?:#.*)?"
)
_INCLUDES = ("include", "include_dir", "include_if_exists")


def settings_of(path: Path) -> dict[str, str]:
    """Value by name; of a name that comes twice the last. Raises InputError with file and line."""
    try:
        lines = text_of(path).splitlines()
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    found: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        match = _LINE.fullmatch(line)
        if match is None:
            raise InputError(f"{path}:{number}: not a setting: {line.strip()[:80]}", "name = value")
        if match["name"] in _INCLUDES:
            raise InputError(
                f"{path}:{number}: {match['name']} is not supported", "give one file with all settings"
            )
        if match["name"]:
            value: str = match["value"]
            found[match["name"].lower()] = value[1:-1].replace("''", "'") if value[0] == "'" else value
    if not found:
        raise InputError(f"{path}: has no setting")
    return found
