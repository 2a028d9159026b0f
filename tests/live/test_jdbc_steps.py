"""Transactions by steps through a JDBC driver: the native engine's values, and what servers have after it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from java_engine import PGJDBC, by_java, class_path, jdbc, needs_java
from servers import Server, plan
from step_work import both_keep_the_same, kinds, rows_add_up, step_server

pytestmark = needs_java


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with step_server() as running:
        yield running


@pytest.fixture(scope="module")
def pgjdbc() -> list[str]:
    return class_path(PGJDBC)


def test_steps_give_the_values_of_the_native_engine(server: Server, pgjdbc: list[str]) -> None:
    both_keep_the_same(server, pgjdbc, "named")


def test_what_rows_give_goes_into_later_statements(server: Server, pgjdbc: list[str]) -> None:
    rows_add_up(server, pgjdbc, "named")


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
        "handle": "named", "parameters": "client", "points": [4], "measure_s": 0.5,
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
        "handle": "named", "parameters": "client", "measure_s": 2,
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
    assert passes > 2 and found["never"] == 0
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


def test_latency_in_an_open_loop_counts_from_the_intended_start(server: Server, pgjdbc: list[str]) -> None:
    """One client serves at most 50 of 100 arrivals per second: they wait for it."""
    of = {
        "statements": [{"name": "nap", "sql": "select pg_sleep(0.02)"}],
        "transactions": [{"name": "nap", "weight": 1, "statements": ["nap"]}],
        "arrival": {"kind": "open", "rate_per_s": 100, "spacing": "even"},
        "points": [1], "measure_s": 1, "warm_up_s": 0,
    }  # fmt: skip
    result = by_java(plan(server.endpoint(), **of), jdbc(server, pgjdbc))
    done = kinds(result)["nap"]["count"]
    (backlog,) = result.facts.backlog
    assert done <= 51 and done + backlog == 100
    # the last that was served waited for half of the time
    assert result.tables["clients"]["p99_ns"][0] > 0.4e9 * done / 50
