"""Plans that the load engine refuses by name, and histograms that are none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from servers import LOOKUP, plan

from steelyard import _core

NOWHERE = {
    "host": "/nowhere", "port": 5432, "user": "nobody", "password": None, "database": "null",
    "tls": "disable", "ca_file": None,
}  # fmt: skip

# one client executes nothing but the second
BESIDE = [
    {"name": "t", "weight": 1, "statements": ["lookup"]},
    {"name": "u", "weight": 0, "statements": ["lookup"], "clients": 1},
]


def run(asked: dict[str, Any]) -> None:
    _core.load_run(json.dumps(asked), lambda _line: None)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"handle": "none", "parameters": "client"}, "parameters"),
        ({"handle": "named", "text": "unique"}, "text"),
        ({"handle": "unamed"}, "unamed"),
        ({"points": []}, "points"),
        ({"points": [0]}, "points"),
        ({"threads": 0}, "threads"),
        ({"measure_s": 0}, "measure_s"),
        ({"warm_up_s": -1}, "warm_up_s"),
        ({"speed": 3}, "speed"),
        ({"statements": [{**LOOKUP, "parameters": {}}]}, "id"),
        ({"statements": [{**LOOKUP, "sql": "select 1"}]}, "id"),
        ({"statements": [{**LOOKUP, "name": "transaction"}]}, "transaction"),
        ({"transactions": []}, "transactions"),
        ({"transactions": [{"name": "t", "weight": 0, "statements": ["lookup"]}]}, "weight"),
        ({"transactions": [{"name": "t", "weight": 1, "statements": ["gone"]}]}, "gone"),
        ({"text": "distinct", "distinct_texts": 0}, "distinct_texts"),
        ({"arrival": {"kind": "open", "rate_per_s": 0, "spacing": "even"}}, "rate_per_s"),
        ({"arrival": {"kind": "closed", "think_ms": -1, "think": "fixed"}}, "think_ms"),
        ({"transactions": BESIDE, "pipeline": 2}, "closed loop"),
        (
            {"transactions": BESIDE, "arrival": {"kind": "open", "rate_per_s": 1, "spacing": "even"}},
            "closed loop",
        ),
    ],
)
def test_a_bad_plan_is_refused_by_its_field(change: dict[str, Any], field: str) -> None:
    with pytest.raises(_core.PlanError, match=field):
        run(plan(NOWHERE, **change))


@pytest.mark.parametrize(
    "generator",
    [
        {"kind": "uniform", "low": 2, "high": 1},
        {"kind": "zipf", "low": 1, "high": 2, "exponent": -1},
        {"kind": "choice", "values": []},
        {"kind": "dice"},
    ],
)
def test_a_bad_generator_is_refused(generator: dict[str, Any]) -> None:
    statement = {**LOOKUP, "parameters": {"id": generator}}
    with pytest.raises(_core.PlanError):
        run(plan(NOWHERE, statements=[statement]))


def test_a_histogram_that_is_none_is_refused() -> None:
    for encoded in (b"", b"nonsense"):
        with pytest.raises(ValueError, match="histogram"):
            _core.histogram_summary(encoded)
    count, *_ = _core.histogram_summary(_core.histogram_merge([]))
    assert count == 0
