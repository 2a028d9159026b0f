"""Every engine's result holds what the registry declares, and a damaged one is refused by name."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from servers import plan, stub

from steelyard.lab.engines.process import LoadProcess
from steelyard.lab.engines.result import ENGINES, EngineResult, Facts

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
    score = {"pattern": r"score (\S+)", "json_path": None, "unit": "bops"}
    asked = {
        "instances": [[instance]], "outputs": str(tmp_path), "score": score, "unit": "bops",
        "scores": {"n": score},
        "time": None, "exit_code": 0, "deadline_s": 60, "cool_down_s": 0,
    }  # fmt: skip
    result = result_of("programs", asked)
    holds_what_is_declared(result)
    assert set(result.tables) == {"phases", "scores", "further_scores"} and result.facts == Facts()
