"""What a session of PostgreSQL is told, is asked, and tells of its server."""

from __future__ import annotations

from steelyard.study.plan import Option
from steelyard.study.spec import Subject
from steelyard.subjects.postgres_settings import written

# a session's prepared statements and memory are shown to that session alone
INSPECT = {
    "prepared": "select count(*) as statements, coalesce(sum(generic_plans), 0) as generic_plans,"
    " coalesce(sum(custom_plans), 0) as custom_plans from pg_prepared_statements",
    "memory": "select sum(total_bytes) as session_bytes,"
    " coalesce(sum(total_bytes) filter (where name like 'CachedPlan%'), 0) as plan_cache_bytes"
    " from pg_backend_memory_contexts",
}


def session_statements(subject: Subject, option: Option) -> tuple[str, ...]:
    """SET statements of the study's session settings, the option's last."""
    session = {**subject.session, **option.changes.get("session", {})}
    return tuple(f"set {name} = {_literal(written(value))}" for name, value in session.items())


def _literal(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
