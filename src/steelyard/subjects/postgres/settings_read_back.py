"""Whether a PostgreSQL server took the settings that it was started with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import psycopg

from steelyard.study.key_types import Setting
from steelyard.subjects.rehearsal import SettingsRefused

# a session of the lab lifts some limits for itself, and has its own client_encoding
_GIVEN = ("command line", "session", "client")
# values that leave the choice to the server
_CHOOSE = ("-1", "0")
_NO_SUCH = "an extension's setting exists only when shared_preload_libraries names it"


def refuse_not_taken(connection: psycopg.Connection[Any], requested: Mapping[str, Setting]) -> None:
    """Raises SettingsRefused for settings that are not those of the command line, psycopg.Error.

    A server refuses a value that it cannot take, but accepts any name with a dot, even an unknown one; and
    what a database or a role sets counts more (PostgreSQL manual, "Setting Parameters").
    """
    rows = connection.execute(
        "select lower(name), reset_val || coalesce(' ' || unit, ''), source from pg_settings"
    ).fetchall()
    known = {str(name): (value, source) for name, value, source in rows}
    refused: dict[str, str] = {}
    for name, given in requested.items():
        value, (has, source) = written(given), known.get(name.lower(), ("", ""))
        if not source:
            refused[name] = f"this server has no setting {name} ({_NO_SUCH})"
        elif source not in _GIVEN and not (source == "override" and value in _CHOOSE):
            refused[name] = f"the server did not take {name} = {value}: it has {has} (source: {source})"
    if refused:
        raise SettingsRefused("server", refused)


def written(value: Setting) -> str:
    """A setting as text, in PostgreSQL's notation."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)
