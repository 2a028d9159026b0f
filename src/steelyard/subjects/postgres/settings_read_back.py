"""Whether a PostgreSQL server took a setting: compares the requested value with the server's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import psycopg

from steelyard.study.key_types import Setting

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
_CHOOSE = {"-1", "0"}
_TRUE, _FALSE = {"on", "true", "yes", "1"}, {"off", "false", "no", "0"}


@dataclass(frozen=True)
class Shown:
    """A row of pg_settings. boot: value before any configuration; source: origin of the present value."""

    setting: str
    unit: str | None = None
    kind: str = "string"
    boot: str | None = None
    source: str = ""


def not_taken(
    connection: psycopg.Connection[Any], requested: Mapping[str, Setting], in_session: bool
) -> Iterator[str]:
    """A sentence for each setting that this session does not have as requested. Raises psycopg.Error.

    in_session: set by this session. At its start a server accepts any name with a dot, even an unknown one.
    """
    # the lab's own session is not subject to the option's defaults
    value = "setting" if in_session else "reset_val"
    rows = connection.execute(
        f"select name, {value}, unit, vartype, boot_val, source from pg_settings".encode()
    ).fetchall()
    known = {name.lower(): Shown(*row) for name, *row in rows}
    for name, value in requested.items():
        shown = known.get(name.lower()) or (_unlisted(connection, name) if in_session else None)
        if shown is None:
            yield (
                f"this server has no setting {name}"
                " (an extension's setting exists only when shared_preload_libraries names it)"
            )
        elif not taken(value, shown):
            has = f"{shown.setting} {shown.unit or ''}".rstrip()
            yield f"the server did not take {name} = {written(value)}: it has {has}"


def _unlisted(connection: psycopg.Connection[Any], name: str) -> Shown | None:
    """Settings that are not in the view: `role`, and those that the session itself created."""
    row = connection.execute("select current_setting(%s, true)", [name]).fetchone()
    return None if row is None or row[0] is None else Shown(row[0])


def written(value: Setting) -> str:
    """A setting as text, in PostgreSQL's notation."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def taken(requested: Setting, shown: Shown) -> bool:
    """Whether the server's value equals the requested one, in any unit."""
    want, has, unit = written(requested).strip(), shown.setting, shown.unit or ""
    if shown.kind == "bool":
        return _truth(want) is not None and _truth(want) == _truth(has)
    if shown.kind in ("integer", "real"):
        number, have = _amount(want, unit), _amount(has, unit)
        if number is None or have is None:
            return False
        # -1 or 0 leaves the choice to the server, which then overrides the value given at start
        if want in _CHOOSE and want == shown.boot and shown.source == "override":
            return True
        # the server rounds to its unit: 100kB of 8kB pages is 12 or 13 of them
        return abs(number - have) <= max(_amount("1", unit) or 1, 1) * (1 if unit else 1e-6)
    if shown.kind == "enum" and _truth(want) is not None and _truth(want) == _truth(has):
        return True
    # the server writes names of time zones and encodings in its own case
    return want.lower() == has.strip().lower()


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
