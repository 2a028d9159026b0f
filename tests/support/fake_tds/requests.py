"""What a client of TDS 5.0 sends: messages made of packets, requests made of tokens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

LOGIN, QUERY, CANCEL, TOKENS = 2, 1, 6, 15
"""Types of packets: login, a text alone, interruption, tokens."""

Kind = Literal["language", "language with parameters", "prepare", "execute", "deallocate", "call", "logout"]
Value = int | str | None

_LANGUAGE, _LOGOUT, _CALL, _DYNAMIC, _FORMATS, _VALUES = 0x21, 0x71, 0xE6, 0xE7, 0xEC, 0xD7
_DYNAMIC_KINDS: dict[int, Kind] = {1: "prepare", 2: "execute", 4: "deallocate"}
_INTEGER, _VARCHAR, _LONG_CHAR, _DECIMAL, _BIT = 0x26, 0x27, 0xAF, 0x6A, 0x32
_MESSAGE_MAX = 1 << 20


class Malformed(Exception):
    """Bytes that no client of TDS 5.0 sends, or a token that this server does not know."""


@dataclass(frozen=True)
class Request:
    """text: SQL, or the name of what is called; name: of a prepared statement, '' where there is none."""

    kind: Kind
    text: str = ""
    name: str = ""
    values: tuple[Value, ...] = ()


@dataclass(frozen=True)
class Login:
    """Who connects; application: the driver's property appName."""

    user: str
    password: str
    application: str


class _Reader:
    """Takes bytes from the front. Raises Malformed where there are too few."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def peek(self) -> int:
        return self._data[self._at] if self.left else -1

    def take(self, count: int) -> bytes:
        if not 0 <= count <= self.left:
            raise Malformed(f"{count} bytes at {self._at}, where {self.left} are left")
        self._at += count
        return self._data[self._at - count : self._at]

    def number(self, width: int) -> int:
        return int.from_bytes(self.take(width), "little")

    def text(self, width: int) -> str:
        """A text with its length, of `width` bytes, before it."""
        return self.take(self.number(width)).decode("latin-1")


def message(receive: Callable[[int], bytes]) -> tuple[int, bytes]:
    """Type and body of the next message. receive: gives so many bytes, or raises EOFError."""
    body = b""
    while True:
        head = receive(8)
        length = int.from_bytes(head[2:4], "big")
        if length < 8 or len(body) + length > _MESSAGE_MAX:
            raise Malformed(f"a packet of {length} bytes")
        body += receive(length - 8)
        if head[1] & 1:
            return head[0], body


def login(body: bytes) -> Login:
    """The login record: fields of a fixed length, each with its used length after it."""
    if len(body) < 171:
        raise Malformed(f"a login of {len(body)} bytes")

    def field(at: int) -> str:
        return body[at : at + min(body[at + 30], 30)].decode("latin-1")

    return Login(user=field(31), password=field(62), application=field(140))


def requests(kind: int, body: bytes) -> list[Request]:
    """The requests of a message after the login. Raises Malformed."""
    if kind == QUERY:
        return [Request("language", body.decode("latin-1"))]
    if kind != TOKENS:
        raise Malformed(f"a packet of type {kind}")
    reader = _Reader(body)
    found: list[Request] = []
    while reader.left:
        found.append(_request(reader))
    return found


def _request(reader: _Reader) -> Request:
    token = reader.number(1)
    if token == _LOGOUT:
        reader.take(1)
        return Request("logout")
    if token == _LANGUAGE:
        content = _Reader(reader.take(reader.number(4)))
        has_values = content.number(1) & 1
        text = content.take(content.left).decode("latin-1")
        if has_values:
            return Request("language with parameters", text, values=_values(reader))
        return Request("language", text)
    if token == _CALL:
        content = _Reader(reader.take(reader.number(2)))
        name = content.text(1)
        return Request("call", name, values=_values(reader) if content.number(2) & 2 else ())
    if token == _DYNAMIC:
        return _dynamic(reader)
    raise Malformed(f"token 0x{token:02x}")


def _dynamic(reader: _Reader) -> Request:
    content = _Reader(reader.take(reader.number(2)))
    number, has_values = content.number(1), content.number(1) & 1
    if number not in _DYNAMIC_KINDS:
        raise Malformed(f"a dynamic request of type {number}")
    kind = _DYNAMIC_KINDS[number]
    name = content.text(1)
    if kind == "prepare":
        beginning = f"create proc {name} as "
        text = content.text(2)
        if not text.startswith(beginning):
            raise Malformed(f"a prepare without `{beginning}`: {text}")
        return Request(kind, text.removeprefix(beginning), name)
    return Request(kind, name=name, values=_values(reader) if has_values else ())


def _values(reader: _Reader) -> tuple[Value, ...]:
    if reader.number(1) != _FORMATS:
        raise Malformed("parameters without their formats")
    content = _Reader(reader.take(reader.number(2)))
    types = [_format(content) for _ in range(content.number(2))]
    if reader.number(1) != _VALUES:
        raise Malformed("formats of parameters without their values")
    return tuple(_value(reader, number) for number in types)


def _format(content: _Reader) -> int:
    content.text(1)
    content.take(5)  # status, user type
    number = content.number(1)
    widths = {_INTEGER: 1, _VARCHAR: 1, _LONG_CHAR: 4, _DECIMAL: 3, _BIT: 0}
    if number not in widths:
        raise Malformed(f"a parameter of type 0x{number:02x}")
    content.take(widths[number])
    content.text(1)  # locale
    return number


def _value(reader: _Reader, number: int) -> Value:
    if number == _BIT:
        return reader.number(1)
    data = reader.take(reader.number(4 if number == _LONG_CHAR else 1))
    if not data:
        return None
    if number == _INTEGER:
        return int.from_bytes(data, "little", signed=True)
    if number == _DECIMAL:
        return (-1 if data[0] else 1) * int.from_bytes(data[1:], "big")
    return data.decode("latin-1")
