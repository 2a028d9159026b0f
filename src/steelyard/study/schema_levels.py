"""Levels of scope schema: SQL of the study, or SQL of the workload that a level switches on."""

from __future__ import annotations

from steelyard.study.errors import InputError, nearest
from steelyard.study.key_types import Setting
from steelyard.study.study import Factor, Study

# keys of a level that is a table
_SQL_KEYS = ("sql", "sql_file")


def sql_of(study: Study, factor: str, level: Setting) -> str:
    """The SQL of a level; '' leaves the data as they are."""
    setting = study.factors[factor].setting
    if setting is None:
        return str(level)
    return study.workload.schema_settings()[setting] if level else ""


def check_schema_levels(study: Study, name: str, factor: Factor) -> None:
    """Raises InputError for a level that is neither SQL nor a choice of the workload's."""
    if factor.setting is None:
        _check_sql(name, factor)
    else:
        _check_setting(study, name, factor)


def _check_sql(name: str, factor: Factor) -> None:
    for code, level in factor.levels.items():
        at = ("factors", name, "levels", code)
        table = level if isinstance(level, dict) else {"sql": level}
        for key in table:
            if key not in _SQL_KEYS:
                raise InputError(f'unknown key "{key}"{nearest(key, _SQL_KEYS)}', at=at)
        if not isinstance(table.get("sql"), str):
            raise InputError("expected SQL, a text in quotes", '"" leaves the data as they are', at)


def _check_setting(study: Study, name: str, factor: Factor) -> None:
    known = study.workload.schema_settings()
    at = ("factors", name, "setting")
    if not known:
        raise InputError("has no effect: a level of scope schema is SQL", "remove it", at)
    if factor.setting not in known:
        raise InputError(f'no setting "{factor.setting}"{nearest(str(factor.setting), known)}', at=at)
    for code, level in factor.levels.items():
        if not isinstance(level, bool):
            raise InputError("expected true or false", at=("factors", name, "levels", code))
