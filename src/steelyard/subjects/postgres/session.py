"""Settings of a PostgreSQL session, set and read back; inspection of a session and its server."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import sql

from steelyard.study.plan import Option
from steelyard.subjects.postgres.settings_read_back import written
from steelyard.subjects.rehearsal import SettingsRefused

# a session's prepared statements and memory are visible only in that session
INSPECT = {
    "prepared": "select count(*) as statements, coalesce(sum(generic_plans), 0) as generic_plans,"
    " coalesce(sum(custom_plans), 0) as custom_plans from pg_prepared_statements",
    "memory": "select sum(total_bytes) as session_bytes,"
    " coalesce(sum(total_bytes) filter (where name like 'CachedPlan%'), 0) as plan_cache_bytes"
    " from pg_backend_memory_contexts",
}


def set_password(connection: psycopg.Connection[Any], user: str, password: str | None) -> None:
    """Gives a user of the server a password, kept as a SCRAM verifier; None: has no effect."""
    if password is None:
        return
    statement = sql.SQL("alter role {} password {}").format(sql.Identifier(user), sql.Literal(password))
    connection.execute("set password_encryption = 'scram-sha-256'")
    connection.execute(statement)


def turn_end(connection: psycopg.Connection[Any]) -> str:
    """SQL that makes a session pass its counts to the server's statistics now, not up to 1 s later.

    '' before version 15, where a session cannot. (PostgreSQL manual, "The Cumulative Statistics System")
    """
    return "select pg_stat_force_next_flush()" if connection.info.server_version >= 150_000 else ""


def session_statements(option: Option) -> tuple[str, ...]:
    """SQL that sets the study's session settings, the option's last."""
    # as the server reads a configuration file: SET would take `public, other` as the name of one schema
    return tuple(
        f"select set_config({_literal(name)}, {_literal(written(value))}, false)"
        for name, value in option.session.items()
    )


def read_back_session(connection: psycopg.Connection[Any], option: Option) -> None:
    """Sets them in this session. Raises SettingsRefused."""
    refused: dict[str, str] = {}
    for (name, value), statement in zip(option.session.items(), session_statements(option), strict=True):
        try:
            connection.execute(statement.encode())
        except psycopg.Error as error:
            words = error.diag.message_primary or str(error).strip()
            refused[name] = f"{name} = {written(value)}: {words}"
    if refused:
        raise SettingsRefused("session", refused)


def _literal(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
