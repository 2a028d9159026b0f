"""A result of an engine holds what the registry declares, and a damaged one is refused by name."""

from __future__ import annotations

import base64
import json
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.lab.engines.result import ENGINES, EngineResult, Facts, LoadFailed
from steelyard.lab.engines.result_tables import backlog_notices
from steelyard.run_tables.rows import Rows, SchemaError
from steelyard.run_tables.schema import BY_NAME, ENGINE_TABLES, Column, Table


def test_what_is_declared_is_defined() -> None:
    for engine in ENGINES.values():
        assert engine.tables | engine.optional <= BY_NAME.keys() | ENGINE_TABLES.keys()
        assert engine.facts <= {field.name for field in fields(Facts)}


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "INTEGER": st.integers(-(2**31), 2**31 - 1),
    "BIGINT": st.integers(-(2**63), 2**63 - 1),
    "DOUBLE": st.floats(allow_nan=False) | st.integers(-(2**53), 2**53),
    "VARCHAR": st.text(st.characters(exclude_categories=["Cs"])),
    "BLOB": st.binary().map(lambda blob: base64.b64encode(blob).decode()),
}
FACTS = {
    **dict.fromkeys(("io", "connections_lost_cause"), "text"),
    **{name: [1, 2] for name in ("backlog", "began_ns", "sampled_every", "guarded", "exclusive_gets")},
    **dict.fromkeys(("in_turn", "sees_misses", "sees_sleeps"), True),
}


def table_of(name: str) -> Table:
    return ENGINE_TABLES.get(name) or BY_NAME[name]


def sent_as(column: Column) -> str:
    return f"{column.name}_base64" if column.type == "BLOB" else column.name


@st.composite
def results(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """An engine, and a result as it could send it."""
    engine = draw(st.sampled_from(sorted(ENGINES)))
    declared = ENGINES[engine]
    result: dict[str, Any] = {"engine": {name: FACTS.get(name, 3) for name in declared.facts}}
    optional = draw(st.sets(st.sampled_from(sorted(declared.optional)))) if declared.optional else set[str]()
    for name in declared.tables | optional:
        rows = draw(st.integers(1, 3))
        result[name] = {
            sent_as(column): draw(st.lists(VALUES[column.type], min_size=rows, max_size=rows))
            for column in table_of(name).own_columns
        }
    return engine, result


@given(results())
def test_a_result_as_declared_arrives_whole(sent: tuple[str, dict[str, Any]]) -> None:
    engine, result = sent
    arrived = EngineResult.of(engine, result)
    assert arrived.tables.keys() == result.keys() - {"engine"}
    assert EngineResult.of(engine, json.loads(arrived.to_json())) == arrived


@given(results(), st.data())
def test_a_damaged_result_is_refused_by_engine_table_and_column(
    sent: tuple[str, dict[str, Any]], data: st.DataObject
) -> None:
    engine, result = sent
    name = data.draw(st.sampled_from(sorted(result.keys() - {"engine"})))
    columns: dict[str, list[Any]] = result[name]
    column = data.draw(st.sampled_from(table_of(name).own_columns))
    key, named = sent_as(column), column.name
    match data.draw(
        st.sampled_from(["unknown", "missing", "type", "length", "no column", "no list", "bits"])
    ):
        case "unknown":
            columns["colour"] = list(columns[key])
            named = "colour"
        case "missing" if not column.nullable and (name, named) != ("samples", "monitor"):
            del columns[key]
        case "length":
            # of two columns of different length the later one is named
            key = list(columns)[-1]
            named = key.removesuffix("_base64")
            columns[key].append(columns[key][0])
        case "no column":
            result[name] = []
            named = ""
        case "no list":
            result[name] = {key: 3}
            named = key
        case "bits" if column.type in ("INTEGER", "BIGINT"):
            columns[key][-1] = 2**63
        case _:
            columns[key][-1] = {"VARCHAR": 3, "BLOB": "%"}.get(column.type, True)
    with pytest.raises(LoadFailed) as refused:
        EngineResult.of(engine, result)
    for part in (f"`{engine}`", f"table {name}", f"column {named}"):
        assert part in str(refused.value)


@given(results(), st.data())
def test_an_undeclared_and_a_missing_table_and_a_wrong_fact_are_refused(
    sent: tuple[str, dict[str, Any]], data: st.DataObject
) -> None:
    engine, result = sent
    declared = ENGINES[engine]
    kinds = ["undeclared", "missing", "extra fact", *(["no fact", "wrong fact"] if declared.facts else [])]
    fact = data.draw(st.sampled_from(sorted(declared.facts))) if declared.facts else ""
    match data.draw(st.sampled_from(kinds)):
        case "undeclared":
            named = data.draw(st.sampled_from(sorted(BY_NAME.keys() - declared.tables - declared.optional)))
            result[named] = {}
        case "missing":
            named = data.draw(st.sampled_from(sorted(declared.tables)))
            del result[named]
        case "extra fact":
            named = "engine.colour"
            result["engine"]["colour"] = "blue"
        case "no fact":
            named = f"engine.{fact}"
            del result["engine"][fact]
        case _:
            named = f"engine.{fact}"
            result["engine"][fact] = {}
    with pytest.raises(LoadFailed, match=rf"`{engine}`.*{named}"):
        EngineResult.of(engine, result)


def test_a_row_with_an_unknown_column_or_without_a_needed_one_is_refused() -> None:
    rows = Rows("latches")
    with pytest.raises(SchemaError, match="table latches, column colour"):
        rows.add(point=0, latch="a", colour="blue")
    with pytest.raises(SchemaError, match="table latches, column latch: is missing"):
        rows.add(point=0)
    rows.add(point=0, latch="a", gets=3)
    columns = rows.columns()
    assert (columns["gets"], columns["misses"], columns["latch"]) == ([3], [None], ["a"])
    assert "run" not in columns and {len(values) for values in columns.values()} == {1}


def test_arrivals_that_waited_are_told_by_the_number_of_clients() -> None:
    tables = {
        "phases": {"point": [0, 0, 1], "clients": [8, 8, 64]},
        "clients": {"point": [0, 1, 1], "transactions": [500, 500, 500]},
    }
    ((code, text),) = backlog_notices(EngineResult("load", tables, Facts(backlog=[0, 12])))
    assert not list(backlog_notices(EngineResult("load", tables, Facts(backlog=[1, 9]))))
    assert code == "backlog" and text.startswith("at 64 clients 12 arrivals still waited for a client")
