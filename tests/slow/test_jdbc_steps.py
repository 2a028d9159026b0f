"""Transactions by steps through a JDBC driver: every handle, the edges of the measured time, workloads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from account_work import FIRST, RESET, WORK
from java_engine import PGJDBC, by_java, class_path, jdbc, needs_java
from loaded_server import running
from needs import needs
from servers import Server, plan
from step_work import ORDERS, both_keep_the_same, done_by_driver, rows, rows_add_up, step_server

from steelyard import _core

pytestmark = needs_java
CONNECTOR_J = "org.mariadb.jdbc:mariadb-java-client:3.4.1"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with step_server() as running:
        yield running


@pytest.fixture(scope="module")
def pgjdbc() -> list[str]:
    return class_path(PGJDBC)


@pytest.mark.parametrize("handle", ["none", "per-use"])
def test_steps_give_the_values_of_the_native_engine(server: Server, pgjdbc: list[str], handle: str) -> None:
    both_keep_the_same(server, pgjdbc, handle)


@pytest.mark.parametrize("handle", ["none", "per-use"])
def test_what_rows_give_goes_into_later_statements(server: Server, pgjdbc: list[str], handle: str) -> None:
    rows_add_up(server, pgjdbc, handle)


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


def test_brokerage_is_consistent_after_a_run_by_a_driver() -> None:
    """Its market takes messages, by clients of its own."""
    study = ORDERS.replace("order-entry", "brokerage").replace("measure_s = 2", "measure_s = 4")
    with running("postgres", study.format(kind="postgres", driver=PGJDBC).replace("[4]", "[8]")) as server:
        found = done_by_driver(server)
        assert {one["message"] for one in found.values()} == {""}
        assert found["trade-order"]["count"] > 0 < found["trade-result"]["count"]
        assert server.violated(*server.options, after_runs=True) == []


def test_order_entry_is_consistent_after_a_run_by_a_driver() -> None:
    needs("MariaDB")
    with running("mariadb", ORDERS.format(kind="mariadb", driver=CONNECTOR_J)) as server:
        found = done_by_driver(server)
        assert sum(one["count"] for one in found.values()) > 20
        assert {one["message"] for one in found.values()} == {""}
        assert server.violated(*server.options, after_runs=True) == []


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
