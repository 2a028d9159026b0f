"""The server that counts what jTDS sends reads a recorded session, and any bytes."""

from __future__ import annotations

import contextlib
import socket

from fake_tds.requests import CANCEL, LOGIN, QUERY, TOKENS, Malformed, Request, message, requests
from fake_tds.server import PASSWORD, fake_tds
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as some


def packet(kind: int, body: bytes, last: bool = True) -> bytes:
    return bytes([kind, last]) + (len(body) + 8).to_bytes(2, "big") + bytes(4) + body


def test_requests_of_a_recorded_session_are_understood() -> None:
    """As jTDS 1.3.1 writes them."""
    name = b"jtds000001"
    sql = b"create proc jtds000001 as select 1"
    prepare = b"\xe7" + (len(sql) + 15).to_bytes(2, "little") + b"\1\0\x0a" + name
    prepare += len(sql).to_bytes(2, "little") + sql
    assert requests(TOKENS, prepare) == [Request("prepare", "select 1", "jtds000001")]
    values = b"\xec\x14\0\2\0" + b"\0\0\0\0\0\0\x26\4\0" + b"\0\0\0\0\0\0\x27\xff\0" + b"\xd7\4\x2a\0\0\0\2it"
    execute = b"\xe7\x0f\0\2\1\x0a" + name + b"\0\0" + values
    assert requests(TOKENS, execute) == [Request("execute", "", "jtds000001", (42, "it"))]
    both = b"\x21\7\0\0\0\1select" + values + b"\xe6\7\0\4doit\0\0" + b"\x71\0"
    assert requests(TOKENS, both) == [
        Request("language with parameters", "select", "", (42, "it")),
        Request("call", "doit"),
        Request("logout"),
    ]
    assert requests(QUERY, b"set rowcount 5") == [Request("language", "set rowcount 5")]


TOKEN = some.sampled_from(
    [b"\x21", b"\x71", b"\xe6", b"\xe7", b"\xec", b"\xd7", b"\0", b"\1", b"\2", b"\4", b"\x26"]
)
NOISE = some.lists(TOKEN | some.binary(max_size=8), max_size=30).map(b"".join)


@given(NOISE)
def test_any_bytes_are_requests_or_malformed(body: bytes) -> None:
    with contextlib.suppress(Malformed):
        assert len(requests(TOKENS, body)) <= len(body)


@hypothesis_settings(max_examples=20)
@given(
    some.lists(
        some.tuples(some.sampled_from([LOGIN, TOKENS, QUERY, CANCEL, 99]), NOISE, some.booleans()), max_size=4
    )
)
def test_any_session_ends(packets: list[tuple[int, bytes, bool]]) -> None:
    """The server's end joins its threads: one that hangs would hold the test."""
    with fake_tds() as server, socket.create_connection(("127.0.0.1", server.port), timeout=10) as client:
        who = bytearray(600)
        who[62:72], who[92] = PASSWORD.encode(), len(PASSWORD)
        try:
            client.sendall(packet(LOGIN, bytes(who)) + b"".join(packet(*one) for one in packets))
            client.shutdown(socket.SHUT_WR)
            while client.recv(4096):
                pass
        except OSError:
            pass  # it closed with bytes of ours unread
    assert server.logins.total() == 1


@given(some.binary(max_size=64))
def test_any_beginning_is_a_message_or_malformed(data: bytes) -> None:
    at = 0

    def receive(count: int) -> bytes:
        nonlocal at
        at += count
        if at > len(data):
            raise EOFError
        return data[at - count : at]

    with contextlib.suppress(EOFError, Malformed):
        assert len(message(receive)[1]) < len(data)
