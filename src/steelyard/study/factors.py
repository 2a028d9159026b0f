"""Factors: the settings of their levels, and the checks for impossible levels and levels without effect."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar

from pydantic import ValidationError

from steelyard.errors import InputError, nearest
from steelyard.study.host_settings import check_setting, file_of
from steelyard.study.kernel_files import out_of_range, why_refused
from steelyard.study.key_types import KeyPath, Setting, Settings, SettingTable
from steelyard.study.passwords import secret_written
from steelyard.study.study import Factor, Scope, Study
from steelyard.study.validation_errors import explain
from steelyard.study.workloads.threads import ThreadsWorkload
from steelyard.study.workloads.workload import Workload

# keys of a level that is a table
Codes = Mapping[str, str]  # of levels, by factor
_SQL_KEYS = ("sql", "sql_file")


def sql_of(study: Study, factor: str, level: Setting) -> str:
    """The SQL of a level; '' leaves the data as they are."""
    setting = study.factors[factor].setting
    if setting is None:
        return str(level)
    return study.workload.schema_settings()[setting] if level else ""


def _check_schema_levels(study: Study, name: str, factor: Factor) -> None:
    """Raises InputError for a level that is neither SQL nor a choice of the workload's."""
    if factor.setting is not None:
        _check_setting(study, name, factor)
        return
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


_W = TypeVar("_W", bound=Workload)

# columns of the table `runs`, where factors become columns, and the key of an exclusion's reason
_RESERVED = {
    "run", "option", "block", "slot", "attempt", "status", "disturbed_share", "cause", "started_at",
    "seconds", "why",
}  # fmt: skip
# where a study gives settings of a scope that are not those of a level
_PLACES: Mapping[Scope, KeyPath] = {
    "server": ("subject", "settings"),
    "session": ("subject", "session"),
    "client": ("workload",),
    "host": ("host",),
}


def changes_of(study: Study, levels: Codes) -> dict[Scope, SettingTable]:
    """The settings of a combination of levels (code by factor), by scope."""
    found: dict[Scope, SettingTable] = {}
    for name, code in levels.items():
        factor = study.factors[name]
        found.setdefault(factor.scope, {}).update(settings_of(name, factor)[code])
    return found


def changed(workload: _W, client: Settings) -> _W:
    """The workload with client settings in place of its own. Raises ValidationError."""
    raw = workload.model_dump(exclude_unset=True)
    paths = workload.client_settings()
    for key, value in client.items():
        *path, last = paths[key]
        table = raw
        for part in path:
            table = table.setdefault(part, {})
        table[last] = value
    return type(workload).model_validate(raw)


def table_factor(study: Study) -> str | None:
    """The factor whose levels set the table of a simulated machine."""
    if not isinstance(study.workload, ThreadsWorkload):
        return None
    for name, factor in study.factors.items():
        if factor.scope == "server" and all("table" in s for s in settings_of(name, factor).values()):
            return name
    return None


def matches(rule: Mapping[str, str | list[str]], levels: Codes) -> bool:
    """Whether an exclusion leaves this combination of levels out."""
    return all(levels[name] in _as_list(codes) for name, codes in rule.items() if name != "why")


def check_factors(study: Study) -> None:
    """Raises InputError for unknown names in factors and exclusions, and for two factors of one key."""
    taken: dict[tuple[Scope, str], str] = {}
    for name, factor in study.factors.items():
        if name in _RESERVED:
            raise InputError(
                f'"{name}" is reserved and cannot be the name of a factor',
                "choose another name",
                ("factors", name),
            )
        if len(factor.levels) < 2 and study.subject.kind != "recording":
            raise InputError("too few levels: 1 (at least 2)", at=("factors", name, "levels"))
        _check_levels(study, name, factor)
        for key in {key for settings in settings_of(name, factor).values() for key in settings}:
            other = taken.setdefault((factor.scope, key), name)
            if other != name:
                raise InputError(
                    f"the factors {other} and {name} both set {key}: one would overwrite the other",
                    "combine them into one factor whose levels set several settings",
                    ("factors", name),
                )
    _check_fixed(study, "server")
    _check_fixed(study, "session")
    for at, key, value in (*settings_given(study, "server"), *settings_given(study, "session")):
        if secret_written(key, value):
            raise InputError(
                f"{key}: a password in the study would be copied into every bundle",
                "leave it out: settings have no ${NAME}; a connection may name a passfile",
                at,
            )
    for (*above, key), _, value in settings_given(study, "host"):
        at = above if above[1:] else ("host", key)
        with located_at(at):
            check_setting(key, value)
        if reason := why_refused(file_of(key)):
            raise InputError(f"no study can set {key}: {reason}", "remove it", at)
        if reason := out_of_range(file_of(key), str(value)):
            raise InputError(f"{key} = {value}: {reason}", at=at)
    _check_fixed(study, "host")
    for number, rule in enumerate(study.exclude):
        _check_exclusion(study, number, rule)


def _check_levels(study: Study, name: str, factor: Factor) -> None:
    """Client settings are checked now; settings and SQL of a server only when it has started."""
    if factor.scope == "schema":
        _check_schema_levels(study, name, factor)
        return
    known: Sequence[str] | None = {
        "version": ["bindir"],
        "client": sorted(study.workload.client_settings()),
    }.get(factor.scope)
    for code, settings in settings_of(name, factor).items():
        at = ("factors", name, "levels", code)
        for key in settings:
            if known is not None and key not in known:
                raise InputError(
                    f'no setting "{key}" of scope {factor.scope}{nearest(key, known)}',
                    f'setting = "{known[0]}"' if len(known) == 1 else "",
                    at,
                )
        if factor.scope == "client":
            try:
                changed(study.workload, settings)
            except ValidationError as error:
                raise InputError(explain(error.errors()[0]), at=at) from None


def _check_fixed(study: Study, scope: Scope) -> None:
    fixed = [(at, key) for at, key, _ in settings_given(study, scope) if at[0] != "factors"]
    for name, factor in study.factors.items():
        if factor.scope != scope:
            continue
        for at, key in fixed:
            if all(key in settings for settings in settings_of(name, factor).values()):
                raise InputError(f"has no effect: every level of the factor {name} sets it", "remove it", at)


def _check_exclusion(study: Study, number: int, rule: Mapping[str, str | list[str]]) -> None:
    at = ("exclude", number)
    if not set(rule) - {"why"}:
        raise InputError("the exclusion names no factor: give codes by factor", at=at)
    for name, codes in rule.items():
        if name == "why":
            continue
        if name not in study.factors:
            raise InputError(f'no factor "{name}"{nearest(name, study.factors)}', at=(*at, name))
        known = study.factors[name].levels
        for code in _as_list(codes):
            if code not in known:
                raise InputError(f'no level "{code}"{nearest(code, known)}', at=(*at, name))


def settings_of(name: str, factor: Factor) -> dict[str, Settings]:
    """The settings of each level, by its code."""
    found: dict[str, Settings] = {}
    for code, level in factor.levels.items():
        if factor.scope == "schema":
            found[code] = {name: level["sql"] if isinstance(level, dict) else level}
        else:
            found[code] = level if isinstance(level, dict) else {factor.setting or name: level}
    return found


def place_of_setting(study: Study, levels: Codes, scope: Scope, key: str) -> KeyPath:
    """Where the study gives a combination of levels this setting of a scope."""
    for at, name, _ in settings_given(study, scope):
        if name == key and at[0] == "factors" and levels[at[1]] == at[3]:
            return at
    return (*_PLACES[scope], key)


def level_of_statement(study: Study, levels: Codes, statement: str) -> KeyPath | None:
    """The place of the level that gives a statement's text; None: the text is the workload's own.

    levels: code by factor.
    """
    at = place_of_setting(study, levels, "client", f"statements.{statement}.sql")
    return at[:-1] if at[0] == "factors" else None


@contextmanager
def located_at(at: Sequence[str]) -> Generator[None]:
    """A ValueError, or an InputError without a place, concerns the key at this path."""
    try:
        yield
    except (InputError, ValueError) as error:
        raise InputError(str(error), getattr(error, "hint", ""), getattr(error, "at", ()) or at) from None


@contextmanager
def statements_located(study: Study, label: str, levels: Codes) -> Generator[None]:
    """An InputError about a statement whose text is that of a level names the level and the option."""
    try:
        yield
    except InputError as error:
        match error.at:
            case ("workload", "statements", str(name), *_) if at := level_of_statement(study, levels, name):
                raise InputError(f'option {label}: statement "{name}": {error}', error.hint, at) from None
            case _:
                raise


def settings_given(study: Study, scope: Scope) -> Iterator[tuple[KeyPath, str, Setting]]:
    """Every setting of a scope in a study, once per place: its place, its name, its value."""
    subject = study.subject
    fixed = {"server": subject.settings, "session": subject.session, "host": study.host}
    for key, value in fixed.get(scope, {}).items():
        yield (*_PLACES[scope], key), key, value
    for name, factor in study.factors.items():
        if factor.scope == scope:
            for code, level in settings_of(name, factor).items():
                at = ("factors", name, "levels", code)
                yield from (((*at, key), key, value) for key, value in level.items())


def _as_list(codes: str | list[str]) -> list[str]:
    return [codes] if isinstance(codes, str) else codes
