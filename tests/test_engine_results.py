"""Every engine's result holds what the registry declares, and a damaged one is refused by name."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from servers import plan, stub
from steelyard.lab.engines.facts import Facts
from steelyard.lab.engines.process import LoadProcess
from steelyard.lab.engines.registry import ENGINES, LoadFailed
from steelyard.lab.engines.result import ENGINE_TABLES, EngineResult
from steelyard.lab.engines.result_tables import backlog_notices
from steelyard.run_tables.rows import Rows, SchemaError
from steelyard.run_tables.schema import BY_NAME
from steelyard.run_tables.table import Column, Table

CPUS = frozenset(os.sched_getaffinity(0))
PHASES = {"points": [1, 2], "warm_up_s": 0.05, "measure_s": 0.2, "cool_down_s": 0.05, "seed": 1}


def result_of(engine: str, asked: Mapping[str, Any]) -> EngineResult:
    process = LoadProcess(engine, asked, CPUS)
    try:
        return process.result(lambda event: None, limit_s=60)
    finally:
        process.stop()


def holds_what_is_declared(result: EngineResult) -> None:
    declared = ENGINES[result.engine]
    assert declared.tables <= result.tables.keys() <= declared.tables | declared.optional
    assert min(len(columns["point"]) for name, columns in result.tables.items() if name == "phases") > 0
    # the form on the pipe loses nothing
    assert EngineResult.of(result.engine, json.loads(result.to_json())) == result


def test_the_load_engine_keeps_its_contract(tmp_path: Path) -> None:
    with stub(str(tmp_path / ".s.PGSQL.5432")):
        server = {"host": str(tmp_path), "port": 5432, "user": "nobody", "password": None, "database": "null"}
        result = result_of("load", plan({**server, "tls": "disable", "ca_file": None}))
    holds_what_is_declared(result)
    assert sum(result.tables["throughput"]["count"]) > 0
    assert result.facts.connections_lost == 0 and result.facts.io


def test_the_load_engine_keeps_its_contract_with_sqlite(tmp_path: Path) -> None:
    database = {
        "file": str(tmp_path / "data.db"), "workers": "threads", "threading": "multi-thread",
        "shared_cache": False, "begin": "deferred", "memory_status": True, "pragmas": [],
    }  # fmt: skip
    (tmp_path / "data.db").touch()
    statement = {"name": "one", "sql": "select 1", "parameters": {}}
    asked = {
        "sqlite": database, "handle": "named", "text": "identical", "distinct_texts": 1, "parameters": "none",
        "statements": [statement], "deadline_ms": 5000, "threads": 1,
        "transactions": [{"name": "one", "weight": 1, "statements": ["one"], "begin": False}],
        "arrival": {"kind": "closed", "think_ms": 0, "think": "fixed"}, "session": [], "inspect": [],
        **PHASES,
    }  # fmt: skip
    result = result_of("load", asked)
    holds_what_is_declared(result)
    assert set(result.tables["samples"]["monitor"]) == {"engine"}


def test_the_latch_engine_keeps_its_contract() -> None:
    result = result_of("latch", {"protocol": "oracle-x", "workers": "threads", **PHASES})
    holds_what_is_declared(result)
    assert result.facts.io is None and result.facts.sees_misses is True


def test_the_dispatcher_engine_keeps_its_contract() -> None:
    time = {"kind": "exponential", "mean_us": 2000}
    groups = [{"name": name, "count": 2, "cpu": time, "sleep": time} for name in ("oltp", "batch")]
    asked = {
        "machine": {"cpus": 2, "clock_ghz": 2.0, "memory_latency_ns": 400, "cache_kib": 4096},
        "tables": {"ts": "standard"}, "groups": groups, "scaled": "oltp", "block": 1,
        "trace": {"threads": [], "window_s": 0.1}, **PHASES, "measure_s": 2,
    }  # fmt: skip
    result = result_of("dispatch", asked)
    holds_what_is_declared(result)
    assert "ran" in set(result.tables["trace"]["reason"])
    later = result_of("dispatch", {**asked, "block": 2})
    holds_what_is_declared(later)
    assert "trace" not in later.tables


def test_the_engine_of_programs_keeps_its_contract(tmp_path: Path) -> None:
    instance = {"command": ["/bin/echo", "score 3"], "environment": {}, "folder": str(tmp_path), "cpus": []}
    score = {"pattern": r"score (\S+)", "json_path": None}
    asked = {
        "instances": [[instance]], "outputs": str(tmp_path), "score": score, "scores": {"n": score},
        "time": None, "exit_code": 0, "deadline_s": 60, "cool_down_s": 0,
    }  # fmt: skip
    result = result_of("programs", asked)
    holds_what_is_declared(result)
    assert set(result.tables) == {"phases", "scores", "further_scores"} and result.facts == Facts()


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
