"""Whether a PostgreSQL server took a setting: compares what was asked with what it says it has."""

from __future__ import annotations

from steelyard.study.model import Setting

# https://www.postgresql.org/docs/current/config-setting.html: 1 kB is 1024 bytes
_BYTES = {"B": 1, "kB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}
_MICROSECONDS = {
    "us": 1,
    "ms": 10**3,
    "s": 10**6,
    "min": 60 * 10**6,
    "h": 3600 * 10**6,
    "d": 86400 * 10**6,
}
_TRUE, _FALSE = {"on", "true", "yes", "1"}, {"off", "false", "no", "0"}


def written(value: Setting) -> str:
    """A setting as PostgreSQL writes it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def taken(asked: Setting, shown: str, unit: str | None, kind: str) -> bool:
    """Whether `shown`, in `unit` (as in pg_settings), is what was asked. kind: pg_settings.vartype."""
    want = written(asked).strip()
    if kind == "bool":
        return _truth(want) is not None and _truth(want) == _truth(shown)
    if kind in ("integer", "real"):
        wanted = _amount(want, unit or "")
        have = _amount(shown, unit or "")
        if wanted is None or have is None:
            return False
        # the server rounds to its unit: 100kB of 8kB pages is 12 or 13 of them
        return abs(wanted - have) <= max(_amount("1", unit or "") or 1, 1) * (1 if unit else 1e-6)
    if kind == "enum":
        return want.lower() == shown.lower() or (_truth(want) is not None and _truth(want) == _truth(shown))
    return want == shown


def _truth(word: str) -> bool | None:
    word = word.lower()
    return True if word in _TRUE else False if word in _FALSE else None


def _amount(text: str, default_unit: str) -> float | None:
    """A number with its unit, in bytes or microseconds; without unit it is in default_unit."""
    digits = text.rstrip("kKMGTBusmindh ")
    unit = text[len(digits) :].strip() or default_unit
    multiple = default_unit[: -len(default_unit.lstrip("0123456789"))] if default_unit else ""
    bare = default_unit.lstrip("0123456789")
    try:
        number = float(digits)
    except ValueError:
        return None
    if unit == default_unit:
        number *= float(multiple or 1)
        unit = bare
    if not unit:
        return number
    for table in (_BYTES, _MICROSECONDS):
        if unit in table:
            return number * table[unit]
    return None
