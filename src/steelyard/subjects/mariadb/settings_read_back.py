"""Whether a MariaDB server took a setting: compares the requested value with the server's."""

from __future__ import annotations

from steelyard.study.key_types import Setting
from steelyard.study.setting_names import folded

# https://mariadb.com/docs/server/server-management/variables-and-modes: sizes take K, M, G, T, P, E
_SUFFIXES = {letter: 1024**power for power, letter in enumerate("KMGTPE", start=1)}
_BLOCK, _ROUNDED = 128, 0.01
_TRUE, _FALSE = {"on", "true", "yes", "1"}, {"off", "false", "no", "0"}


def written(value: Setting) -> str:
    """A setting as text, for an option of the server."""
    if isinstance(value, bool):
        return "ON" if value else "OFF"
    return str(value)


def argument(name: str, value: Setting) -> str:
    """A setting on the command line. log_bin takes a text: `off` would be the name of a file."""
    if folded(name).startswith("skip_") and taken(True, written(value)):
        return f"--{name.replace('_', '-')}"
    if folded(name) == "log_bin" and taken(False, written(value)):
        return "--skip-log-bin"
    return f"--{name.replace('_', '-')}={written(value)}"


def taken(requested: Setting, shown: str) -> bool:
    """Whether `shown`, of SHOW VARIABLES, is the requested value."""
    want, have = written(requested).strip().lower(), shown.strip().lower()
    if want == have:
        return True
    for words in (_TRUE, _FALSE):
        if want in words and have in words:
            return True
    number, other = _amount(want), _amount(have)
    if number is None or other is None:
        return False
    # sizes are rounded to blocks of the server
    return number == other or (other % _BLOCK == 0 and abs(number - other) < _ROUNDED * number)


def _amount(text: str) -> float | None:
    digits, factor = text.removesuffix("b"), 1
    if digits[-1:].upper() in _SUFFIXES:
        digits, factor = digits[:-1], _SUFFIXES[digits[-1].upper()]
    try:
        return float(digits) * factor
    except ValueError:
        return None
