"""Values that a plan draws, as the native engine and a JDBC driver insert them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from java_engine import by_java, jdbc
from servers import Server, plan

from steelyard import _core

DRAWN = "create table drawn (nth serial, kind text, a bigint, b bigint, c int, d text, e text)"
FIRST = "select kind, a, b, c, d, e from drawn order by nth limit 400"
INSERT = "insert into drawn (kind, a, b, c, d, e) values ('{kind}', :a, :b, :c, :d, :e)"
GENERATORS = {
    "a": {"kind": "uniform", "low": -5, "high": 10**15},
    "b": {"kind": "zipf", "low": 1, "high": 10_000, "exponent": 0.9},
    "c": {"kind": "nurand", "a": 255, "low": 1, "high": 3000, "constant": 123},
    "d": {"kind": "text", "length": 12},
    "e": {"kind": "choice", "values": ["it's", "b", "c"]},
}
OWN = {"d": GENERATORS["d"], "e": GENERATORS["e"]}
WORK = {
    "statements": [
        {"name": "one", "sql": INSERT.format(kind="one"), "parameters": GENERATORS},
        {"name": "two", "sql": INSERT.format(kind="two"), "parameters": OWN},
        {"name": "many", "sql": "select {tag}, :a::bigint", "parameters": {"a": GENERATORS["a"]}},
    ],
    "transactions": [
        {"name": "plain", "weight": 3, "statements": ["one", "many"], "begin": False},
        {
            "name": "shared",
            "weight": 1,
            "statements": ["two", "two"],
            "begin": True,
            "values": {key: value for key, value in GENERATORS.items() if key not in OWN},
        },
    ],
    "text": "distinct",
    "distinct_texts": 7,
}


def drawn(server: Server) -> list[tuple[Any, ...]]:
    """The first rows of the table `drawn`, which is empty again after it."""
    with server.connect() as connection:
        rows = connection.execute(FIRST.encode()).fetchall()
        connection.execute("truncate drawn restart identity")
        return rows


def both_draw_the_same(server: Server, jars_of_driver: Sequence[str], handle: str) -> None:
    """Every generator, two kinds of transactions, shared values, several texts."""
    of = {"handle": handle, "parameters": "none" if handle == "none" else "client"}
    work = plan(server.endpoint(), **WORK, points=[1], measure_s=1, **of)
    _core.load_run(json.dumps(work), lambda _line: None)
    expected = drawn(server)
    result = by_java(work, jdbc(server, list(jars_of_driver)))
    assert result.tables["errors"]["code"] == []
    found = drawn(server)
    both = min(len(found), len(expected))
    assert both >= 50 and found[:both] == expected[:both]
