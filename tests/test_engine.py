"""The load engine against a real PostgreSQL: the server's own counters say what was sent."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from steelyard import _core

sys.path.insert(0, str(Path(__file__).parent))

from servers import LOOKUP, Server, free_port, plan, postgres

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with postgres() as running:
        yield running


@pytest.fixture
def encrypted(server: Server) -> Server:
    if not server.tls:
        pytest.skip("this PostgreSQL is built without TLS")
    return server


def run(asked: dict[str, Any]) -> dict[str, Any]:
    return json.loads(_core.load_run(json.dumps(asked), lambda line: None))


def transactions(result: dict[str, Any]) -> int:
    return sum(result["clients"]["transactions"])


HANDLES = ("none", "unnamed", "named", "per-use", "left")
COMBINATIONS = [
    (handle, text, parameters)
    for handle, text, parameters in product(HANDLES, ("identical", "distinct", "unique"), ("none", "client"))
    if not (handle == "none" and parameters == "client") and not (handle == "named" and text == "unique")
]
PREPARED = [{"name": "prepared", "sql": "select count(*) as statements from pg_prepared_statements"}]


@pytest.mark.parametrize(("handle", "text", "parameters"), COMBINATIONS)
def test_every_combination_executes_what_it_counts(
    server: Server, handle: str, text: str, parameters: str
) -> None:
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
    prepared = sum(result["inspect"]["value"])
    expected = {
        "none": (0, 0),
        "unnamed": (0, 0),
        "per-use": (0, 0),
        "named": (10, 10) if text == "distinct" else (2, 2),
        "left": (count, count + 2),
    }[handle]
    assert expected[0] <= prepared <= expected[1]


def test_two_statements_of_a_transaction_share_it(server: Server) -> None:
    server.ask("create table pair (n int, tx xid8 default pg_current_xact_id())")
    insert = "insert into pair (n) values (:n)"
    one = {"kind": "uniform", "low": 1, "high": 1}
    asked = plan(
        server.endpoint(),
        handle="named",
        parameters="client",
        statements=[
            {"name": "first", "sql": insert, "parameters": {"n": one}},
            {"name": "second", "sql": insert, "parameters": {"n": one}},
        ],
        transactions=[{"name": "both", "weight": 1, "statements": ["first", "second"], "begin": True}],
    )
    result = run(asked)
    assert result["errors"]["count"] == [] and transactions(result) > 0
    assert server.ask("select count(*) from (select tx from pair group by tx having count(*) <> 2) odd") == 0
    assert result["latency"]["statement"] == ["first", "second", "transaction"]


@pytest.mark.parametrize(
    ("handle", "parameters"), [("none", "none"), ("named", "client"), ("per-use", "client")]
)
def test_a_failed_transaction_is_rolled_back_and_counted_by_its_sqlstate(
    server: Server, handle: str, parameters: str
) -> None:
    server.ask("drop table if exists half; create table half (n int)")
    asked = plan(
        server.endpoint(),
        handle=handle,
        parameters=parameters,
        statements=[
            {"name": "insert", "sql": "insert into half values (1)"},
            {"name": "fail", "sql": "select 1 / (count(*) - count(*)) from half"},
        ],
        transactions=[{"name": "both", "weight": 1, "statements": ["insert", "fail"], "begin": True}],
    )
    result = run(asked)
    assert transactions(result) == 0
    assert result["errors"]["code"] == ["22012"]
    assert result["errors"]["message"] == ["division by zero"]
    assert result["errors"]["count"][0] == sum(result["clients"]["errors"]) > 0
    assert (
        dict(zip(result["latency"]["statement"], result["latency"]["count"], strict=True))["transaction"] == 0
    )
    assert server.ask("select count(*) from half") == 0


def test_every_handle_gets_the_same_sequence_of_work(server: Server) -> None:
    seen = []
    for handle, parameters in (("none", "none"), ("named", "client"), ("left", "none")):
        server.ask("drop table if exists seen; create table seen (at serial, id int)")
        insert = {**LOOKUP, "sql": "insert into seen (id) values (:id)"}
        run(plan(server.endpoint(), handle=handle, parameters=parameters, points=[1], statements=[insert]))
        seen.append(server.ask("select array_agg(id order by at) from (select * from seen limit 20) first"))
    assert seen[0] == seen[1] == seen[2] and len(set(seen[0])) > 1


def test_shared_generators_never_repeat(server: Server) -> None:
    server.ask("create table ids (a bigint unique, b bigint unique, c text)")
    insert = {
        "name": "insert",
        "sql": "insert into ids values (:a, :b, :c)",
        "parameters": {
            "a": {"kind": "sequence", "start": 10, "step": 5},
            "b": {"kind": "unique"},
            "c": {"kind": "choice", "values": ["it's", "b"]},
        },
    }
    transaction = [{"name": "insert", "weight": 1, "statements": ["insert"], "begin": False}]
    result = run(
        plan(server.endpoint(), statements=[insert], transactions=transaction, points=[4], threads=2)
    )
    assert result["errors"]["count"] == [] and transactions(result) > 0
    assert server.ask("select min(a) from ids") == 10
    assert server.ask("select count(*) from ids where (a - 10) % 5 <> 0 or c not in ('it''s', 'b')") == 0


def test_session_statements_act_and_their_failure_is_told(server: Server) -> None:
    shown = [{"name": "memory", "sql": "select setting::int as kb from pg_settings where name = 'work_mem'"}]
    result = run(plan(server.endpoint(), session=["set work_mem = '7MB'"], inspect=shown))
    assert result["inspect"] == {
        "client": [0, 1], "name": ["memory"] * 2, "metric": ["kb"] * 2, "value": [7168.0, 7168.0],
    }  # fmt: skip
    with pytest.raises(_core.LoadError, match=r"nonsense.*42704"):
        run(plan(server.endpoint(), session=["set nonsense = 1"]))


def test_scram_lets_in_whom_it_knows_and_never_tells_the_password(server: Server) -> None:
    known = server.endpoint(user="scrammed", password="opensesame")
    items = [{"name": "one", "sql": "select 1"}]
    asked = plan(
        known,
        statements=items,
        transactions=[{"name": "one", "weight": 1, "statements": ["one"], "begin": False}],
    )
    assert transactions(run(asked)) > 0
    wrong = server.endpoint(user="scrammed", password="letmein77")
    with pytest.raises(_core.LoadError, match="28P01") as caught:
        run({**asked, "server": wrong})
    assert "letmein77" not in str(caught.value)
    with pytest.raises(_core.LoadError, match="password"):
        run({**asked, "server": {**wrong, "password": None}})


@pytest.mark.parametrize("handle", ["none", "named"])
def test_tls_encrypts(encrypted: Server, handle: str) -> None:
    ssl = [{"name": "ssl", "sql": "select ssl::int as on from pg_stat_ssl where pid = pg_backend_pid()"}]
    tcp = encrypted.endpoint(host="127.0.0.1", tls="require", user="postgres")
    result = run(plan(tcp, handle=handle, inspect=ssl))
    assert transactions(result) > 0 and result["errors"]["count"] == []
    assert result["inspect"]["value"] == [1.0, 1.0]
    verified = {**tcp, "tls": "verify-full", "ca_file": str(encrypted.folder / "ca.crt")}
    assert transactions(run(plan(verified, handle=handle))) > 0


def test_a_certificate_of_nobody_is_refused(encrypted: Server) -> None:
    endpoint = encrypted.endpoint(
        host="127.0.0.1", tls="verify-full", ca_file=str(encrypted.folder / "other.crt")
    )
    with pytest.raises(_core.LoadError, match=r"(?i)certificate"):
        run(plan(endpoint))


def test_scram_over_tls(encrypted: Server) -> None:
    endpoint = encrypted.endpoint(host="127.0.0.1", tls="require", user="scrammed", password="opensesame")
    one = [{"name": "one", "sql": "select 1"}]
    asked = plan(
        endpoint,
        statements=one,
        transactions=[{"name": "one", "weight": 1, "statements": ["one"], "begin": False}],
    )
    assert transactions(run(asked)) > 0


def test_a_refusal_names_address_and_cause(server: Server) -> None:
    refused = server.endpoint(host="127.0.0.1", user="refused")
    with pytest.raises(_core.LoadError, match=f"127.0.0.1:{server.port}.*28000"):
        run(plan(refused))
    nobody = server.endpoint(host="127.0.0.1", port=free_port())
    with pytest.raises(_core.LoadError, match="nothing listens|refused"):
        run(plan(nobody))
    with pytest.raises(_core.LoadError, match="PGSQL"):
        run(plan(server.endpoint(host="/nowhere")))


def test_a_killed_backend_is_reconnected_and_counted(server: Server) -> None:
    def kill() -> None:
        for _ in range(200):
            time.sleep(0.01)
            if server.ask(
                "select pg_terminate_backend(pid) from pg_stat_activity"
                " where application_name = 'steelyard' and query like '%filler%' limit 1"
            ):
                return

    killer = threading.Thread(target=kill)
    killer.start()
    result = run(plan(server.endpoint(), handle="named", parameters="client", points=[3], measure_s=1.5))
    killer.join()
    assert result["engine"]["reconnections"] >= 1
    # the server's last words, where they were read before the connection broke
    assert set(result["errors"]["code"]) <= {"57P01", "connection"} and result["errors"]["code"]
    assert all(count > 0 for count in result["clients"]["transactions"])
