"""Servers that do not behave: each connection is served by a function of the test."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

# AuthenticationOk and ReadyForQuery
PG_WELCOME = b"R\0\0\0\x08\0\0\0\0" + b"Z\0\0\0\x05I"
PG_DONE = b"C\0\0\0\x0dSELECT 1\0" + b"Z\0\0\0\x05I"
# long password, with database, protocol 4.1, transactions, secure connection, plugin, no EOF
_CAPABILITIES = 0x1 | 0x8 | 0x200 | 0x2000 | 0x8000 | 0x80000 | 0x1000000
NONCE = bytes(range(40, 60))
MY_OK = b"\0\0\0\x02\0\0\0"


class Peer:
    """A connection to the engine under test, from the server's side."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.sequence = 0

    def send(self, data: bytes) -> None:
        self.connection.sendall(data)

    def receive(self, count: int) -> bytes:
        """So many bytes. Raises EOFError when there are no more."""
        found = b""
        while len(found) < count:
            part = self.connection.recv(count - len(found))
            if not part:
                raise EOFError
            found += part
        return found

    def pg_startup(self) -> None:
        """Reads what a client of PostgreSQL begins with."""
        self.receive(int.from_bytes(self.receive(4), "big") - 4)

    def pg_message(self) -> tuple[bytes, bytes]:
        """Kind and body of a message."""
        kind = self.receive(1)
        return kind, self.receive(int.from_bytes(self.receive(4), "big") - 4)

    def my_greeting(self, plugin: bytes = b"mysql_native_password") -> bytes:
        low, high = (
            (_CAPABILITIES & 0xFFFF).to_bytes(2, "little"),
            (_CAPABILITIES >> 16).to_bytes(2, "little"),
        )
        return (
            b"\x0a8.0.36\0" + bytes(4) + NONCE[:8] + b"\0" + low + b"\xff\x02\0" + high + b"\x15" + bytes(10)
            + NONCE[8:] + b"\0" + plugin + b"\0"
        )  # fmt: skip

    def my_send(self, body: bytes) -> None:
        """One packet."""
        self.send(len(body).to_bytes(3, "little") + bytes([self.sequence % 256]) + body)
        self.sequence += 1

    def my_receive(self) -> bytes:
        """One packet."""
        head = self.receive(4)
        self.sequence = head[3] + 1
        return self.receive(int.from_bytes(head[:3], "little"))

    def my_log_in(self) -> None:
        """Greets and lets in."""
        self.my_send(self.my_greeting())
        self.my_receive()
        self.my_send(MY_OK)


class Thief:
    """A MySQL that asks for the password by `plugin`, at once or by switching to it."""

    def __init__(self, plugin: bytes, switch: bool) -> None:
        self.plugin, self.switch, self.heard = plugin, switch, list[bytes]()

    def __call__(self, peer: Peer) -> None:
        peer.my_send(peer.my_greeting(b"mysql_native_password" if self.switch else self.plugin))
        self.heard.append(peer.my_receive())
        peer.my_send(b"\xfe" + self.plugin + b"\0" + bytes(range(40, 60)) + b"\0")
        self.heard.append(peer.my_receive())
        peer.my_send(MY_OK)
        while True:
            peer.my_receive()
            peer.my_send(MY_OK)


@contextmanager
def hostile(serve: Callable[[Peer], None], path: Path | None = None) -> Iterator[dict[str, Any]]:
    """Host and port (or socket) of a server that does `serve` on each connection, then keeps it open."""
    listener = socket.create_server(("127.0.0.1", 0)) if path is None else socket.socket(socket.AF_UNIX)
    if path is not None:
        listener.bind(str(path))
        listener.listen()
    open_ones: list[socket.socket] = []

    def one(connection: socket.socket) -> None:
        with suppress(OSError, EOFError):
            serve(Peer(connection))

    def accept() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                open_ones.append(connection)
                threading.Thread(target=one, args=(connection,), daemon=True).start()

    acceptor = threading.Thread(target=accept, daemon=True)
    acceptor.start()
    try:
        if path is None:
            yield {"host": "127.0.0.1", "port": listener.getsockname()[1]}
        else:
            yield {"host": "localhost", "port": 1, "socket": str(path)}
    finally:
        for each in (listener, *open_ones):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        acceptor.join()
