"""Transactions by steps: each kind of step and expression, through a JDBC driver and the native engine."""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from account_work import CHECKS, RESET, SCHEMA, WORK
from java_engine import by_java, jdbc
from loaded_server import Running
from servers import Server, plan, postgres

from steelyard import _core
from steelyard.lab.engines.plan import engine_plan
from steelyard.lab.engines.process import LoadProcess
from steelyard.lab.engines.result import EngineResult
from steelyard.study.study import Slot

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


@contextmanager
def step_server() -> Generator[Server]:
    """A server with the tables of these steps, whose transactions are serializable."""
    with postgres(default_transaction_isolation="serializable") as running:
        running.ask(f"create table kept (nth serial, {COLUMNS})")
        for sql in SCHEMA:
            running.ask(sql.format(serial="serial"))
        yield running


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


def both_keep_the_same(server: Server, pgjdbc: list[str], handle: str) -> None:
    """Steps give the values of the native engine."""
    of = {**DRAWN, "handle": handle, "parameters": "none" if handle == "none" else "client"}
    _core.load_run(json.dumps(plan(server.endpoint(), **of)), lambda _line: None)
    expected = first_kept(server)
    result = by_java(plan(server.endpoint(), **of), jdbc(server, pgjdbc))
    assert result.tables["errors"]["code"] == [], result.tables["errors"]
    found = first_kept(server)
    both = min(len(found), len(expected))
    assert both >= 20 and found[:both] == expected[:both]


def rows_add_up(server: Server, pgjdbc: list[str], handle: str) -> None:
    """Values from rows, NULL among them, branches, loops, roll backs, retries: the tables add up."""
    of = {**WORK, "handle": handle, "parameters": "none" if handle == "none" else "client"}
    of |= {"retries": 1000, "points": [3], "measure_s": 0.5, "seed": 7}
    for sql in RESET:
        server.ask(sql)
    done = kinds(by_java(plan(server.endpoint(), **of), jdbc(server, pgjdbc)))["order"]
    lines, wrong_balance, wrong_line, null = (server.ask(sql) for sql in CHECKS)
    assert done["errors"] == 0 and done["rolled_back"] > 0
    assert (wrong_balance, wrong_line) == (0, 0)
    assert lines == 3 * (done["count"] - done["rolled_back"]) and null > 0


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
