"""Settings in the form of postgresql.conf."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from steelyard.study.errors import InputError
from steelyard.study.setting_names import names_of
from steelyard.study.source import text_of

_LINE = re.compile(
    r"\s*(?:(?P<name>[A-Za-z_][\w.]*)(?:\s*=\s*|\s+)(?P<value>'(?:[^']|'')*'|[^\s#'=][^\s#']*))?\s*(?:#.*)?"
)


@dataclass(frozen=True)
class FileSettings:
    """Value by name; of a name that comes twice the last. left_out: a sentence per line that is the lab's."""

    settings: dict[str, str]
    left_out: tuple[str, ...]


def settings_of(path: Path) -> FileSettings:
    """The settings of a file that an option may have. Raises InputError with file and line."""
    try:
        lines = text_of(path).splitlines()
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    names = names_of("postgresql")
    found: dict[str, str] = {}
    left_out: list[str] = []
    for number, line in enumerate(lines, start=1):
        match = _LINE.fullmatch(line)
        if match is None:
            # without the line, which may hold a password
            raise InputError(f"{path}:{number}: not a setting", "name = value, a text in quotes: '64 MB'")
        if not (name := match["name"]):
            continue
        if name.lower().startswith("include"):
            raise InputError(
                f"{path}:{number}: {name} is not supported",
                "put its settings into this file, and remove the line",
            )
        value: str = match["value"]
        value = value[1:-1].replace("''", "'") if value[0] == "'" else value
        if reason := names.reason(name, value):
            # without the value, which may hold a password
            instead = names.hint(name, "")
            left_out.append(f"{path}:{number}: {name} is left out: {reason}" + (instead and f" ({instead})"))
        else:
            found[name.lower()] = value
    if not found:
        raise InputError("\n".join([f"{path}: has no setting for an option", *left_out]))
    return FileSettings(found, tuple(left_out))
