"""A wrong key at any level of any kind of workload: its error names it, its line, and the nearest right."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, cast, get_args, get_origin

import pytest
import tomli_w
from pydantic import BaseModel

from steelyard.errors import InputError
from steelyard.study.load_study import parse_study
from steelyard.study.study import AnyWorkload
from steelyard.study.workloads.statements import StatementWorkload
from steelyard.workloads import WORKLOADS

_RANGE = {"low": 1, "high": 9}
_GENERATORS: dict[str, dict[str, Any]] = {
    "uniform": _RANGE,
    "zipf": {**_RANGE, "exponent": 1.0},
    "sequence": {"start": 1, "step": 2},
    "nurand": {"a": 255, "low": 0, "high": 999, "constant": 7},
    "unique": {},
    "text": {"length": 3},
    "choice": {"values": [1, 2]},
}
_ARRIVAL = {"kind": "closed", "think_ms": 1.0}
_TIMES = {"kind": "lognormal", "mean_us": 3.0, "cv": 1.0}

# each with a table at every level that it has
WHOLE: dict[str, dict[str, Any]] = {
    "lookup": {"rows": 10, "arrival": _ARRIVAL},
    "orders": {"rows": 10, "arrival": _ARRIVAL},
    "storm": {"rows": 10, "arrival": _ARRIVAL},
    "sql": {
        "schema_sql": "select 1",
        "arrival": _ARRIVAL,
        "statements": {
            "one": {
                "sql": "select 1",
                "parameters": {kind: {"kind": kind, **keys} for kind, keys in _GENERATORS.items()},
            }
        },
        "transactions": {
            "pair": {
                "statements": ["one"],
                "begin": True,
                "values": {"id": {"kind": "zipf", **_GENERATORS["zipf"]}},
            }
        },
    },
    "pgbench": {"script": ["select-only"], "variables": {"n": 1}, "arrival": _ARRIVAL},
    "replay": {"capture": "load.capture", "arrival": _ARRIVAL},
    "brokerage": {"customers": 2_000, "arrival": _ARRIVAL},
    "order-entry": {"warehouses": 2, "constants": {"item": 1}, "arrival": _ARRIVAL},
    "key-value": {"keys": 10, "arrival": _ARRIVAL},
    "queries": {"scale_factor": 0.1},
    "cache": {"keys": 10},
    "program": {
        "command": ["true"],
        "variables": {"heap": 1},
        "score": {"pattern": "(.*)"},
        "time": {"json_path": "a.b"},
        "scores": {"p99": {"pattern": "(.*)", "unit": "ms"}},
    },
    "published": {
        "work": "transaction",
        "figures": {"loops": {"unit": "1"}},
        "tables": ["mine.csv"],
        "answer": {"follows": "select 1", "left_open": "select 1", "settle": "more runs"},
        "claims": [{"says": "it", "published": "1"}],
    },
    "threads": {
        "scaled": "jvm",
        "groups": {"jvm": {"cpu": {**_TIMES}, "sleep": {**_TIMES}, "arrive": {"at_s": 1.0, "over_s": 2.0}}},
    },
}
# tables whose keys are names of the user's own
_NAMED_BY_USER = (
    "scores", "figures", "statements", "transactions", "parameters", "values", "groups", "variables",
    "environment",
)  # fmt: skip

STUDY: dict[str, Any] = {
    "name": "mine",
    "question": "Which?",
    "subject": {"kind": "any"},
    "factors": {"one": {"scope": "client", "levels": {"A": 1, "B": 2}}},
}


def levels(table: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Paths of the tables whose keys the model gives."""
    if not path or path[-1] not in _NAMED_BY_USER:
        yield path
    for key, value in table.items():
        first = value[0] if isinstance(value, list) else value
        if isinstance(first, dict):
            yield from levels(cast("dict[str, Any]", first), (*path, key))


def levels_of(model: type[BaseModel], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Paths of the tables that a model has, `*` for a name of the user's own."""
    yield path
    for name, field in model.model_fields.items():
        key = field.alias or name
        named = (key, "*") if get_origin(field.annotation) is dict else (key,)
        for inner in models_in(field.annotation):
            yield from levels_of(inner, (*path, *named))


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from models_in(part)


def test_every_level_of_every_kind_is_tried() -> None:
    models = [get_args(part)[0] for part in get_args(get_args(AnyWorkload)[0])]
    literal = {kind: model for model in models for kind in get_args(model.model_fields["kind"].annotation)}
    assert WHOLE.keys() == literal.keys() | WORKLOADS.keys()
    for kind, model in {**literal, "sql": StatementWorkload}.items():
        tried = {
            tuple("*" if above in _NAMED_BY_USER else key for above, key in pairwise(("", *path)))
            for path in levels(WHOLE[kind])
        }
        assert tried == set(levels_of(model)), kind


CASES = [(kind, path) for kind, whole in WHOLE.items() for path in levels(whole)]


@pytest.mark.parametrize(("kind", "path"), CASES, ids=[".".join((kind, *path)) for kind, path in CASES])
def test_a_wrong_key_is_named_with_its_line_and_the_nearest_right_one(
    kind: str, path: tuple[str, ...]
) -> None:
    workload: dict[str, Any] = {"kind": kind, **copy.deepcopy(WHOLE[kind])}
    table: dict[str, Any] = workload
    listed = False
    for part in path:
        inner = table[part]
        listed = isinstance(inner, list)
        table = inner[0] if listed else inner
    right = next((key for key in table if key != "kind"), "kind")
    # the right one stays where it may be needed
    wrong = f"{right}z"
    table[wrong] = 1
    text = tomli_w.dumps({**STUDY, "workload": workload})
    line = next(number for number, row in enumerate(text.split("\n"), 1) if f"{wrong} =" in row)
    with pytest.raises(InputError) as refused:
        parse_study(text, "mine.toml")
    at = ".".join(("workload", *path, *["0"] * listed, wrong))
    # the line of a table in a list is that of the list
    line -= listed
    assert str(refused.value).startswith(
        f'mine.toml:{line}: {at}: unknown key "{wrong}"; did you mean "{right}"?'
    )


def test_a_key_that_is_called_as_a_kind_is_named_as_it_stands_in_the_file() -> None:
    text = """\
name = "mine"
question = "Which?"
subject = { kind = "postgres" }
factors.handle = { scope = "client", levels = { A = "none", B = "named" } }
[workload]
kind = "sql"
[workload.statements.one]
sql = "select 1"
wieght = 2
"""
    with pytest.raises(InputError) as refused:
        parse_study(text, "mine.toml")
    assert str(refused.value).startswith(
        'mine.toml:9: workload.statements.one.wieght: unknown key "wieght"; did you mean "weight"?'
    )


@pytest.mark.parametrize(
    ("workload", "expected"),
    [
        ('script = "mine.sql"', r"kind = \"pgbench\" executes them.*run --pgbench SCRIPT.sql"),
        (
            "[workload.statements.one]\nsql = '''\\set id random(1, 9)\nselect :id'''",
            r"\\set: meta-commands of pgbench.*parameters = ",
        ),
    ],
)
def test_a_script_of_pgbench_is_refused_with_what_to_write_instead(workload: str, expected: str) -> None:
    text = """\
name = "mine"
question = "Which?"
subject = { kind = "postgres" }
factors.commit = { scope = "session", levels = { ON = "on", OFF = "off" } }
[workload]
kind = "sql"
"""
    with pytest.raises(InputError, match=expected):
        parse_study(text + workload, "mine.toml")
