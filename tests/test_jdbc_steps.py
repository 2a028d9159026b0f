"""Transactions by steps through a JDBC driver: the native engine's values, and what servers have after it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest

from java_engine import PGJDBC, by_java, class_path, jdbc, needs_java
from loaded_server import Running, running
from mariadb_server import needs_mariadb
from servers import Server, plan, postgres
from steelyard import _core
from steelyard.lab.engines.plan import engine_plan
from steelyard.lab.engines.process import LoadProcess
from steelyard.lab.engines.result import EngineResult
from steelyard.study.plan import Slot
from test_steps import CHECKS, FIRST, RESET, SCHEMA, WORK

pytestmark = needs_java
CONNECTOR_J = "org.mariadb.jdbc:mariadb-java-client:3.4.1"
UNIFORM = {"kind": "uniform", "low": 1, "high": 1_000_000}
# each kind of step, and functions of which the engines must agree to the last digit
EXPRESSIONS: list[Any] = [
    ["add", "x", ["mul", "x", 3]],
    ["div", ["neg", "x"], 7],
    ["mod", ["sub", 3, "x"], 11],
    ["int", ["mul", "x", 0.37]],
    ["case", ["lt", "x", 500_000], ["least", "x", 9], ["greatest", "x", 600_000]],
    ["case", ["and", ["gt", "x", 5], ["or", None, ["is-null", None]]], 1, 2],
    ["case", ["not", ["is-true", ["eq", ["mod", "x", 2], 0]]], ["bit-xor", "x", 85], ["shift-left", "x", 3]],
    ["bit-and", ["hash-fnv1a", "x", 7], 1_073_741_823],
    ["bit-and", ["hash-murmur2", "x", 7], 1_073_741_823],
    ["permute", "x", 1_000_003, 5432],
    ["random", 1, 1_000],
    ["random-gaussian", 1, 1_000, 2.5],
    ["random-exponential", 1, 1_000, 5],
    ["random-zipfian", 1, 1_000, 1.2],
    ["int", ["mul", 100, ["power", ["sqrt", ["abs", "x"]], 1.5]]],
    ["add", ["client"], ["int", ["exp", ["ln", 12]]]],
]
STEPS: list[Any] = [
    {"do": "draw", "value": "x", "from": UNIFORM},
    {"do": "draw", "value": "one", "from": {**UNIFORM, "high": 40}, "distinct": "numbers"},
    {"do": "draw", "value": "two", "from": {**UNIFORM, "high": 40}, "distinct": "numbers"},
    {"do": "draw", "value": "choice", "from": {"kind": "choice", "values": ["it's", "b"]}},
    {"do": "draw", "value": "turn", "from": {"kind": "sequence", "start": 5, "step": 2}},
    {"do": "pick", "value": "picked", "from": ["p", "q", "r"], "number": ["random", 1, 3]},
    {"do": "name", "value": "named", "prefix": "S", "number": ["mod", "x", 1_000], "digits": 6},
    *({"do": "set", "value": f"y{n}", "to": of} for n, of in enumerate(EXPRESSIONS)),
    {"do": "statement", "name": "parity", "take": {"parity": "parity", "half": "half", "none": "none"}},
    {
        "do": "if",
        "condition": ["eq", "parity", 0],
        "then": [{"do": "set", "value": "parity", "to": ["add", ["int", ["mul", "half", 2]], 100]}],
        "else": [{"do": "set", "value": "parity", "to": ["case", ["is-null", "none"], -1, -2]}],
    },
    {"do": "loop", "times": 2, "index": "pass", "steps": [{"do": "statement", "name": "keep"}]},
]
KEPT = [
    *(f"y{n}" for n in range(len(EXPRESSIONS))),
    "one", "two", "turn", "parity", "pass", "choice", "picked", "named",
]  # fmt: skip
TEXTS = {"choice", "picked", "named"}
COLUMNS = ", ".join(f"v_{name} {'text' if name in TEXTS else 'bigint'}" for name in KEPT)
DRAWN: dict[str, Any] = {
    "statements": [
        {
            "name": "parity",
            "sql": "select mod(cast(:x as integer), 2) as parity, 0.5 * cast(:x as integer) as half,"
            " cast(null as integer) as none",
        },
        {"name": "keep", "sql": f"insert into kept values (default, :{', :'.join(KEPT)})"},
    ],
    "transactions": [
        {"name": "many", "weight": 2, "statements": [], "begin": True, "steps": STEPS},
        {"name": "few", "weight": 1, "statements": [], "steps": STEPS[:-1]},
    ],
    "points": [1],
    "measure_s": 1,
    "seed": 11,
}  # fmt: skip


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with postgres(default_transaction_isolation="serializable") as running:
        running.ask(f"create table kept (nth serial, {COLUMNS})")
        for sql in SCHEMA:
            running.ask(sql.format(serial="serial"))
        yield running


@pytest.fixture(scope="module")
def pgjdbc() -> list[str]:
    return class_path(PGJDBC)


def rows(server: Server, sql: str) -> list[tuple[Any, ...]]:
    with server.connect() as connection:
        return connection.execute(sql.encode()).fetchall()


def first_kept(server: Server) -> list[tuple[Any, ...]]:
    found = rows(server, "select * from kept order by nth limit 100")
    server.ask("truncate kept restart identity")
    return found


def kinds(result: EngineResult) -> dict[str, dict[str, Any]]:
    """Columns of the table of transactions by name."""
    table = result.tables["transactions"]
    return {
        name: {column: values[at] for column, values in table.items()}
        for at, name in enumerate(table["transaction"])
    }


@pytest.mark.parametrize("handle", ["none", "named", "per-use"])
def test_steps_give_the_values_of_the_native_engine(server: Server, pgjdbc: list[str], handle: str) -> None:
    of = {**DRAWN, "handle": handle, "parameters": "none" if handle == "none" else "client"}
    _core.load_run(json.dumps(plan(server.endpoint(), **of)), lambda _line: None)
    expected = first_kept(server)
    result = by_java(plan(server.endpoint(), **of), jdbc(server, pgjdbc))
    assert result.tables["errors"]["code"] == [], result.tables["errors"]
    found = first_kept(server)
    both = min(len(found), len(expected))
    assert both >= 20 and found[:both] == expected[:both]


@pytest.mark.parametrize("handle", ["none", "named", "per-use"])
def test_what_rows_give_goes_into_later_statements(server: Server, pgjdbc: list[str], handle: str) -> None:
    """Values from rows, NULL among them, branches, loops, roll backs, retries: the tables add up."""
    of = {**WORK, "handle": handle, "parameters": "none" if handle == "none" else "client"}
    of |= {"retries": 1000, "points": [3], "measure_s": 1, "seed": 7}
    for sql in RESET:
        server.ask(sql)
    done = kinds(by_java(plan(server.endpoint(), **of), jdbc(server, pgjdbc)))["order"]
    lines, wrong_balance, wrong_line, null = (server.ask(sql) for sql in CHECKS)
    assert done["errors"] == 0 and done["rolled_back"] > 0
    assert (wrong_balance, wrong_line) == (0, 0)
    assert lines == 3 * (done["count"] - done["rolled_back"]) and null > 0


def test_the_first_orders_are_those_of_the_native_engine(server: Server, pgjdbc: list[str]) -> None:
    of = plan(
        server.endpoint(), **{**WORK, "points": [1], "seed": 7, "handle": "named", "parameters": "client"}
    )
    found = list[Any]()
    for run in (
        lambda: _core.load_run(json.dumps(of), lambda _: None),
        lambda: by_java(of, jdbc(server, pgjdbc)),
    ):
        for sql in (*RESET, "alter sequence line_nth_seq restart"):
            server.ask(sql)
        run()
        found.append(rows(server, FIRST))
    assert len(found[0]) == 15 and found[0] == found[1]


def test_serialization_failures_are_executed_again_and_counted(server: Server, pgjdbc: list[str]) -> None:
    of = {
        "statements": [
            {"name": "read", "sql": "select balance as b from account where id = 1"},
            {"name": "write", "sql": "update account set balance = :b + 1 where id = 1"},
        ],
        "transactions": [
            {
                "name": "count", "weight": 1, "begin": True,
                "steps": [
                    {"do": "statement", "name": "read", "take": {"b": "b"}},
                    {"do": "statement", "name": "write"},
                ],
            }
        ],
        "handle": "named", "parameters": "client", "points": [4], "measure_s": 1,
    }  # fmt: skip
    server.ask("update account set balance = 0")
    done = kinds(by_java(plan(server.endpoint(), **of, retries=1000), jdbc(server, pgjdbc)))["count"]
    assert done["errors"] == 0 and done["retries"] > 0
    assert server.ask("select balance from account where id = 1") == done["count"]
    refused = kinds(by_java(plan(server.endpoint(), **of, retries=0), jdbc(server, pgjdbc)))["count"]
    assert refused["code"] == "40001" and refused["retries"] == 0


def test_steps_without_a_value_are_errors_of_their_transaction(server: Server, pgjdbc: list[str]) -> None:
    steps = {
        "division by zero": [{"do": "set", "value": "a", "to": ["div", 1, 0]}],
        "`:a` has no value here": [
            {"do": "if", "condition": False, "then": [{"do": "set", "value": "a", "to": 1}]},
            {"do": "statement", "name": "one"},
        ],
        "of my own": [{"do": "fail", "message": "of my own"}],
        "ended without commit": [{"do": "begin"}, {"do": "statement", "name": "other"}],
    }
    of = {
        "statements": [{"name": "one", "sql": "select :a"}, {"name": "other", "sql": "select 1"}],
        "transactions": [
            {"name": name, "weight": 1, "statements": [], "steps": of} for name, of in steps.items()
        ],
        "handle": "named", "parameters": "client", "measure_s": 0.5,
    }  # fmt: skip
    of["transactions"][1]["steps"][0]["then"][0]["value"] = "a"
    found = kinds(by_java(plan(server.endpoint(), **of), jdbc(server, pgjdbc)))
    for name, one in found.items():
        assert one["count"] == 0 < one["errors"] and one["code"] == "step" and name in one["message"]


def test_a_deck_has_an_exact_mix(server: Server, pgjdbc: list[str]) -> None:
    of = {
        "statements": [{"name": "one", "sql": "select 1"}],
        "transactions": [
            {"name": name, "weight": weight, "statements": ["one"], "begin": True}
            for name, weight in (("a", 10), ("b", 4), ("never", 0), ("c", 1))
        ],
        "mix": "deck", "points": [1], "measure_s": 1,
    }  # fmt: skip
    found = {
        name: one["count"]
        for name, one in kinds(by_java(plan(server.endpoint(), **of), jdbc(server, pgjdbc))).items()
    }
    # the last pass is not complete
    passes = found["c"]
    assert passes > 10 and found["never"] == 0
    assert abs(found["a"] - 10 * passes) <= 10 and abs(found["b"] - 4 * passes) <= 4


def test_clients_that_only_report_count_apart(server: Server, pgjdbc: list[str]) -> None:
    of = {
        "statements": [{"name": "one", "sql": "select 1"}, {"name": "long", "sql": "select pg_sleep(0.05)"}],
        "transactions": [
            {"name": "mix", "weight": 1, "statements": ["one"], "begin": True},
            {"name": "report", "weight": 0, "statements": ["long"], "begin": True, "clients": 1},
        ],
        "points": [3], "measure_s": 1,
    }  # fmt: skip
    result = by_java(plan(server.endpoint(), **of), jdbc(server, pgjdbc))
    found = kinds(result)
    assert 1 <= found["report"]["count"] <= 20
    per_client = dict(
        zip(result.tables["clients"]["client"], result.tables["clients"]["transactions"], strict=True)
    )
    assert per_client[0] == found["report"]["count"]
    assert per_client[1] + per_client[2] == found["mix"]["count"]
    latency = dict(zip(result.tables["latency"]["statement"], result.tables["latency"]["count"], strict=True))
    assert latency["transaction"] == found["mix"]["count"]


def test_nothing_is_lost_at_the_edges_of_the_measured_time(server: Server, pgjdbc: list[str]) -> None:
    """One client sends numbers, the other takes them, over many short load points."""
    server.ask("create table mail (who text, number bigint)")
    draw = {"do": "draw", "value": "n", "from": {"kind": "sequence", "start": 1, "step": 1}}
    send = {"do": "send", "queue": "mail", "values": ["n"], "after_ms": 0}
    of = {
        "statements": [
            {"name": who, "sql": f"insert into mail values ('{who}', :{value})"}
            for who, value in (("put", "n"), ("get", "got"))
        ],
        "transactions": [
            {"name": "get", "weight": 0, "clients": 1, "begin": False, "statements": [],
             "takes": [{"queue": "mail", "into": ["got"]}],
             "steps": [{"do": "statement", "name": "get"}]},
            {"name": "put", "weight": 1, "begin": False, "statements": [],
             "steps": [draw, send, {"do": "statement", "name": "put"}]},
        ],
        "handle": "named", "parameters": "client", "points": [2] * 40, "measure_s": 0.02,
    }  # fmt: skip
    table = by_java(plan(server.endpoint(), **of), jdbc(server, pgjdbc)).tables["transactions"]
    counted = {
        kind: sum(n for name, n in zip(table["transaction"], table["count"], strict=True) if name == kind)
        for kind in ("put", "get")
    }
    ((got, last),) = rows(server, "select count(*), max(number) from mail where who = 'get'")
    ((put,),) = rows(server, "select count(*) from mail where who = 'put'")
    assert got == last
    assert counted["put"] == put
    # what was due before a load point does not count in it
    assert counted["get"] <= got


def test_latency_in_an_open_loop_counts_from_the_intended_start(server: Server, pgjdbc: list[str]) -> None:
    """One client serves at most 50 of 100 arrivals per second: they wait for it."""
    of = {
        "statements": [{"name": "nap", "sql": "select pg_sleep(0.02)"}],
        "transactions": [{"name": "nap", "weight": 1, "statements": ["nap"]}],
        "arrival": {"kind": "open", "rate_per_s": 100, "spacing": "even"},
        "points": [1], "measure_s": 2, "warm_up_s": 0,
    }  # fmt: skip
    result = by_java(plan(server.endpoint(), **of), jdbc(server, pgjdbc))
    done = kinds(result)["nap"]["count"]
    (backlog,) = result.facts.backlog
    assert done <= 101 and done + backlog == 200
    # the last that was served waited for half of the time
    assert result.tables["clients"]["p99_ns"][0] > 0.4e9 * done / 50


ORDERS = """
name = "orders"
question = "Which?"
[subject]
kind = "{kind}"
[workload]
kind = "order-entry"
driver = "{driver}"
driver_heap_mib = 256
conditions = "all"
[plan]
clients = [4]
warm_up_s = 0
measure_s = 2
cool_down_s = 0
"""


def done_by_driver(server: Running) -> dict[str, dict[str, Any]]:
    """Columns of the table of transactions by name, after a run of the only option."""
    (label,) = server.options
    server.start(label)
    assert server.load is not None and server.load.engine == "jdbc"
    slot = Slot(1, 1, server.options[label])
    of = engine_plan(server.study, slot, server.works[label], server.load)
    engine = LoadProcess("jdbc", of, frozenset(os.sched_getaffinity(0)))
    try:
        return kinds(engine.result(lambda _: None, 60))
    finally:
        engine.stop()


@pytest.mark.server
def test_the_sums_of_pgbenchs_own_script_agree_after_a_run_by_a_driver() -> None:
    study = ORDERS.replace("order-entry", "pgbench").replace('conditions = "all"', 'handle = "named"')
    with running("postgres", study.format(kind="postgres", driver=PGJDBC)) as server:
        found = done_by_driver(server)
        assert found["tpcb-like"]["count"] > 20 and found["tpcb-like"]["errors"] == 0
        sums = {
            server.number(f"select coalesce(sum({column}), 0) from pgbench_{table}")
            for table, column in (
                ("accounts", "abalance"), ("tellers", "tbalance"), ("branches", "bbalance"),
                ("history", "delta"),
            )
        }  # fmt: skip
        assert len(sums) == 1
        # each counts where it begins: a client's last may begin after the end
        assert 0 <= server.number("select count(*) from pgbench_history") - found["tpcb-like"]["count"] <= 4


@pytest.mark.server
def test_brokerage_is_consistent_after_a_run_by_a_driver() -> None:
    """Its market takes messages, by clients of its own."""
    study = ORDERS.replace("order-entry", "brokerage").replace("measure_s = 2", "measure_s = 4")
    with running("postgres", study.format(kind="postgres", driver=PGJDBC).replace("[4]", "[8]")) as server:
        found = done_by_driver(server)
        assert {one["message"] for one in found.values()} == {""}
        assert found["trade-order"]["count"] > 0 < found["trade-result"]["count"]
        assert server.violated(*server.options, after_runs=True) == []


@pytest.mark.server
def test_order_entry_is_consistent_after_a_run_by_a_driver() -> None:
    needs_mariadb()
    with running("mariadb", ORDERS.format(kind="mariadb", driver=CONNECTOR_J)) as server:
        found = done_by_driver(server)
        assert sum(one["count"] for one in found.values()) > 20
        assert {one["message"] for one in found.values()} == {""}
        assert server.violated(*server.options, after_runs=True) == []
