"""What the load engine counts for each handle, text and kind of parameters, and what the server counts."""

from __future__ import annotations

import json
import time
from itertools import product
from typing import Any

import mariadb_server
import servers
from servers import plan

from steelyard import _core

HANDLES = ("none", "unnamed", "named", "per-use", "left")
COMBINATIONS = [
    (handle, text, parameters)
    for handle, text, parameters in product(HANDLES, ("identical", "distinct", "unique"), ("none", "client"))
    if not (handle == "none" and parameters == "client") and not (handle == "named" and text == "unique")
]
# each handle, each kind of text and both kinds of parameters
REPRESENTATIVE = [
    ("none", "distinct", "none"),
    ("unnamed", "unique", "client"),
    ("named", "distinct", "client"),
    ("named", "identical", "none"),
    ("per-use", "identical", "client"),
    ("left", "unique", "none"),
]
COUNTERS = ("Com_select", "Com_stmt_prepare", "Com_stmt_execute", "Com_stmt_close")


PREPARED = [
    {
        "name": "prepared",
        "sql": "select count(*) as statements, count(distinct statement) as texts"
        " from pg_prepared_statements",
    }
]


def run(asked: dict[str, Any]) -> dict[str, Any]:
    return json.loads(_core.load_run(json.dumps(asked), lambda line: None))


def transactions(result: dict[str, Any]) -> int:
    return sum(result["clients"]["transactions"])


def told(result: dict[str, Any], metric: str) -> list[float]:
    """A metric of `inspect`, by client."""
    rows = zip(result["inspect"]["metric"], result["inspect"]["value"], strict=True)
    return [value for name, value in rows if name == metric]


def postgres_counts_the_same(server: servers.Server, handle: str, text: str, parameters: str) -> None:
    """By pg_stat_statements and pg_prepared_statements."""
    server.ask("select pg_stat_statements_reset()")
    asked = plan(
        server.endpoint(), handle=handle, text=text, parameters=parameters, distinct_texts=5, inspect=PREPARED
    )
    result = run(asked)
    count = transactions(result)
    assert count > 0 and result["errors"]["count"] == []
    calls, rows = (
        server.ask(
            f"select sum({column})::bigint from pg_stat_statements"
            " where query like '%filler as%' and query not like '%pg_stat%' and query not ilike 'prepare%'"
        )
        for column in ("calls", "rows")
    )
    # what was under way when the time was up has ended, uncounted
    assert count <= calls <= count + 2 and rows == calls
    prepared = sum(told(result, "statements"))
    expected = {
        "none": (0, 0),
        "unnamed": (0, 0),
        "per-use": (0, 0),
        "named": (10, 10) if text == "distinct" else (2, 2),
        "left": (count, count + 2),
    }[handle]
    assert expected[0] <= prepared <= expected[1]
    texts = told(result, "texts")
    if handle == "left" and text == "unique":
        assert sum(texts) == prepared
    elif handle in ("named", "left") and parameters == "client":
        assert texts == [5.0 if text == "distinct" else 1.0] * 2


def mariadb_counts_the_same(server: mariadb_server.Server, handle: str, text: str, parameters: str) -> None:
    """By the status variables of COUNTERS."""
    before = {name: server.status(name) for name in COUNTERS}
    result = run(plan(server.endpoint(), handle=handle, text=text, parameters=parameters, distinct_texts=5))
    count = transactions(result)
    assert count > 0 and result["errors"]["count"] == []
    _settled(server)
    selects, prepares, executes, closes = (server.status(name) - before[name] for name in COUNTERS)
    # asking for the counters selects as well: once for each of them
    assert count <= selects - len(COUNTERS) <= count + 2 + len(COUNTERS)
    if handle == "none":
        assert (prepares, executes, closes) == (0, 0, 0)
        return
    assert count <= executes <= count + 2
    if handle == "named":
        assert prepares <= 2 * (5 if text == "distinct" else 1)
    else:
        assert count <= prepares <= count + 2
    # nobody closes what is left or named: the connection's end drops it, uncounted
    dropped = {
        "named": (0, 0),
        "left": (0, 0),
        "unnamed": (count, count + 2),
        "per-use": (count - 2, count + 2),
    }
    assert dropped[handle][0] <= closes <= dropped[handle][1]


def _settled(server: mariadb_server.Server) -> None:
    """A session adds its counters to the server's when it ends."""
    for _ in range(200):
        if server.status("Threads_connected") == 1:
            return
        time.sleep(0.01)
