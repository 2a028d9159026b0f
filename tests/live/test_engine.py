"""The load engine against a real PostgreSQL: the server's own counters say what was sent."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from handles import PREPARED, REPRESENTATIVE, postgres_counts_the_same, run, told, transactions
from servers import LOOKUP, Server, free_port, plan, postgres

from steelyard import _core


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with postgres() as running:
        yield running


@pytest.fixture
def encrypted(server: Server) -> Server:
    if not server.tls:
        pytest.skip("this PostgreSQL is built without TLS")
    return server


@pytest.mark.parametrize(("handle", "text", "parameters"), REPRESENTATIVE)
def test_every_handle_executes_what_it_counts(
    server: Server, handle: str, text: str, parameters: str
) -> None:
    postgres_counts_the_same(server, handle, text, parameters)


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
    assert result["latency"]["statement"] == ["first", "second", "begin", "commit", "transaction"]
    counts = dict(zip(result["latency"]["statement"], result["latency"]["count"], strict=True))
    assert counts["begin"] > 0 and abs(counts["commit"] - counts["transaction"]) <= 1


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
    with pytest.raises(_core.LoadError, match=r"nothing listens|refused"):
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


def test_idle_connections_that_are_lost_come_back_and_keep_their_pace(server: Server) -> None:
    killed: list[int] = []

    def kill(line: str) -> None:
        if json.loads(line)["event"] == "tick":
            killed.append(kill_all(server))

    think = {"kind": "closed", "think_ms": 400, "think": "fixed"}
    asked = plan(server.endpoint(), arrival=think, measure_s=2.5)
    result = json.loads(_core.load_run(json.dumps(asked), kill))
    assert result["engine"]["reconnections"] >= 2
    # a client that thought when its connection was lost starts anew, and does not think twice at once
    assert all(0 < count <= 2500 / 400 + len(killed) + 1 for count in result["clients"]["transactions"])


def kill_all(server: Server) -> int:
    return server.ask(
        "select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = 'steelyard'"
    )


def test_connections_lost_in_the_cool_down_do_not_matter(server: Server) -> None:
    def kill(line: str) -> None:
        if json.loads(line).get("phase") == "cool-down":
            kill_all(server)

    asked = plan(server.endpoint(), inspect=PREPARED, cool_down_s=0.1)
    result = json.loads(_core.load_run(json.dumps(asked), kill))
    assert transactions(result) > 0 and result["errors"]["count"] == []


@pytest.mark.parametrize("begin", [False, True])
def test_a_statement_that_fails_once_prepared_stays_prepared(server: Server, begin: bool) -> None:
    divide = {
        "name": "divide",
        "sql": "select 10 / :by ::int",
        "parameters": {"by": {"kind": "uniform", "low": 0, "high": 1}},
    }
    asked = plan(
        server.endpoint(),
        handle="named",
        parameters="client",
        statements=[divide],
        transactions=[{"name": "divide", "weight": 1, "statements": ["divide"], "begin": begin}],
        points=[4],
        inspect=PREPARED,
    )
    result = run(asked)
    assert result["errors"]["code"] == ["22012"] and transactions(result) > 0
    assert told(result, "statements") == [1.0] * 4


@pytest.mark.parametrize("begin", [False, True])
def test_a_missed_deadline_is_counted_and_the_load_goes_on(server: Server, begin: bool) -> None:
    asked = plan(
        server.endpoint(),
        statements=[{"name": "sleep", "sql": "select pg_sleep(20)"}, {"name": "one", "sql": "select 1"}],
        transactions=[
            {"name": "slow", "weight": 1, "statements": ["one", "sleep"], "begin": begin},
            {"name": "quick", "weight": 20, "statements": ["one"], "begin": begin},
        ],
        deadline_ms=100,
        measure_s=1,
    )
    result = run(asked)
    kill_all(server)
    assert result["errors"]["code"] == ["deadline"]
    assert result["engine"]["reconnections"] >= 2 and transactions(result) > 0


@pytest.mark.parametrize("tls", ["disable", "require"])
def test_messages_larger_than_a_socket_takes_arrive_whole(encrypted: Server, tls: str) -> None:
    long = {
        "name": "long",
        "sql": "insert into lengths select length(:text)",
        "parameters": {"text": {"kind": "text", "length": 1 << 20}},
    }
    encrypted.ask("drop table if exists lengths; create table lengths (n int)")
    asked = plan(
        encrypted.endpoint(host="127.0.0.1", tls=tls),
        handle="named",
        parameters="client",
        statements=[long],
        transactions=[{"name": "long", "weight": 1, "statements": ["long"], "begin": False}],
        measure_s=1,
    )
    result = run(asked)
    assert transactions(result) > 0 and result["errors"]["count"] == []
    assert encrypted.ask("select count(*) from lengths where n <> 1 << 20") == 0


def test_replies_larger_than_a_buffer_are_read_whole(server: Server) -> None:
    wide = {"name": "wide", "sql": "select repeat('x', 300000) from generate_series(1, 3)"}
    alone = [{"name": "wide", "weight": 1, "statements": ["wide"], "begin": False}]
    result = run(plan(server.endpoint(), statements=[wide], transactions=alone))
    assert transactions(result) > 0 and result["errors"]["count"] == []


def test_md5_lets_in_whom_it_knows(server: Server) -> None:
    known = server.endpoint(user="hashed", password="opensesame")
    asked = plan(
        known,
        statements=[{"name": "one", "sql": "select 1"}],
        transactions=[{"name": "one", "weight": 1, "statements": ["one"], "begin": False}],
    )
    assert transactions(run(asked)) > 0
    with pytest.raises(_core.LoadError, match="28P01"):
        run({**asked, "server": {**known, "password": "letmein77"}})


def test_two_threads_over_tcp_keep_every_client_busy(server: Server) -> None:
    result = run(plan(server.endpoint(host="127.0.0.1"), points=[1, 5], threads=2))
    assert result["clients"]["client"] == [0, 0, 1, 2, 3, 4]
    assert min(result["clients"]["transactions"]) > 0 and result["errors"]["count"] == []


def test_a_server_that_is_killed_ends_the_run() -> None:
    with postgres() as doomed:
        pid = doomed.ask("select (regexp_match(pg_read_file('postmaster.pid'), '^[0-9]+'))[1]::int")
        events: list[str] = []

        def kill(line: str) -> None:
            events.append(line)
            if len(events) == 3:
                os.kill(pid, signal.SIGQUIT)

        with pytest.raises(_core.LoadError, match="lost"):
            _core.load_run(json.dumps(plan(doomed.endpoint(), measure_s=120)), kill)
        assert len(events) < 60


def test_a_listener_that_never_answers_is_told_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = {
            "host": "127.0.0.1", "port": silent.getsockname()[1], "user": "u", "password": None,
            "database": "d", "tls": "disable", "ca_file": None,
        }  # fmt: skip
        with pytest.raises(_core.LoadError, match="no answer in time"):
            run(plan(endpoint, connect_s=0.3))


NAPS = [{"name": name, "sql": f"select pg_sleep(0.1) as {name}"} for name in ("a", "b", "c")]
STREAMS = [
    {"name": "first", "weight": 1, "statements": ["a", "b", "c"], "begin": False},
    {"name": "second", "weight": 1, "statements": ["c", "a"], "begin": False},
]


def rounds(server: Server, **changes: Any) -> dict[str, Any]:
    """What began within a hundredth of a second goes to its end."""
    return run(
        plan(
            server.endpoint(), statements=NAPS, transactions=STREAMS, arrival={"kind": "rounds"},
            **{"points": [1, 3], "measure_s": 0.01, **changes},
        )
    )  # fmt: skip


@pytest.mark.parametrize("threads", [1, 2])
def test_a_round_that_began_within_the_time_goes_to_its_end(server: Server, threads: int) -> None:
    result = rounds(server, threads=threads)
    latency = result["latency"]
    counts = dict(
        zip(zip(latency["point"], latency["statement"], strict=True), latency["count"], strict=True)
    )
    # clients take the transactions by their number: the third has the first again
    assert [counts[0, name] for name in ("a", "b", "c", "transaction")] == [1, 1, 1, 1]
    assert [counts[1, name] for name in ("a", "b", "c", "transaction")] == [3, 2, 3, 3]
    phases = result["phases"]
    spans = zip(phases["phase"], phases["start_ns"], phases["end_ns"], strict=True)
    assert all(end - start >= 300e6 for phase, start, end in spans if phase == "measure")
    assert sum(result["throughput"]["count"]) == sum(latency["count"])


def test_rounds_go_on_while_one_may_begin_and_those_of_the_warm_up_count_nowhere(server: Server) -> None:
    result = rounds(server, points=[1], warm_up_s=0.01, measure_s=0.55)
    # three naps of a tenth: the second round begins after 0.3 s, the third would after 0.6 s and more
    assert result["clients"]["transactions"] == [2]
    assert [phase for phase in result["phases"]["phase"] if phase != "connect"][:2] == ["warm-up", "measure"]


def test_a_round_past_its_deadline_is_an_error_and_ends_the_point(server: Server) -> None:
    result = rounds(server, points=[1], deadline_ms=150)
    assert result["errors"]["code"] == ["deadline"] and result["clients"]["transactions"] == [0]


def test_load_that_is_not_measured_is_counted_apart_and_told_once(server: Server) -> None:
    server.ask("select pg_stat_statements_reset()")
    events: list[dict[str, Any]] = []
    asked = plan(server.endpoint(), points=[1, 2], scheduling_trace_s=0.2, latch_count_s=0.2, warm_up_s=0)
    result = json.loads(_core.load_run(json.dumps(asked), lambda line: events.append(json.loads(line))))
    asides = result["asides"]
    assert list(zip(asides["point"], asides["phase"], strict=True)) == [
        (0, "scheduling-trace"),
        (0, "latch-count"),
        (1, "scheduling-trace"),
        (1, "latch-count"),
    ]
    calls = server.ask(
        "select sum(calls)::bigint from pg_stat_statements"
        " where query like '%filler as%' and query not like '%pg_stat%' and query not ilike 'prepare%'"
    )
    counted = transactions(result) + sum(asides["transactions"])
    # what was under way at the end of a stretch has ended, uncounted: of three stretches of one and two
    assert min(asides["transactions"]) > 0 and counted <= calls <= counted + 9
    begun = [(event["phase"], event["point"], event["t_ns"]) for event in events if event["event"] == "phase"]
    assert len({where[:2] for where in begun}) == len(begun)
    # whoever counts is told in good time before the load begins
    rows = result["phases"]
    starts = {
        point: start
        for point, phase, start in zip(rows["point"], rows["phase"], rows["start_ns"], strict=True)
        if phase == "latch-count"
    }
    assert all(starts[point] - t_ns > 1e8 for phase, point, t_ns in begun if phase == "latch-count")
