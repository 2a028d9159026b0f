"""Settings of a MariaDB session, set and read back; inspection of a session and its server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pymysql

from steelyard.study.key_types import Setting
from steelyard.study.plan import Option
from steelyard.subjects.mariadb.settings_read_back import taken, written
from steelyard.subjects.rehearsal import SettingsRefused, refuse_others

# "Truncated incorrect ... value": the server took the nearest one that it allows
_TRUNCATED = 1292
_STATUS = "(select variable_value from information_schema.session_status where variable_name = '{}')"

# numbers of a session that only the session itself can read
INSPECT = {
    "prepared": "select "
    + ", ".join(
        f"{_STATUS.format(f'Com_stmt_{name}')} as {name}s" for name in ("prepare", "execute", "close")
    ),
    "memory": f"select {_STATUS.format('Memory_used')} as session_bytes",
}


def session_statements(option: Option) -> tuple[str, ...]:
    """SET statements of the study's session settings, the option's last."""
    return tuple(f"set session {name} = {_literal(value)}" for name, value in option.session.items())


def read_back_session(connection: pymysql.Connection[Any], option: Option) -> None:
    """Sets them in this session. Raises SettingsRefused."""
    refused: dict[str, str] = {}
    for (name, value), statement in zip(option.session.items(), session_statements(option), strict=True):
        if words := _refused(connection, statement):
            refused[name] = f"{name} = {written(value)}: {words}"
    if refused:
        raise SettingsRefused("session", refused)


def variables(connection: pymysql.Connection[Any], scope: str) -> dict[str, str]:
    """Every variable of the scope, global or session. Raises pymysql.MySQLError."""
    with connection.cursor() as cursor:
        cursor.execute(f"show {scope} variables")
        return {str(name): str(value) for name, value in cursor.fetchall()}


def refuse_not_taken(
    connection: pymysql.Connection[Any], shown: Mapping[str, str], requested: Mapping[str, Setting]
) -> None:
    """Raises SettingsRefused for settings that the server does not have as requested. shown: its variables.

    The server writes some values in another way: such a value is set again, which must change nothing.
    """

    def is_same(name: str, value: Setting, has: str) -> bool:
        variable = name.replace("-", "_").lower()
        return taken(value, has) or not (
            _refused(connection, f"set global {variable} = {_literal(value)}")
            or variables(connection, "global")[variable] != has
        )

    refuse_others("this server", shown, requested, is_same)


def _refused(connection: pymysql.Connection[Any], statement: str) -> str:
    """The server's words where it does not take a SET, or takes another value; '' otherwise."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(statement)
            cursor.execute("show warnings")
            return "; ".join(text for _, code, text in cursor.fetchall() if int(code) == _TRUNCATED)
    except pymysql.MySQLError as error:
        return error_text(error)


def error_text(error: pymysql.MySQLError) -> str:
    """The server's message with its number: pymysql gives both as the error's arguments."""
    return " ".join(str(part) for part in error.args)


def _literal(value: Setting) -> str:
    if isinstance(value, bool | int | float):
        return written(value)
    return "'" + str(value).replace("\\", "\\\\").replace("'", "''") + "'"
