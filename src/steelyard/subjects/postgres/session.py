"""Settings of a PostgreSQL session, set and read back; inspection of a session and its server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import psycopg

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


def session_statements(option: Option) -> tuple[str, ...]:
    """SET statements of the study's session settings, the option's last."""
    return tuple(f"set {name} = {_literal(written(v))}" for name, v in option.session.items())


def read_back_session(connection: psycopg.Connection[Any], study: Study, option: Option) -> None:
    """Sets them in this session and reads each back. Raises InputError at a refused one; SubjectFailed."""
    for name, statement in zip(option.session, session_statements(option), strict=True):
        try:
            connection.execute(statement.encode())
        except psycopg.Error as error:
            words = error.diag.message_primary or str(error).strip()
            place = place_of_setting(study, option.levels, "session", name)
            raise InputError(f"option {option.label}: {statement}: {words}", at=place) from error
    _refuse(not_taken(connection, option.session, in_session=True), option)


def refuse_not_taken(
    connection: psycopg.Connection[Any], requested: Mapping[str, Setting], option: Option
) -> None:
    """Reads settings back from the server. Raises SubjectFailed, which names refused ones."""
    _refuse(not_taken(connection, requested, in_session=False), option)


def _refuse(wrong: Iterable[str], option: Option) -> None:
    if sentences := list(wrong):
        raise SubjectFailed(f"option {option.label}: {'; '.join(sentences)}")


def _literal(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
