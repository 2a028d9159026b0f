"""Settings of a MariaDB session, set and read back; inspection of a session and its server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pymysql

from steelyard.study.errors import InputError
from steelyard.study.factors import place_of_setting
from steelyard.study.key_types import Setting
from steelyard.study.plan import Option
from steelyard.study.study import Study
from steelyard.subjects import SubjectFailed
from steelyard.subjects.mariadb.settings_read_back import taken, written

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


def read_back_session(connection: pymysql.Connection[Any], study: Study, option: Option) -> None:
    """Sets them in this session and reads each back. Raises InputError at one that is not as requested."""
    for (name, value), statement in zip(option.session.items(), session_statements(option), strict=True):
        try:
            with connection.cursor() as cursor:
                cursor.execute(statement)
            words = _not_taken(variables(connection, "session"), name, value)
        except pymysql.MySQLError as error:
            words = f"{statement}: {error_text(error)}"
        if words:
            place = place_of_setting(study, option.levels, "session", name)
            raise InputError(f"option {option.label}: {words}", at=place)


def variables(connection: pymysql.Connection[Any], scope: str) -> dict[str, str]:
    """Every variable of the scope, global or session. Raises pymysql.MySQLError."""
    with connection.cursor() as cursor:
        cursor.execute(f"show {scope} variables")
        return {str(name): str(value) for name, value in cursor.fetchall()}


def refuse_not_taken(shown: Mapping[str, str], requested: Mapping[str, Setting], option: Option) -> None:
    """Raises SubjectFailed for settings that the server does not show as requested."""
    for name, value in requested.items():
        if words := _not_taken(shown, name, value):
            raise SubjectFailed(f"option {option.label}: {words}")


def _not_taken(shown: Mapping[str, str], name: str, value: Setting) -> str:
    """A sentence where the server does not show a setting as requested; '' where it does."""
    has = shown.get(name.replace("-", "_").lower())
    if has is None:
        return f"this server has no setting {name}"
    return "" if taken(value, has) else f"the server did not take {name} = {written(value)}: it has {has}"


def error_text(error: pymysql.MySQLError) -> str:
    """The server's message with its number: pymysql gives both as the error's arguments."""
    return " ".join(str(part) for part in error.args)


def _literal(value: Setting) -> str:
    if isinstance(value, bool | int | float):
        return written(value)
    return "'" + str(value).replace("\\", "\\\\").replace("'", "''") + "'"
