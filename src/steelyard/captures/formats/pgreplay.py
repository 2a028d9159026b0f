"""pgreplay's replay files: records with numbers in network byte order.

Time (seconds and us, 4 bytes each), session (8), type (1), what the type has, a line feed.
https://github.com/laurenz/pgreplay, replayfile.c
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from steelyard.captures.entry import INCOMPLETE, NO_VALUES, OTHERS, PARTS, Entry, Records
from steelyard.captures.statements import Dialect
from steelyard.errors import InputError

NAME = "pgreplay's replay file"
DIALECT: Dialect = "postgresql"
NOTE = ""
_CONNECT, _DISCONNECT, _EXECUTE, _PREPARE, _EXECUTE_PREPARED, _CANCEL = range(6)
_CANCELLED = "requests to cancel a statement"
_NULL = 0x8000_0000
_HEAD = struct.Struct(">IIQB")
# a backend's process and start, as pgreplay numbers sessions, and no text of a log
_LONGEST_BYTES = 1 << 30


class _Truncated(Exception):
    pass


def sniff(head: bytes) -> bool:
    """A record of a connection, with which a replay file begins, or of a statement."""
    if len(head) < _HEAD.size + 5:
        return False
    _, us, _, kind = _HEAD.unpack_from(head)
    (length,) = struct.unpack_from(">I", head, _HEAD.size)
    return us < 1_000_000 and kind in (_CONNECT, _EXECUTE, _PREPARE) and 0 < length < _LONGEST_BYTES


def read(path: Path, records: Records) -> Iterator[Entry]:
    """The statements. Raises InputError."""
    prepared: dict[tuple[int, str], str] = {}
    database: dict[int, str] = {}
    with path.open("rb") as file:
        while True:
            at = file.tell()
            try:
                yield from _record(file, prepared, database, records)
            except _Truncated:
                if file.tell() > at:
                    records.leave(INCOMPLETE, f"{path}: byte {at}")
                return
            except ValueError as error:
                raise InputError(f"{path}: no record of {NAME} at byte {at}: {error}") from None


def _record(
    file: BinaryIO, prepared: dict[tuple[int, str], str], database: dict[int, str], records: Records
) -> Iterator[Entry]:
    seconds, us, session, kind = _HEAD.unpack(_bytes(file, _HEAD.size))
    at_us, place = seconds * 1_000_000 + us, f"{file.name}: byte {file.tell() - _HEAD.size}"
    entry: Entry | None = None
    name = database.get(session, "")
    if kind == _CONNECT:
        records.users.add(_text(file) or "")
        database[session] = _text(file) or ""
    elif kind == _EXECUTE:
        entry = Entry(f"{session:x}", at_us, None, _text(file) or "", database=name, place=place)
    elif kind == _PREPARE:
        sql, handle = _text(file) or "", _text(file) or ""
        prepared[session, handle] = sql
    elif kind == _EXECUTE_PREPARED:
        sql = prepared.get((session, _text(file) or ""))
        (count,) = struct.unpack(">H", _bytes(file, 2))
        values = tuple(_text(file) for _ in range(count))
        if sql is None:
            records.leave(NO_VALUES, place)
        else:
            how = "values" if values else "parsed"
            entry = Entry(f"{session:x}", at_us, None, sql, how, values, database=name, place=place)
    elif kind == _CANCEL:
        records.beside[_CANCELLED] += 1
    elif kind != _DISCONNECT:
        raise ValueError(f"type {kind}")
    if _bytes(file, 1) != b"\n":
        raise ValueError("no line feed at its end")
    if entry is not None:
        yield entry
    elif kind in (_CONNECT, _DISCONNECT, _PREPARE):
        records.beside[PARTS if kind == _PREPARE else OTHERS] += 1


def _bytes(file: BinaryIO, count: int) -> bytes:
    found = file.read(count)
    if len(found) < count:
        raise _Truncated
    return found


def _text(file: BinaryIO) -> str | None:
    (length,) = struct.unpack(">I", _bytes(file, 4))
    if length == _NULL:
        return None
    if length > _LONGEST_BYTES:
        raise ValueError(f"a text of {length:,} bytes")
    return _bytes(file, length).decode(errors="surrogateescape")
