"""Settings of a PostgreSQL session, set and read back; inspection of a session and its server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg import sql

from steelyard.study.errors import InputError
from steelyard.study.factors import place_of_setting
from steelyard.study.key_types import Setting
from steelyard.study.plan import Option
from steelyard.study.study import Study
from steelyard.subjects import SubjectFailed
from steelyard.subjects.postgres.settings_read_back import not_taken, written

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


def read_back_session(connection: psycopg.Connection[Any], study: Study, option: Option) -> None:
    """Sets them in this session and reads each back. Raises InputError at one that is not as requested."""
    for (name, value), statement in zip(option.session.items(), session_statements(option), strict=True):
        try:
            connection.execute(statement.encode())
            words = "; ".join(not_taken(connection, {name: value}, in_session=True))
        except psycopg.Error as error:
            words = error.diag.message_primary or str(error).strip()
        if words:
            place = place_of_setting(study, option.levels, "session", name)
            raise InputError(f"option {option.label}: {name} = {written(value)}: {words}", at=place)


def refuse_not_taken(
    connection: psycopg.Connection[Any], requested: Mapping[str, Setting], option: Option
) -> None:
    """Reads settings back from the server. Raises SubjectFailed, which names refused ones."""
    if sentences := list(not_taken(connection, requested, in_session=False)):
        raise SubjectFailed(f"option {option.label}: {'; '.join(sentences)}")


def _literal(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
