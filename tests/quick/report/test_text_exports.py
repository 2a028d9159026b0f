import json
from dataclasses import replace
from typing import Any

import builders
import pytest

from steelyard.bundle.series.read import Series
from steelyard.report.export import judgement_json, judgement_schema, to_markdown
from steelyard.report.presented import Presented


def _check(value: Any, schema: dict[str, Any], root: dict[str, Any], at: str = "$") -> None:
    """The part of JSON Schema that ours uses; an unknown keyword fails."""
    known = {
        "$ref", "$schema", "$id", "$defs", "title", "description", "type", "const", "enum", "anyOf",
        "properties", "required", "additionalProperties", "items", "default",
    }  # fmt: skip
    assert set(schema) <= known, (at, set(schema) - known)
    if "$ref" in schema:
        _check(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root, at)
    if "const" in schema:
        assert value == schema["const"], at
    if "enum" in schema:
        assert value in schema["enum"], at
    if "anyOf" in schema:
        assert any(_suits(value, part, root) for part in schema["anyOf"]), at
    types: dict[str, type | tuple[type, ...]] = {
        "object": dict, "array": list, "string": str, "number": (int, float), "integer": int,
        "boolean": bool, "null": type(None),
    }  # fmt: skip
    wanted = schema.get("type", [])
    names = [wanted] if isinstance(wanted, str) else wanted
    assert not names or any(isinstance(value, types[name]) for name in names), (at, value, names)
    if isinstance(value, dict):
        assert set(schema.get("required", ())) <= set(value), at
        for key, part in value.items():
            inner = schema.get("properties", {}).get(key, schema.get("additionalProperties"))
            if isinstance(inner, dict):
                _check(part, inner, root, f"{at}.{key}")
    if isinstance(value, list) and "items" in schema:
        for place, part in enumerate(value):
            _check(part, schema["items"], root, f"{at}[{place}]")


def _suits(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> bool:
    try:
        _check(value, schema, root)
    except AssertionError:
        return False
    return True


@pytest.mark.parametrize("name", ["two", "scaling", "matrix", "hostile"])
def test_json_satisfies_its_published_schema(name: str) -> None:
    judgement, _, about = getattr(builders, name)()
    data = json.loads(json.dumps(judgement_json(Presented(judgement, Series(), about)), allow_nan=False))
    schema = judgement_schema()
    _check(data, schema, schema)
    assert data["schema"] == "steelyard/judgement/1"
    for line in ("headline", "interval", "consequence"):
        assert data["judgement"]["verdict"][line] == getattr(judgement.verdict, line)


def test_schema_refuses_what_is_not_a_judgement() -> None:
    judgement, _, about = builders.two()
    data = judgement_json(Presented(judgement, Series(), about))
    del data["judgement"]["verdict"]
    schema = judgement_schema()
    with pytest.raises(AssertionError):
        _check(data, schema, schema)


def test_an_infinite_interval_is_null_in_json() -> None:
    judgement, _, about = builders.two()
    endless = tuple(replace(item, high=float("inf")) for item in judgement.estimates)
    data = judgement_json(Presented(replace(judgement, estimates=endless), Series(), about))
    assert data["judgement"]["estimates"][0]["high"] is None
    schema = judgement_schema()
    _check(data, schema, schema)


def test_markdown_holds_verdict_and_a_row_an_option() -> None:
    judgement, _, about = builders.scaling()
    text = to_markdown(Presented(judgement, Series(), about))
    headline, interval, _ = judgement.verdict.lines
    assert f"{headline}  \n{interval}  \n" in text
    rows = [line for line in text.splitlines() if line.startswith(("| ▲", "| =", "| ·", "| ~", "| ▼"))]
    assert len(rows) == len(judgement.options)
    assert {line.count("|") for line in rows} == {9}


def test_markdown_takes_hostile_text_as_text() -> None:
    judgement, _, about = builders.hostile()
    text = to_markdown(Presented(judgement, Series(), about))
    assert '\\<script src="https' in text
    assert "\\<b onclick" in text
