"""The load engine against servers that are silent, slow, boundless or after the password."""

from __future__ import annotations

import json
import signal
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hostile_server import PG_DONE, PG_WELCOME, Peer, Thief, hostile
from servers import free_port, plan, stub

from steelyard import _core

# hanging would exceed it by far
pytestmark = pytest.mark.timeout(60)

ONE = {
    "statements": [{"name": "one", "sql": "select 1"}],
    "transactions": [{"name": "one", "weight": 1, "statements": ["one"], "begin": False}],
}


def endpoint(at: dict[str, Any], protocol: str = "postgres", **changes: Any) -> dict[str, Any]:
    return {
        "protocol": protocol, "user": "u", "password": "opensesame", "database": "d", "tls": "disable",
        "ca_file": None, **at, **changes,
    }  # fmt: skip


def run(
    server: dict[str, Any], on_event: Callable[[dict[str, Any]], None] | None = None, **changes: Any
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The result and the events of a short load."""
    events: list[dict[str, Any]] = []

    def hear(line: str) -> None:
        events.append(json.loads(line))
        if on_event:
            on_event(events[-1])

    return json.loads(_core.load_run(json.dumps(plan(server, **ONE, **changes)), hear)), events


def answering(peer: Peer, answer: Callable[[bytes], bytes]) -> None:
    """A PostgreSQL that lets everybody in and answers queries by `answer`."""
    peer.pg_startup()
    peer.send(PG_WELCOME)
    while True:
        kind, body = peer.pg_message()
        if kind == b"Q":
            peer.send(answer(body))


def drip(peer: Peer, data: bytes) -> None:
    for byte in data:
        peer.send(bytes([byte]))
        time.sleep(0.1)


@pytest.mark.parametrize("protocol", ["postgres", "mysql"])
def test_a_server_that_never_answers_a_login_is_given_up_and_the_engine_says_it_is_alive(
    protocol: str,
) -> None:
    events: list[dict[str, Any]] = []
    with hostile(lambda peer: None) as at:
        asked = plan(endpoint(at, protocol), **ONE, connect_s=2.5)
        with pytest.raises(_core.LoadError, match="no answer in time"):
            _core.load_run(json.dumps(asked), lambda line: events.append(json.loads(line)))
    assert {event["phase"] for event in events if event["event"] == "alive"} == {"connect"}


@pytest.mark.parametrize("protocol", ["postgres", "mysql"])
def test_a_login_of_one_byte_at_a_time_is_limited_as_a_whole(protocol: str) -> None:
    # PostgreSQL: a ParameterStatus without end
    words = {"postgres": b"S\0\x01\0\0" + b"x" * 5000, "mysql": b"\xff\0\0\0\x0a" + b"x" * 5000}
    with (
        hostile(lambda peer: drip(peer, words[protocol])) as at,
        pytest.raises(_core.LoadError, match="no answer in time"),
    ):
        run(endpoint(at, protocol), connect_s=1)


def test_messages_without_end_do_not_prolong_a_login() -> None:
    def chat(peer: Peer) -> None:
        peer.pg_startup()
        while True:
            peer.send(b"N\0\0\0\x05\0" * 1000)

    with hostile(chat) as at, pytest.raises(_core.LoadError, match="no answer in time"):
        run(endpoint(at), connect_s=1)


def test_a_socket_whose_queue_is_full_is_given_up(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / ".s.PGSQL.1"))
        listener.listen(0)
        first = socket.socket(socket.AF_UNIX)
        with first, pytest.raises(_core.LoadError, match="no answer in time"):
            first.connect(str(tmp_path / ".s.PGSQL.1"))
            run(endpoint({"host": str(tmp_path), "port": 1}), connect_s=1)


def test_sessions_that_do_not_answer_are_inspected_within_one_limit_and_noticed() -> None:
    def serve(peer: Peer) -> None:
        answering(peer, lambda body: b"" if body.startswith(b"inspect") else PG_DONE)

    with hostile(serve) as at:
        result, events = run(
            endpoint(at),
            points=[32],
            inspect=[{"name": "inspect", "sql": "inspect"}],
            inspect_s=2.5,
        )
    assert result["notices"] == {
        "code": ["inspect-missed"],
        "text": ["inspect: 0 of 32 sessions answered: cannot connect to the server: no answer in time"],
    }
    assert "alive" in [event["event"] for event in events if event.get("phase") == "cool-down"]
    assert sum(result["clients"]["transactions"]) > 0 and result["errors"]["count"] == []


@pytest.mark.parametrize("io", ["epoll", "auto"])
def test_a_server_stopped_in_mid_measure_leaves_a_result_and_an_engine_that_is_heard(io: str) -> None:
    with stub(f"127.0.0.1:{(port := free_port())}") as server:

        def stop(event: dict[str, Any]) -> None:
            if event.get("phase") == "measure":
                server.send_signal(signal.SIGSTOP)

        result, events = run(
            endpoint({"host": "127.0.0.1", "port": port}),
            stop,
            io=io,
            measure_s=1.5,
            inspect=[{"name": "one", "sql": "select 1"}],
            inspect_s=1,
        )
    assert [event["phase"] for event in events if event["event"] == "phase"] == [
        "connect",
        "measure",
        "cool-down",
        "disconnect",
    ]
    # ticks while it measures, and then while what is under way is waited for
    assert [event["event"] for event in events].count("tick") == 2
    assert next(event["phase"] for event in events if event["event"] == "alive") == "measure"
    assert result["phases"]["phase"][-1] == "disconnect"


def test_a_server_stopped_in_mid_measure_that_misses_deadlines_ends_the_run_and_is_named() -> None:
    with stub(f"127.0.0.1:{(port := free_port())}") as server:

        def stop(event: dict[str, Any]) -> None:
            if event.get("phase") == "measure":
                server.send_signal(signal.SIGSTOP)

        with pytest.raises(_core.LoadError, match=rf"127.0.0.1:{port}.*lost.*no answer in time"):
            run(endpoint({"host": "127.0.0.1", "port": port}), stop, measure_s=600, deadline_ms=200)


@pytest.mark.parametrize("io", ["epoll", "auto"])
def test_an_answer_without_end_does_not_keep_the_load_from_its_end(io: str) -> None:
    row = b"D\0\0\x03\xf2\0\x01\0\0\x03\xe8" + b"x" * 1000

    def serve(peer: Peer) -> None:
        peer.pg_startup()
        peer.send(PG_WELCOME)
        peer.pg_message()
        while True:
            peer.send(row * 1000)

    with hostile(serve) as at:
        result, _ = run(endpoint(at), io=io, deadline_ms=300, measure_s=1)
    assert result["errors"]["code"] == ["deadline"]


HUGE = {
    # a row, and one packet after another of the longest kind
    "postgres": (b"D\x7f\xff\xff\xf0", b""),
    "mysql": (b"\x01\0\0\x01\x01", b"\xff\xff\xff\x02" + b"x" * 0xFFFFFF),
}


@pytest.mark.parametrize("io", ["epoll", "auto"])
@pytest.mark.parametrize("protocol", ["postgres", "mysql"])
def test_a_message_longer_than_the_limit_breaks_the_connection_by_name(protocol: str, io: str) -> None:
    begin, more = HUGE[protocol]

    def serve(peer: Peer) -> None:
        if protocol == "postgres":
            peer.pg_startup()
            peer.send(PG_WELCOME)
            peer.pg_message()
        else:
            peer.my_log_in()
            peer.my_receive()
        peer.send(begin)
        while more:
            peer.send(more)

    with hostile(serve) as at:
        result, _ = run(endpoint(at, protocol), io=io, points=[1], message_mib_max=20)
    assert result["errors"]["code"] == ["connection"]
    assert "more than 20 MiB: raise workload.message_mib_max" in result["errors"]["message"][0]


@pytest.mark.parametrize(("mib", "code"), [(1, ["connection"]), (3, [])])
def test_a_study_says_how_long_a_message_may_be(mib: int, code: list[str]) -> None:
    row = (
        b"D" + (2_000_010).to_bytes(4, "big") + b"\0\x01" + (2_000_000).to_bytes(4, "big") + bytes(2_000_000)
    )
    with hostile(lambda peer: answering(peer, lambda body: row + PG_DONE)) as at:
        result, _ = run(endpoint(at), message_mib_max=mib)
    assert result["errors"]["code"] == code


@pytest.mark.parametrize(
    ("protocol", "words"),
    [("postgres", b"R\x7f\xff\xff\xf0\0\0\0\0"), ("mysql", b"\xff\xff\xff\0\x0a")],
)
def test_no_length_that_a_login_names_is_believed(protocol: str, words: bytes) -> None:
    with (
        hostile(lambda peer: peer.send(words)) as at,
        pytest.raises(_core.LoadError, match="message_mib_max"),
    ):
        run(endpoint(at, protocol))


def test_more_columns_than_any_server_has_are_refused() -> None:
    def serve(peer: Peer) -> None:
        peer.my_log_in()
        peer.my_receive()
        peer.my_send(b"\xfe" + (1 << 60).to_bytes(8, "little"))
        while True:
            peer.my_send(b"definition")

    with hostile(serve) as at:
        result, _ = run(endpoint(at, "mysql"), points=[1])
    assert result["errors"]["message"] == ["server: this does not speak MySQL's protocol"]


@pytest.mark.parametrize("switch", [True, False])
@pytest.mark.parametrize("plugin", [b"mysql_clear_password", b"mysql_old_password"])
def test_no_server_gets_the_password_in_clear_over_tcp(plugin: bytes, switch: bool) -> None:
    thief = Thief(plugin, switch)
    with (
        hostile(thief) as at,
        pytest.raises(_core.LoadError, match=f"{plugin.decode()}.*not encrypted.*tls=require"),
    ):
        run(endpoint(at, "mysql"))
    # nothing follows the scramble of the handshake
    assert len(thief.heard) == 1 and b"opensesame" not in thief.heard[0]


def test_a_server_behind_a_unix_socket_gets_the_password_in_clear(tmp_path: Path) -> None:
    thief = Thief(b"mysql_clear_password", switch=True)
    with hostile(thief, tmp_path / "s") as at:
        result, _ = run(endpoint(at, "mysql"))
    assert thief.heard[1] == b"opensesame\0" and sum(result["clients"]["transactions"]) > 0


def engine(result: dict[str, Any]) -> tuple[int, str | None]:
    return result["engine"]["connections_lost"], result["engine"]["connections_lost_cause"]


FATAL = b"SFATAL\0C57P01\0Mshut down by the administrator\0\0"
FULL = b"SFATAL\0C53300\0Mtoo many clients\0\0"


def pg_error(body: bytes) -> bytes:
    return b"E" + (len(body) + 4).to_bytes(4, "big") + body


@pytest.mark.parametrize("io", ["epoll", "auto"])
def test_a_connection_that_we_close_at_the_deadline_is_not_lost_when_another_takes_its_place(io: str) -> None:
    with hostile(lambda peer: answering(peer, lambda body: b"")) as at:
        result, _ = run(endpoint(at), io=io, deadline_ms=200, measure_s=1)
    assert result["engine"]["reconnections"] > 0 and result["errors"]["code"] == ["deadline"]
    assert engine(result) == (0, None)


@pytest.mark.parametrize("io", ["epoll", "auto"])
@pytest.mark.parametrize(
    ("words", "cause"),
    [(b"", "the server closed the connection"), (pg_error(FATAL), "shut down by the administrator")],
)
def test_a_connection_that_the_server_closes_is_lost_with_its_cause(
    words: bytes, cause: str, io: str
) -> None:
    served: list[Peer] = []

    def serve(peer: Peer) -> None:
        served.append(peer)
        if len(served) > 1:
            return answering(peer, lambda body: PG_DONE)
        peer.pg_startup()
        peer.send(PG_WELCOME)
        peer.pg_message()
        peer.send(words)
        return peer.connection.shutdown(socket.SHUT_RDWR)

    with hostile(serve) as at:
        result, _ = run(endpoint(at), io=io, points=[1])
    assert engine(result) == (1, cause)
    assert result["engine"]["reconnections"] == 1


def test_a_client_that_we_disconnected_is_lost_when_it_is_not_let_in_again() -> None:
    served: list[Peer] = []

    def serve(peer: Peer) -> None:
        served.append(peer)
        if len(served) <= 2:
            answer = PG_DONE if len(served) == 1 else b""
            return answering(peer, lambda body: answer)
        peer.pg_startup()
        return peer.send(pg_error(FULL))

    with hostile(serve) as at:
        result, _ = run(endpoint(at), deadline_ms=200, measure_s=1)
    lost, cause = engine(result)
    assert lost == 1 and cause and "too many clients" in cause
    assert result["engine"]["reconnections"] == 0


def test_a_connection_lost_beside_the_measure_phase_counts_too() -> None:
    watched = threading.Event()

    def serve(peer: Peer) -> None:
        def answer(body: bytes) -> bytes:
            if watched.is_set():
                watched.clear()
                peer.connection.shutdown(socket.SHUT_RDWR)
            return PG_DONE

        answering(peer, answer)

    def hear(event: dict[str, Any]) -> None:
        if event["event"] == "phase" and event["phase"] == "scheduling-trace":
            watched.set()

    with hostile(serve) as at:
        result, _ = run(endpoint(at), hear, scheduling_trace_s=0.5)
    assert result["errors"]["count"] == [] and engine(result)[0] == 1
