"""What a server of TDS 5.0 answers: tokens, and the packets around them."""

from __future__ import annotations

_LOGIN_ACK, _ENVIRONMENT, _CAPABILITY, _MESSAGE, _DYNAMIC = 0xAD, 0xE3, 0xE2, 0xE5, 0xE7
_ROW_FORMATS, _ROW, _PARAMETER_FORMATS = 0xEE, 0xD1, 0xEC
_DONE, _DONE_PROC, _DONE_IN_PROC = 0xFD, 0xFE, 0xFF
_MORE, _ERROR, _COUNT = 0x01, 0x02, 0x10
_INTEGER, _VARCHAR = 0x26, 0x27
# of ASE 15, as a comment in jTDS lists them: requests, responses
_CAPABILITIES = bytes.fromhex("010b4ff785eaeb617fffffffc6 020a00000400000600000000")
_PACKET = 512
FIRST_DATABASE = "master"
_DATABASE, _CHARACTER_SET, _PACKET_SIZE = 1, 3, 4


def packets(tokens: bytes) -> bytes:
    """The tokens as one message."""
    room = _PACKET - 8
    parts = [tokens[at : at + room] for at in range(0, len(tokens), room)] or [b""]
    return b"".join(
        bytes([4, part is parts[-1]]) + (len(part) + 8).to_bytes(2, "big") + bytes(4) + part for part in parts
    )


def welcome() -> bytes:
    """Answer to a login."""
    environment = (
        _environment(_DATABASE, FIRST_DATABASE)
        + _environment(_CHARACTER_SET, "iso_1")
        + _environment(_PACKET_SIZE, str(_PACKET))
    )
    return environment + _acknowledged(5) + _sized(_CAPABILITY, _CAPABILITIES) + done()


def no_welcome() -> bytes:
    """Answer to a login with a wrong password."""
    return _acknowledged(6) + error(4002, 14, "Login failed.") + done(failed=True)


def database(name: str, before: str) -> bytes:
    """Answer to `use`. before: the session's database until now, which jTDS compares with its own."""
    return _environment(_DATABASE, name, before) + done()


def rows(value: int | str) -> bytes:
    """A result of one row with one column, from a text."""
    return _row_formats(value) + _row(value) + done(1)


def rows_of_prepared(value: int | str) -> bytes:
    """The same, from a prepared statement."""
    in_proc = bytes([_DONE_IN_PROC]) + _status(_MORE | _COUNT, 1)
    return _row_formats(value) + _row(value) + in_proc + bytes([_DONE_PROC]) + _status(0, 0)


def prepared(name: str, parameters: int, value: int | str | None) -> bytes:
    """Answer to a prepare. value: one such as the statement returns, None: it returns no rows."""
    # an unnamed integer for each parameter
    described = parameters.to_bytes(2, "little") + parameters * (bytes(6) + _integer() + bytes(1))
    columns = b"" if value is None else _row_formats(value)
    return dynamic(name) + _sized(_PARAMETER_FORMATS, described) + columns + done()


def dynamic(name: str) -> bytes:
    """The acknowledgement of a dynamic request."""
    return _sized(_DYNAMIC, bytes([0x20, 0]) + _short(name) + bytes(2))


def error(number: int, severity: int, text: str) -> bytes:
    """A message; above severity 10 it is an error."""
    words = len(text).to_bytes(2, "little") + text.encode("latin-1")
    content = number.to_bytes(4, "little") + bytes([1, severity]) + _short("ZZZZZ") + bytes(3)
    return _sized(_MESSAGE, content + words + _short("fake") + _short("") + bytes(2))


def done(count: int = -1, failed: bool = False) -> bytes:
    """The end of a response. count: rows, -1: none are counted."""
    return bytes([_DONE]) + _status((_COUNT if count >= 0 else 0) | (_ERROR if failed else 0), max(count, 0))


def _status(bits: int, count: int) -> bytes:
    return bits.to_bytes(2, "little") + bytes(2) + count.to_bytes(4, "little")


def _sized(token: int, content: bytes) -> bytes:
    return bytes([token]) + len(content).to_bytes(2, "little") + content


def _short(text: str) -> bytes:
    return bytes([len(text)]) + text.encode("latin-1")


def _environment(kind: int, value: str, before: str = "") -> bytes:
    return _sized(_ENVIRONMENT, bytes([kind]) + _short(value) + _short(before))


def _acknowledged(status: int) -> bytes:
    version = bytes([5, 0, 0, 0])
    return _sized(_LOGIN_ACK, bytes([status]) + version + _short("fake_tds") + bytes([15, 7, 0, 0]))


def _integer() -> bytes:
    return bytes([_INTEGER, 4])


def _row_formats(value: int | str) -> bytes:
    kind = _integer() if isinstance(value, int) else bytes([_VARCHAR, 255])
    return _sized(_ROW_FORMATS, bytes([1, 0]) + _short("value") + bytes([0x20]) + bytes(4) + kind + bytes(1))


def _row(value: int | str) -> bytes:
    data = value.to_bytes(4, "little", signed=True) if isinstance(value, int) else value.encode("latin-1")
    return bytes([_ROW, len(data)]) + data
