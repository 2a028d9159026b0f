"""Turns pydantic's errors of a study file into sentences for its author."""

import re
from collections.abc import Mapping
from itertools import groupby
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from steelyard.errors import InputError, brief, nearest
from steelyard.study.source import line_of, toml_of
from steelyard.study.workloads.statements import NO_PGBENCH_SCRIPTS

_Item = Mapping[str, Any]
_Model = TypeVar("_Model", bound=BaseModel)
_MOST_ERRORS = 20
# the expected type, by the type of the error
_EXPECTED = {
    "string_type": "a text in quotes",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
}


def explain(item: _Item) -> str:
    """One error of a pydantic model as a sentence for the author of the value."""
    given = item.get("input")
    shown, context = brief(str(given)), item.get("ctx", {})
    # an entry of a list has no name of its own
    key = next((part for part in reversed(item["loc"]) if isinstance(part, str)), "value")
    match item["type"]:
        case "missing":
            return f'missing key "{key}"'
        case "literal_error":
            expected = re.findall(r"'([^']*)'", str(context["expected"]))
            return f'unknown {key} "{shown}"{nearest(str(given), expected)}'
        case "union_tag_invalid":
            expected = re.findall(r"'([^']*)'", str(context["expected_tags"]))
            tag = context["tag"]
            return f'unknown kind "{brief(str(tag))}"{nearest(str(tag), expected)}'
        case "union_tag_not_found":
            return 'missing key "kind"'
        case "too_short":
            few = context["min_length"]
            return f"too few entries: {context['actual_length']} (at least {few})"
        case "too_long":
            many = context["max_length"]
            return f"too many entries: {context['actual_length']:,} (at most {many:,})"
        case kind if kind in _EXPECTED:
            return f"expected {_EXPECTED[kind]}{_given(given)}"
        case _:
            return f"{str(item['msg']).removeprefix('Value error, ')}{_given(given)}"


def _given(value: Any) -> str:
    return "" if isinstance(value, dict) else f" (given: {brief(repr(value))})"


def validated(model: type[_Model], keys: _Item, text: str, origin: str, hint: str = "") -> _Model:
    """The keys of a file, checked. text: of the file; origin: its name. Raises InputError."""
    try:
        return model.model_validate(keys)
    except ValidationError as error:
        raw = toml_of(text, origin)
        found: list[str] = []
        for _, alike in groupby(error.errors(include_url=False), lambda item: _path(item, raw)):
            items = list(alike)
            needed = [_EXPECTED.get(item["type"], "") for item in items]
            if len(items) > 1 and all(needed):
                # a value of several allowed types failed as each of them
                either = f"{', '.join(needed[:-1])} or {needed[-1]}"
                items = [{**items[0], "type": "either", "msg": f"expected {either}"}]
            found += [_placed(item, raw, text, origin) for item in items[:_MOST_ERRORS]]
            if len(found) >= _MOST_ERRORS:
                break
        more = error.error_count() - len(found)
        if more > 0 and len(found) >= _MOST_ERRORS:
            found.append(f"and {more:,} more")
        raise InputError("\n".join(found), hint) from None


def _placed(item: _Item, raw: _Item, text: str, origin: str) -> str:
    path = _path(item, raw)
    where = f"{origin}:{line_of(text, path) or 1}: {'.'.join(map(str, path)) or 'study'}"
    if item["type"] == "value_error" and path == ["workload", "script"]:
        return f'{where}: unknown key "script": {NO_PGBENCH_SCRIPTS}'
    return f"{where}: {explain(item)}"


def _path(item: _Item, raw: Any) -> list[str | int]:
    """The path of an error in the file: pydantic's path without its names for members of unions."""
    path: list[str | int] = []
    value = raw
    for part in item["loc"]:
        here = _part(value, part)
        if here is not None or (item["type"] == "missing" and part == item["loc"][-1]):
            path.append(part)
            value = here
    return path


def _part(value: Any, part: str | int) -> Any:
    """The value in the file under a key or an index; None where there is none."""
    try:
        return value[part]
    except (KeyError, IndexError, TypeError):
        return None
