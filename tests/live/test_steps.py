"""Transactions by steps on real servers: values of rows, branches, loops, retries, pauses, decks."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import product
from typing import Any

import mariadb_server
import pymysql
import pytest
from account_work import CHECKS, FIRST, RESET, SCHEMA, WORK
from servers import plan, postgres

from steelyard import _core

HANDLES = [
    (handle, parameters)
    for handle, parameters in product(("none", "unnamed", "named", "per-use", "left"), ("none", "client"))
    if (handle, parameters) not in (("none", "client"), ("named", "none"))
]
Ask = Callable[[str], Sequence[Sequence[Any]]]


class Target:
    """A server, and how its tables are read."""

    def __init__(self, endpoint: Mapping[str, Any], ask: Ask) -> None:
        self.endpoint, self.ask = endpoint, ask

    def number(self, sql: str) -> int:
        return int(self.ask(sql)[0][0])

    def run(self, **changes: Any) -> dict[str, Any]:
        """The engine's result."""
        asked = plan(self.endpoint, **{**WORK, "seed": 7, **changes})
        return json.loads(_core.load_run(json.dumps(asked), lambda _: None))


@contextmanager
def on_postgres() -> Generator[Target]:
    with postgres() as server, server.connect() as connection:

        def ask(sql: str) -> Sequence[Sequence[Any]]:
            cursor = connection.execute(sql.encode())
            return cursor.fetchall() if cursor.description else []

        for sql in SCHEMA:
            ask(sql.format(serial="serial"))
        yield Target(server.endpoint(), ask)


@contextmanager
def on_mariadb() -> Generator[Target]:
    with (
        mariadb_server.mariadb() as server,
        closing(
            pymysql.connect(unix_socket=server.socket, user="root", database="lab", autocommit=True)
        ) as own,
        own.cursor() as cursor,
    ):

        def ask(sql: str) -> Sequence[Sequence[Any]]:
            cursor.execute(sql)
            return cursor.fetchall()

        for sql in SCHEMA:
            ask(sql.format(serial="int auto_increment primary key"))
        yield Target(server.endpoint(), ask)


@pytest.fixture(scope="module", params=[on_postgres, on_mariadb], ids=["postgres", "mariadb"])
def target(request: pytest.FixtureRequest) -> Iterator[Target]:
    with request.param() as running:
        yield running


def kind(result: Mapping[str, Any], number: int = 0) -> dict[str, Any]:
    return {name: values[number] for name, values in result["transactions"].items()}


@pytest.mark.parametrize(("handle", "parameters"), HANDLES)
def test_values_of_rows_go_into_the_next_statements_by_every_handle(
    target: Target, handle: str, parameters: str
) -> None:
    for sql in RESET:
        target.ask(sql)
    result = target.run(handle=handle, parameters=parameters, points=[3])
    assert result["errors"]["message"] == []
    done = kind(result)
    lines, unbalanced, unlike, nulls = map(target.number, CHECKS)
    assert done["count"] > 3 and done["rolled_back"] > 0 and done["errors"] == 0
    assert lines % 3 == 0 and lines >= 3 * (done["count"] - done["rolled_back"])
    assert unbalanced == unlike == 0 and nulls > 0


def test_the_work_is_the_same_by_every_handle(target: Target) -> None:
    found: list[Any] = []
    for handle, parameters in HANDLES:
        for sql in RESET:
            target.ask(sql)
        target.run(handle=handle, parameters=parameters, points=[1])
        found.append(target.ask(FIRST))
    assert len(found[0]) == 15 and all(rows == found[0] for rows in found)


def counter(code: str) -> dict[str, Any]:
    """All clients change both of two rows, in either order."""
    both = {"kind": "uniform", "low": 1, "high": 2}
    return {
        "statements": [
            {"name": code, "sql": "update account set balance = balance + 1 where id = :id"},
            {"name": "other", "sql": "update account set balance = balance + 1 where id = :other"},
        ],
        "transactions": [
            {
                "name": "both",
                "weight": 1,
                "begin": True,
                "values": {"id": both},
                "steps": [
                    {"do": "set", "value": "other", "to": ["sub", 3, "id"]},
                    {"do": "statement", "name": code},
                    {"do": "wait", "ms": 1},
                    {"do": "statement", "name": "other"},
                ],
            }
        ],
        "points": [4],
        "handle": "named",
        "parameters": "client",
        "measure_s": 1.5,
        "deadline_ms": 60_000,
    }


def test_a_deadlock_is_executed_again_and_counted(target: Target) -> None:
    for sql in RESET:
        target.ask(sql)
    session = ["set deadlock_timeout = '10ms'"] if "protocol" not in target.endpoint else []
    refused = target.run(**counter("one"), session=session)
    assert kind(refused)["code"] in ("40P01", "40001") and kind(refused)["retries"] == 0
    target.ask(RESET[0])
    result = target.run(**counter("one"), session=session, retries=1000)
    done = kind(result)
    assert done["errors"] == 0 and done["retries"] > 0 and done["count"] > 0
    # each has changed both rows once
    balances = [row[0] for row in target.ask("select balance from account where id <= 2")]
    assert balances[0] == balances[1] >= 100 + done["count"]


def opposite() -> dict[str, Any]:
    """Two kinds change two rows in opposite orders; each execution leaves a row that stays."""

    def kind(name: str, first: int, second: int) -> dict[str, Any]:
        return {
            "name": name,
            "weight": 1,
            "steps": [
                {"do": "begin"},
                {"do": "statement", "name": f"note {name}"},
                {"do": "statement", "name": f"row {first}"},
                {"do": "wait", "ms": 20},
                {"do": "statement", "name": f"row {second}"},
                {"do": "commit"},
            ],
        }

    names = ("up", "down")
    notes = [{"name": f"note {n}", "sql": f"insert into executed values ('{n}')"} for n in names]
    add = "update account set balance = balance + 1 where id ="
    rows = [{"name": f"row {n}", "sql": f"{add} {n}"} for n in (1, 2)]
    return {
        "statements": [*notes, *rows],
        "transactions": [kind("up", 1, 2), kind("down", 2, 1)],
        "points": [2],
        "handle": "named",
        "parameters": "client",
        "measure_s": 20,
        "transactions_max": 60,
        "retries": 1000,
        "deadline_ms": 60_000,
    }


def test_retries_by_kind_are_the_deadlocks_that_mariadb_counts() -> None:
    with on_mariadb() as target:
        # rows of this engine survive a rollback
        target.ask("create table executed (kind varchar(9)) engine = Aria transactional = 0")
        status = "select variable_value from information_schema.global_status"
        deadlocks = f"{status} where variable_name = 'innodb_deadlocks'"
        before = target.number(deadlocks)
        result = target.run(**opposite())
        counted = target.number(deadlocks) - before
        kinds = [kind(result, number) for number in (0, 1)]
        assert [done["errors"] for done in kinds] == [0, 0]
        # the one that is under way when the last ends may have been a victim, and is in no count
        retries = sum(done["retries"] for done in kinds)
        assert 5 < retries <= counted
        executed = [
            target.number(f"select count(*) from executed where kind = '{n}'") for n in ("up", "down")
        ]
        beyond = sorted(
            times - done["count"] - done["retries"] for done, times in zip(kinds, executed, strict=True)
        )
        each = target.ask("select balance from account where id <= 2")
        committed = each[0][0] - 100
        assert each[0] == each[1] and committed in (60, 61)
        assert beyond[0] == 0 and sum(executed) == committed + counted


def test_a_serialization_failure_is_executed_again(target: Target) -> None:
    if "protocol" in target.endpoint:
        pytest.skip("MariaDB waits for the row instead")
    target.ask(RESET[0])
    changes = {**counter("one"), "session": ["set default_transaction_isolation = 'repeatable read'"]}
    changes["transactions"] = [
        {**changes["transactions"][0], "values": {"id": {"kind": "choice", "values": [1]}}}
    ]
    done = kind(target.run(**changes, retries=1000))
    assert done["errors"] == 0 and done["retries"] > 0
    assert kind(target.run(**changes))["code"] == "40001"


SIMPLE: dict[str, Any] = {
    "statements": [{"name": "one", "sql": "select 1 as one"}, {"name": "two", "sql": "select 2"}],
    "handle": "none",
    "parameters": "none",
}


def test_a_transaction_ends_as_an_error_where_its_steps_fail(target: Target) -> None:
    one = {"do": "statement", "name": "one", "take": {"x": "one"}}
    for steps, cause in [
        ([one, {"do": "set", "value": "y", "to": ["div", "x", ["sub", "x", 1]]}], "division by zero"),
        ([{"do": "begin"}, one], "the transaction ended without commit or rollback"),
        ([one, {"do": "fail", "message": "as it says"}], "as it says"),
        (
            [{"do": "statement", "name": "one", "take": {"x": "none"}}, {"do": "wait", "ms": "x"}],
            "`:x`: no statement",
        ),
    ]:
        result = target.run(**SIMPLE, transactions=[{"name": "t", "weight": 1, "steps": steps}], points=[2])
        done = kind(result)
        assert done["count"] == 0 and done["errors"] > 0, cause
        assert done["code"] == "step" and done["message"].startswith(cause)


def test_pauses_between_transactions_are_no_latency_and_those_within_are(target: Target) -> None:
    def mean_ms(**transaction: Any) -> tuple[float, int]:
        of = [{"name": "t", "weight": 1, **transaction}]
        result = target.run(**SIMPLE, transactions=of, points=[1], measure_s=1)
        return result["clients"]["mean_ns"][0] / 1e6, result["clients"]["transactions"][0]

    latency, count = mean_ms(statements=["one"], keying_ms=30, think_ms=20)
    assert latency < 15 and 10 <= count <= 20
    latency, count = mean_ms(steps=[{"do": "statement", "name": "one"}, {"do": "wait", "ms": 50}])
    assert 50 <= latency < 80 and 10 <= count <= 20


def test_a_deck_gives_the_exact_mix_and_each_kind_its_latency(target: Target) -> None:
    both = ["one", "two"]
    of = [
        {"name": "often", "weight": 9, "statements": both},
        {"name": "rare", "weight": 1, "statements": both},
    ]
    result = target.run(**SIMPLE, transactions=of, mix="deck", points=[1], measure_s=1)
    often, rare = kind(result, 0)["count"], kind(result, 1)["count"]
    assert rare > 20 and abs(often - 9 * rare) <= 9
    latency = dict(zip(result["latency"]["statement"], result["latency"]["count"], strict=True))
    assert latency["transaction often"] == often and latency["transaction rare"] == rare
    assert latency["transaction"] == often + rare


def test_the_trial_of_steps_changes_nothing(target: Target) -> None:
    for sql in RESET:
        target.ask(sql)
    work = {**WORK, "transactions": [{**WORK["transactions"][0], "name": "try"}]}
    asked = plan(target.endpoint, **work, handle="named", seed=3) | {"parameters": "client"}
    assert json.loads(_core.load_trial(json.dumps(asked)))["message"] == [""] * 5
    assert target.number(CHECKS[0]) == 0
