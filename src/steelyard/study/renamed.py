"""Renamed keys and values of study files: errors give the new name; older bundles are read under it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

# path of the old key: new name
_KEYS: dict[tuple[str, ...], str] = {
    ("probes", "sched_s"): "scheduling_trace_s",
    ("probes", "gets_s"): "latch_count_s",
    ("workload", "words"): "variables",
}
# path of the key and old value: new value
_VALUES: dict[tuple[str, ...], str] = {("subject", "kind", "command"): "program"}
# settings occur in the subject and in each level of a factor
_SETTINGS = {"front": "pooler"}
_WITH_SETTINGS = ("subject", "factors")


def new_name(path: Sequence[str | int]) -> str | None:
    """The new name of the last key of a path; None where it was not renamed."""
    return _KEYS.get(tuple(map(str, path)))


def new_value(path: Sequence[str | int], value: str) -> str | None:
    """The new name of a key's value; None where it was not renamed."""
    return _VALUES.get((*map(str, path), value))


def with_new_names(raw: Mapping[str, Any]) -> dict[str, Any]:
    """A study of an older version, under the names of this version."""
    return {
        section: _section(section, cast("Mapping[str, Any]", content))
        if isinstance(content, Mapping)
        else content
        for section, content in raw.items()
    }


def _section(name: str, content: Mapping[str, Any]) -> dict[str, Any]:
    return {
        new_name((name, key)) or key: _value((name, key), value, name in _WITH_SETTINGS)
        for key, value in content.items()
    }


def _value(path: Sequence[str], value: Any, has_settings: bool) -> Any:
    if isinstance(value, str):
        return new_value(path, value) or value
    return _settings(value) if has_settings else value


def _settings(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    settings = cast("Mapping[str, Any]", value)
    return {_SETTINGS.get(key, key): _settings(content) for key, content in settings.items()}
