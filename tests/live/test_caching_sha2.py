"""Logging in by caching_sha2_password, which MySQL 8 asks for and no server to be had here offers.

The other side is written from MySQL's manual, with Python's hashlib and openssl; the scramble's known
answer is that of the tests of go-sql-driver/mysql (auth_test.go).
https://dev.mysql.com/doc/dev/mysql-server/latest/page_caching_sha2_authentication_exchanges.html
"""

from __future__ import annotations

import hashlib
import json
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from needs import needs
from servers import plan

from steelyard import _core
from steelyard.host.mariadb_login import Address
from steelyard.host.mariadb_login import log_in as lab_logs_in

NONCE = bytes([90, 105, 74, 126, 30, 48, 37, 56, 3, 23, 115, 127, 69, 22, 41, 84, 32, 123, 43, 118])
PASSWORD = b"secret"
SCRAMBLE = bytes.fromhex("662005238fa18cf1abe8388b2b0e6bc4f9aa933cdccc78b2d60fb8961a3d39eb")
OK = bytes([0, 0, 0, 2, 0, 0, 0])
DENIED = b"\xff" + (1045).to_bytes(2, "little") + b"#28000Access denied for user"
FAST, FULL, ASKS_KEY = b"\x01\x03", b"\x01\x04", b"\x02"
# long password, with database, protocol 4.1, transactions, secure connection, plugin, no EOF
OFFERED = 0x1 | 0x8 | 0x200 | 0x2000 | 0x8000 | 0x80000 | 0x1000000


class Peer:
    """One login, then OK to whatever is asked. key: file of a private key, for logins without TLS."""

    def __init__(self, listener: socket.socket, key: Path | None, cached: bool, first: bytes) -> None:
        self.listener, self.key, self.cached, self.first = listener, key, cached, first
        self.scramble = self.password = b""
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        self.connection, _ = self.listener.accept()
        with self.connection:
            self._log_in()
            while (asked := self._read()) is not None and asked[:1] != b"\x01":
                self._write(OK)

    def _log_in(self) -> None:
        self.sequence = 0
        low, high = (OFFERED & 0xFFFF).to_bytes(2, "little"), (OFFERED >> 16).to_bytes(2, "little")
        self._write(
            b"\x0a8.0.36\0" + bytes(4) + NONCE[:8] + b"\0" + low + b"\xff\x02\0" + high + b"\x15" + bytes(10)
            + NONCE[8:] + b"\0" + self.first + b"\0"
        )  # fmt: skip
        answer = self._read() or b""
        if self.first == b"caching_sha2_password":
            _, _, rest = answer[32:].partition(b"\0")  # after the user
            self.scramble = rest[1 : 1 + rest[0]]
        else:
            self._write(b"\xfecaching_sha2_password\0" + NONCE + b"\0")
            self.scramble = self._read() or b""
        if self.cached:
            self._write(FAST)
            self._write(OK if self.scramble == expected(PASSWORD) else DENIED)
        else:
            self._full()

    def _full(self) -> None:
        self._write(FULL)
        answer = self._read() or b""
        if answer == ASKS_KEY and self.key is not None:
            public = subprocess.run(
                ["openssl", "pkey", "-in", self.key, "-pubout"], capture_output=True, check=True
            ).stdout
            self._write(b"\x01" + public)
            answer = self._decrypted(self._read() or b"")
        self.password = answer
        self._write(OK if answer == PASSWORD + b"\0" else DENIED)

    def _decrypted(self, sent: bytes) -> bytes:
        assert self.key is not None
        clear = subprocess.run(
            ["openssl", "pkeyutl", "-decrypt", "-inkey", self.key, "-pkeyopt", "rsa_padding_mode:oaep"],
            input=sent, capture_output=True, check=True,
        ).stdout  # fmt: skip
        return bytes(c ^ NONCE[i % len(NONCE)] for i, c in enumerate(clear))

    def _read(self) -> bytes | None:
        head = self._exactly(4)
        if head is None:
            return None
        self.sequence = head[3] + 1
        return self._exactly(int.from_bytes(head[:3], "little"))

    def _exactly(self, count: int) -> bytes | None:
        found = b""
        while len(found) < count:
            try:
                part = self.connection.recv(count - len(found))
            except ConnectionError:
                return None
            if not part:
                return None
            found += part
        return found

    def _write(self, body: bytes) -> None:
        self.connection.sendall(len(body).to_bytes(3, "little") + bytes([self.sequence % 256]) + body)
        self.sequence += 1


def expected(password: bytes) -> bytes:
    """XOR(SHA256(password), SHA256(SHA256(SHA256(password)), nonce))."""
    once = hashlib.sha256(password).digest()
    mixed = hashlib.sha256(hashlib.sha256(once).digest() + NONCE).digest()
    return bytes(a ^ b for a, b in zip(once, mixed, strict=True))


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as found:
        yield found


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    needs("openssl")
    path = tmp_path_factory.mktemp("key") / "private.pem"
    subprocess.run(["openssl", "genrsa", "-out", path, "2048"], check=True, capture_output=True)
    return path


def log_in(server: dict[str, Any], password: bytes = PASSWORD) -> int:
    """Transactions of a short load."""
    whole = {"protocol": "mysql", "user": "lab", "password": password.decode(), "database": "d", **server}
    asked = plan({"socket": None, "tls": "disable", "ca_file": None, **whole}, handle="none")
    asked |= {"points": [1], "parameters": "none"}
    result = json.loads(_core.load_run(json.dumps(asked), lambda line: None))
    return sum(result["clients"]["transactions"])


def by_tcp(listener: socket.socket) -> dict[str, Any]:
    return {"host": "127.0.0.1", "port": listener.getsockname()[1]}


def test_the_other_side_knows_the_known_answer() -> None:
    assert expected(PASSWORD) == SCRAMBLE


@pytest.mark.parametrize("first", [b"caching_sha2_password", b"mysql_native_password"])
def test_a_cached_password_is_known_by_its_scramble(listener: socket.socket, first: bytes) -> None:
    peer = Peer(listener, None, cached=True, first=first)
    assert log_in(by_tcp(listener)) > 0
    assert peer.scramble == SCRAMBLE and peer.password == b""


def test_a_password_that_is_not_cached_goes_encrypted_by_the_servers_key(
    listener: socket.socket, key: Path
) -> None:
    peer = Peer(listener, key, cached=False, first=b"caching_sha2_password")
    assert log_in(by_tcp(listener)) > 0
    assert peer.password == PASSWORD + b"\0"


def test_a_password_that_is_not_cached_goes_as_it_is_over_a_unix_socket(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        peer = Peer(listener, None, cached=False, first=b"caching_sha2_password")
        assert log_in({"host": "localhost", "port": 3306, "socket": path}) > 0
    assert peer.password == PASSWORD + b"\0"


def test_a_wrong_password_is_refused_in_the_servers_words(listener: socket.socket) -> None:
    Peer(listener, None, cached=True, first=b"caching_sha2_password")
    with pytest.raises(_core.LoadError, match="Access denied for user"):
        log_in(by_tcp(listener), b"wrong")


def lab_in(host: str = "localhost", port: int = 0, unix_socket: str | None = None) -> None:
    lab_logs_in(Address(host, port, "lab", PASSWORD.decode(), "", unix_socket, "disable", None)).close()


@pytest.mark.parametrize("first", [b"caching_sha2_password", b"mysql_native_password"])
def test_the_lab_is_known_by_its_scramble(listener: socket.socket, first: bytes) -> None:
    peer = Peer(listener, None, cached=True, first=first)
    lab_in(**by_tcp(listener))
    assert peer.scramble == SCRAMBLE and peer.password == b""


def test_the_lab_sends_a_password_encrypted_by_the_servers_key(listener: socket.socket, key: Path) -> None:
    pytest.importorskip("cryptography")
    peer = Peer(listener, key, cached=False, first=b"caching_sha2_password")
    lab_in(**by_tcp(listener))
    assert peer.password == PASSWORD + b"\0"


def test_the_lab_sends_a_password_as_it_is_over_a_unix_socket(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        peer = Peer(listener, None, cached=False, first=b"caching_sha2_password")
        lab_in(unix_socket=path)
    assert peer.password == PASSWORD + b"\0"
