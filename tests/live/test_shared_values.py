"""Values that the statements of a transaction share, on real servers: the ledger agrees with the accounts."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any

import mariadb_server
import pymysql
import pytest
from servers import Server, plan, postgres

from steelyard import _core
from steelyard.errors import InputError
from steelyard.workflow.prepare import PreparedStudy
from steelyard.workloads import work_of
from steelyard.workloads.load_plan import load_plan

ACCOUNTS = 50
SCHEMA = (
    "create table account (id int primary key, balance bigint not null)",
    "create table ledger (nth {serial}, account int, amount int, note varchar(9))",
    "create table audit (account int, amount int, note varchar(9))",
    "insert into account values " + ", ".join(f"({n}, 0)" for n in range(1, ACCOUNTS + 1)),
)
RESET = ("update account set balance = 0", "delete from ledger", "delete from audit")
# two kinds of transactions use one statement, each with values of its own
WORK = {
    "statements": [
        {"name": "update", "sql": "update account set balance = balance + :amount where id = :id"},
        {"name": "book", "sql": "insert into ledger (account, amount, note) values (:id, :amount, :note)"},
        {"name": "audit", "sql": "insert into audit values (:id, :amount, :note)"},
    ],
    "transactions": [
        {
            "name": "pay",
            "weight": 2,
            "statements": ["update", "book", "audit"],
            "begin": True,
            "values": {
                "id": {"kind": "zipf", "low": 1, "high": ACCOUNTS, "exponent": 0.5},
                "amount": {"kind": "uniform", "low": 1, "high": 100},
                "note": {"kind": "choice", "values": ["it's", "paid"]},
            },
        },
        {
            "name": "refund",
            "weight": 1,
            "statements": ["book", "update", "audit"],
            "begin": True,
            "values": {
                "id": {"kind": "uniform", "low": 1, "high": ACCOUNTS},
                "amount": {"kind": "uniform", "low": -9, "high": -1},
                "note": {"kind": "text", "length": 5},
            },
        },
    ],
}
UNBALANCED = """select count(*) from account where balance
    <> (select coalesce(sum(amount), 0) from ledger where ledger.account = account.id)"""
UNPAIRED = """select count(*) from ledger left join account on account.id = ledger.account
    where account.id is null"""
SUMS = "select count(*), sum(account), sum(amount), count(distinct note) from {table}"
FIRST = "select account, amount, note from ledger order by nth limit 20"
# a simple query carries no parameters; a text prepared once keeps its literals
HANDLES = [
    (handle, parameters)
    for handle, parameters in product(("none", "unnamed", "named", "per-use", "left"), ("none", "client"))
    if (handle, parameters) not in (("none", "client"), ("named", "none"))
]
Rows = Sequence[Sequence[Any]]


def run(asked: dict[str, Any]) -> int:
    """Transactions done, without an error."""
    if "sqlite" not in asked:
        return done(json.loads(_core.load_run(json.dumps(asked), lambda _: None)))
    # SQLite's settings are a process's
    ended = subprocess.run(
        [sys.executable, "-m", "steelyard.lab.engines.process", "load", str(os.getpid())],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    last = json.loads(ended.stdout.splitlines()[-1])
    assert last["event"] == "result", last
    return done(last["result"])


def done(result: dict[str, Any]) -> int:
    assert result["errors"]["message"] == []
    return sum(result["clients"]["transactions"])


def agree(count: int, unbalanced: Rows, unpaired: Rows, ledger: Rows, audit: Rows) -> None:
    """Every row of the ledger and of the audit belongs to its account."""
    assert unbalanced[0][0] == 0 and unpaired[0][0] == 0
    assert list(ledger[0]) == list(audit[0])
    assert ledger[0][0] >= count > 3


def check_beginnings(rows: Rows, expected: Rows) -> None:
    """Both are of the same client, which reached further in one run than in the other."""
    reached = min(len(rows), len(expected))
    assert reached > 3 and list(rows)[:reached] == list(expected)[:reached]


CHECKS = (UNBALANCED, UNPAIRED, SUMS.format(table="ledger"), SUMS.format(table="audit"))


class File:
    """An SQLite file that the engine works on."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.rows(*[sql.format(serial="integer primary key") for sql in SCHEMA])

    def rows(self, *statements: str) -> list[Rows]:
        with sqlite3.connect(self.file) as connection:
            return [connection.execute(sql).fetchall() for sql in statements]

    def plan(self, workers: str = "threads", **changes: Any) -> dict[str, Any]:
        """Of the ledger's work, unless changed."""
        target = {
            "file": str(self.file), "workers": workers, "threading": "serialized", "shared_cache": False,
            "begin": "immediate", "memory_status": True,
            "pragmas": [["journal_mode", "wal"], ["synchronous", "off"]],
        }  # fmt: skip
        work = plan({}, **{**WORK, **changes})
        del work["server"]
        return {**work, "sqlite": target}


@pytest.fixture
def file(tmp_path: Path) -> File:
    return File(tmp_path / "f.db")


@pytest.fixture
def expected(file: File) -> Rows:
    """What the first client does, whichever server and handle."""
    run(file.plan(points=[1], handle="named", parameters="client"))
    return file.rows(FIRST)[0]


@pytest.mark.parametrize("workers", ["threads", "processes"])
def test_sqlite_ledger_agrees_with_its_accounts(file: File, workers: str) -> None:
    count = run(file.plan(workers, points=[3], handle="named", parameters="client"))
    agree(count, *file.rows(*CHECKS))


def test_sqlite_does_the_same_work_by_every_handle(file: File, expected: Rows) -> None:
    for handle, parameters in HANDLES:
        if handle in ("none", "unnamed"):
            continue
        file.rows(*RESET)
        run(file.plan(points=[1], handle=handle, parameters=parameters))
        check_beginnings(file.rows(FIRST)[0], expected)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with postgres() as running:
        for sql in SCHEMA:
            running.ask(sql.format(serial="serial"))
        yield running


def asked_of_postgres(server: Server, *statements: str) -> list[Rows]:
    with server.connect() as connection:
        cursors = [connection.execute(sql.encode()) for sql in statements]
        return [decoded(cursor.fetchall()) if cursor.description else [] for cursor in cursors]


def decoded(rows: Rows) -> Rows:
    """The server's encoding is SQL_ASCII: texts arrive as bytes."""
    return [tuple(one.decode() if isinstance(one, bytes) else one for one in row) for row in rows]


@pytest.mark.parametrize("text", ["identical", "distinct", "unique"])
def test_postgres_ledger_agrees_with_its_accounts_by_every_handle(
    server: Server, expected: Rows, text: str
) -> None:
    for handle, parameters in HANDLES:
        if (handle, text) == ("named", "unique"):
            continue
        how = {"handle": handle, "parameters": parameters, "text": text, "distinct_texts": 3}
        asked_of_postgres(server, *RESET, "alter sequence ledger_nth_seq restart")
        count = run(plan(server.endpoint(), **WORK, **how, points=[3]))
        agree(count, *asked_of_postgres(server, *CHECKS))
        asked_of_postgres(server, *RESET, "alter sequence ledger_nth_seq restart")
        run(plan(server.endpoint(), **WORK, **how, points=[1]))
        check_beginnings(asked_of_postgres(server, FIRST)[0], expected)


def test_mariadb_ledger_agrees_with_its_accounts_by_every_handle(expected: Rows) -> None:
    with mariadb_server.mariadb() as server:

        def rows(*statements: str) -> list[Rows]:
            database = pymysql.connect(
                unix_socket=server.socket, user="root", database="lab", autocommit=True
            )
            with closing(database) as connection, connection.cursor() as cursor:
                return [cursor.fetchall() for sql in statements if cursor.execute(sql) >= 0]

        rows(*[sql.format(serial="int auto_increment primary key") for sql in SCHEMA])
        for handle, parameters in HANDLES:
            how = {"handle": handle, "parameters": parameters}
            rows(*RESET)
            count = run(plan(server.endpoint(), **WORK, **how, points=[3]))
            agree(count, *rows(*CHECKS))
            rows(*RESET)
            run(plan(server.endpoint(), **WORK, **how, points=[1]))
            check_beginnings(rows(FIRST)[0], expected)


DAY = {
    "statements": [{"name": "note", "sql": "insert into calendar values (:day)"}],
    "transactions": [
        {
            "name": "note",
            "weight": 1,
            "statements": ["note"],
            "values": {"day": {"kind": "choice", "values": ["2026-01-31", "2026-02-28"]}},
        }
    ],
}


@pytest.mark.parametrize("handle", ["none", "unnamed"])
def test_a_statement_is_tried_on_postgres_with_a_value_of_its_transaction(
    server: Server, handle: str
) -> None:
    server.ask("create table if not exists calendar (day date)")
    assert refused(plan(server.endpoint(), **DAY, handle=handle)) == [""]
    assert server.ask("select count(*) from calendar") == 0


def test_a_statement_is_tried_on_sqlite_with_a_value_of_its_transaction(file: File) -> None:
    file.rows("create table calendar (day text check (length(day) = 10))")
    assert refused(file.plan(**DAY, handle="per-use")) == [""]


def refused(asked: dict[str, Any]) -> list[str]:
    """What the server says when each transaction is tried once; by a process of its own."""
    script = "import sys; from steelyard import _core; print(_core.load_trial(sys.stdin.read()))"
    done = subprocess.run(
        [sys.executable, "-c", script], input=json.dumps(asked), capture_output=True, text=True, timeout=60,
        check=True,
    )  # fmt: skip
    return json.loads(done.stdout)["message"]


STUDY = """\
name = "own"
question = "Which?"
subject = { kind = "sqlite" }

[workload]
kind = "sql"
schema_sql = "create table account (id integer primary key, n integer); create table ledger (id integer);"

[workload.statements]
take.sql = "update account set n = n + :amount where id = :id"
take.parameters.amount = { kind = "uniform", low = 1, high = 9 }
book.sql = "insert into ledger values (:id)"

[workload.transactions.pay]
statements = ["take", "book"]
begin = true
values.id = { kind = "uniform", low = 1, high = 9 }

[workload.transactions.note]
statements = ["book"]
values.id = { kind = "sequence" }

[factors.handle]
scope = "client"
levels = { "per-use" = "per-use", named = "named" }
"""


def test_a_study_gives_the_engine_the_values_of_its_transactions() -> None:
    prepared = PreparedStudy.of(STUDY, "my.toml")
    option = prepared.options[0]
    transactions = load_plan(prepared.study, option, work_of(option.workload))["transactions"]
    assert [one["values"] for one in transactions] == [
        {"id": {"kind": "uniform", "low": 1, "high": 9}},
        {"id": {"kind": "sequence", "start": 1, "step": 1, "to": None}},
    ]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            'values.id = { kind = "sequence" }\n',
            "",
            'my.toml:12: workload.statements.book.sql: no generator for :id in transaction "note"',
        ),
        (
            "values.id = { kind",
            'values.amount = { kind = "unique" }\nvalues.id = { kind',
            "my.toml:17: workload.transactions.pay.values.amount: the statement `take` has its own generator"
            " for `:amount` under parameters: remove one of the two",
        ),
        (
            'values.id = { kind = "sequence" }',
            'values = { id = { kind = "sequence" }, idd = { kind = "unique" } }',
            "my.toml:21: workload.transactions.note.values.idd: has no effect: no statement of the"
            " transaction contains `:idd`",
        ),
        (
            'kind = "uniform", low = 1, high = 9 }\n\n[workload.transactions.note]',
            'kind = "uniform", lo = 1, high = 9 }\n\n[workload.transactions.note]',
            "my.toml:17: workload.transactions.pay.values.id.lo",
        ),
        (
            "low = 1, high = 9 }\n\n[workload.transactions.note]",
            "low = 10, high = 9 }\n\n[workload.transactions.note]",
            "my.toml:17: workload.transactions.pay.values.id: low 10 is above high 9",
        ),
    ],
)
def test_a_value_that_is_missing_given_twice_unused_or_wrong_is_an_error(
    old: str, new: str, expected: str
) -> None:
    assert old in STUDY
    with pytest.raises(InputError) as caught:
        PreparedStudy.of(STUDY.replace(old, new, 1), "my.toml")
    assert expected in str(caught.value)


def test_literals_of_a_text_prepared_once_cannot_be_shared() -> None:
    with pytest.raises(InputError, match="option named: handle `named` prepares a text once"):
        PreparedStudy.of(STUDY.replace('kind = "sql"', 'kind = "sql"\nparameters = "none"', 1), "my.toml")


def test_the_hint_of_a_missing_value_names_both_places() -> None:
    with pytest.raises(InputError) as caught:
        PreparedStudy.of(STUDY.replace('values.id = { kind = "sequence" }\n', ""), "my.toml")
    assert caught.value.hint == (
        'parameters.id = { kind = "uniform", low = 1, high = 100 }; to draw it once per transaction,'
        " put it into [workload.transactions.note.values]"
    )


def test_the_engine_refuses_by_itself_what_no_generator_gives() -> None:
    lacking = json.loads(json.dumps(WORK))
    del lacking["transactions"][1]["values"]["note"]
    server = {"host": "/s", "port": 1, "user": "u", "database": "d", "tls": "disable"}
    with pytest.raises(_core.PlanError, match="`:note` has no entry under parameters, nor under values of"):
        _core.load_check(json.dumps(plan(server, **lacking)))
