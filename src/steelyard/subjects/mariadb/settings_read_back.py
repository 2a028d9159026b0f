"""Whether a MariaDB server took a setting: compares the requested value with the server's."""

from __future__ import annotations

from steelyard.study.key_types import Setting

# https://mariadb.com/docs/server/server-management/variables-and-modes: sizes take K, M, G, T, P, E
_SUFFIXES = {letter: 1024**power for power, letter in enumerate("KMGTPE", start=1)}
_TRUE, _FALSE = {"on", "true", "yes", "1"}, {"off", "false", "no", "0"}


def written(value: Setting) -> str:
    """A setting as text, for an option of the server."""
    if isinstance(value, bool):
        return "ON" if value else "OFF"
    return str(value)


def taken(requested: Setting, shown: str) -> bool:
    """Whether `shown`, of SHOW VARIABLES, is the requested value."""
    want, have = written(requested).strip().lower(), shown.strip().lower()
    if want == have:
        return True
    for words in (_TRUE, _FALSE):
        if want in words:
            return have in words
    number = _amount(want)
    return number is not None and number == _amount(have)


def _amount(text: str) -> float | None:
    digits, factor = text.removesuffix("b"), 1
    if digits[-1:].upper() in _SUFFIXES:
        digits, factor = digits[:-1], _SUFFIXES[digits[-1].upper()]
    try:
        return float(digits) * factor
    except ValueError:
        return None
