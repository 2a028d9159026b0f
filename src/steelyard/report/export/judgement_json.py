"""The judgement as JSON with a published schema; a number that is not finite becomes null."""

from __future__ import annotations

import json
from typing import Any, cast

from steelyard.analysis.judgement.results import Judgement
from steelyard.report.about.about import About
from steelyard.report.presented.presented import Presented

SCHEMA = "steelyard/judgement/1"


def judgement_json(presented: Presented) -> dict[str, Any]:
    """`{"schema": ..., "all_points": ..., "judgement": ..., "about": ...}`, ready for json.dumps.

    all_points: what estimates and comparisons whose `clients` is null are; null where there is one point.
    Keys of effects' levels are codes joined by commas.
    """
    from pydantic import TypeAdapter

    judgement, about = presented.judgement, presented.about
    return {
        "schema": SCHEMA,
        "all_points": about.over("geometric mean over ") or None,
        "judgement": json.loads(TypeAdapter(Judgement).dump_json(judgement)),
        "about": json.loads(TypeAdapter(About).dump_json(about)),
    }


def to_json(presented: Presented) -> str:
    """The same as text."""
    return json.dumps(judgement_json(presented), indent=2) + "\n"


def judgement_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of what `judgement_json` gives."""
    from pydantic import TypeAdapter

    refs, shared = TypeAdapter.json_schemas(
        [
            ("judgement", "serialization", TypeAdapter(Judgement)),
            ("about", "serialization", TypeAdapter(About)),
        ]
    )
    properties = {name: schema for (name, _), schema in refs.items()}
    schema: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA,
        "title": "A judgement of Steelyard",
        "type": "object",
        "required": ["schema", "all_points", "judgement", "about"],
        "properties": {
            "schema": {"const": SCHEMA},
            "all_points": {"type": ["string", "null"]},
            **properties,
        },
        "$defs": shared.get("$defs", {}),
    }
    return cast("dict[str, Any]", _nullable(schema))


def _nullable(schema: Any) -> Any:
    """Numbers may be null: JSON has no infinity, and an interval may have no end."""
    if isinstance(schema, list):
        return [_nullable(part) for part in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    known = cast("dict[str, Any]", schema)
    out = {key: _nullable(value) for key, value in known.items()}
    if out.get("type") == "number":
        out["type"] = ["number", "null"]
    return out
