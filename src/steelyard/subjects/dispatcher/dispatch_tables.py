"""Dispatch tables by name or from a file in the format of `dispadmin -g`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from steelyard import _core
from steelyard.study.errors import InputError

_BUILT_IN = ("standard", "extended")
_COLUMNS = {
    "TS": ("quantum_ms", "tqexp", "slpret", "maxwait_s", "lwait"),
    "RT": ("quantum_ms",),
    "FX": ("quantum_ms",),
}
_COLUMNS["IA"] = _COLUMNS["TS"]


@dataclass(frozen=True)
class DispatchTable:
    """A valid table. text: as dispadmin prints it on a machine of the given hz."""

    name: str
    class_name: str
    text: str

    def levels(self) -> list[dict[str, float]]:
        """The columns of each level, from level 0 on: quantum_ms, and for TS and IA tqexp and others."""
        (resolution,), *rows = filter(
            None, (line.partition("#")[0].split() for line in self.text.splitlines())
        )
        per_s = int(resolution.removeprefix("RES="))
        levels = [
            dict[str, float](zip(_COLUMNS[self.class_name], map(int, row), strict=True)) for row in rows
        ]
        for level in levels if per_s != 1000 else ():
            level["quantum_ms"] = level["quantum_ms"] * 1000 / per_s
        return levels


def read_table(name: str, class_name: str = "TS", hz: int = 100) -> DispatchTable:
    """The built-in table of that name, else the file. class_name: TS, IA, RT or FX.

    Raises InputError for a missing file, or with file, line and cause for an error in it.
    """
    built_in = name in _BUILT_IN[: 2 if class_name in ("TS", "IA") else 1]
    given = name if built_in else _text(name, class_name)
    try:
        return DispatchTable(name, class_name, _core.dispatch_table(class_name, given, hz))
    except _core.TableError as error:
        line, cause = error.args
        hint = f"`steelyard dispatch standard --class {class_name}` prints a table to start from"
        raise InputError(f"{name}:{line}: {cause}", hint) from None


def _text(name: str, class_name: str) -> str:
    known = " and extended" if class_name in ("TS", "IA") else ""
    hint = f"built-in for {class_name}: standard{known}; else a file in the format of `dispadmin -g`"
    try:
        return Path(name).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{name}: not a text file", hint) from None
    except OSError as error:
        raise InputError(f"no dispatch table {name}: {error.strerror}", hint) from None
