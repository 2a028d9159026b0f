"""Settings in the notation of valkey.conf, and as the server shows them."""

from __future__ import annotations

from steelyard.study.key_types import Setting

# https://valkey.io/topics/valkey.conf: units are case-insensitive
_UNITS = {"k": 1000, "kb": 1024, "m": 1000**2, "mb": 1024**2, "g": 1000**3, "gb": 1024**3}


def written(value: Setting) -> str:
    """A setting as text, in the notation of valkey.conf."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def taken(requested: Setting, shown: str) -> bool:
    """Whether `shown`, of CONFIG GET, is the requested value: sizes are shown in bytes."""
    want, have = written(requested).strip().lower(), shown.strip().lower()
    return want == have or (_amount(want) is not None and _amount(want) == _amount(have))


def _amount(text: str) -> float | None:
    digits = text.rstrip("kmgb")
    try:
        return float(digits) * _UNITS.get(text[len(digits) :] or "b", 1)
    except ValueError:
        return None
