"""Names of PostgreSQL's latches, read from the memory of the running server.

An LWLock is identified by the number of its tranche. The names are in arrays of the program without symbols
(src/backend/storage/lmgr/lwlock.c), so each array is found by its first names: the single latches, and the
tranches of several latches. From PostgreSQL 17 on both are one array, with gaps.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_POINTER = struct.Struct("=Q")
_NAME = re.compile(rb"[A-Z][A-Za-z0-9]{1,62}\0")
_NAME_BYTES_MAX = 64
# the first name is that of latch number 1: 0 was never given
_SINGLE = (b"ShmemIndex", b"OidGen", b"XidGen")
_TRANCHES = (b"XactBuffer", b"CommitTsBuffer", b"SubtransBuffer")
# numbers of single latches before PostgreSQL 17 (13 to 16: src/backend/storage/lmgr/lwlocknames.txt)
_SINGLE_COUNT = 48


def tranche_names(pid: int) -> dict[int, str]:
    """Names by number; {} where they are not found, or the memory of the process cannot be read."""
    try:
        memory = _Memory.of(pid)
    except OSError:
        return {}
    single, many = memory.array(_SINGLE), memory.array(_TRANCHES)
    if single is None or many is None:
        return {}
    between, odd = divmod(many - single, _POINTER.size)
    together = not odd and 0 < between < 2 * _SINGLE_COUNT
    first = 1 + between if together else _SINGLE_COUNT
    found = {1 + i: memory.name(memory.pointer(single + i * _POINTER.size)) for i in range(first - 1)}
    for number, name in enumerate(memory.names_from(many), start=first):
        found[number] = name
    return {number: name for number, name in found.items() if name}


@dataclass(frozen=True)
class _Memory:
    """The mapped parts of a program's file, with relocated pointers: address and bytes of each part."""

    pieces: Sequence[tuple[int, bytes]]

    @classmethod
    def of(cls, pid: int) -> _Memory:
        """Raises OSError."""
        process = Path(f"/proc/{pid}")
        program = str((process / "exe").readlink())
        pieces: list[tuple[int, bytes]] = []
        with (process / "mem").open("rb", buffering=0) as memory:
            for line in (process / "maps").read_text().splitlines():
                span, _, _, _, _, *path = line.split(maxsplit=5)
                if path == [program]:
                    start, end = (int(part, 16) for part in span.split("-"))
                    memory.seek(start)
                    pieces.append((start, memory.read(end - start)))
        return cls(pieces)

    def array(self, first: Sequence[bytes]) -> int | None:
        """Address of consecutive pointers to these names, ignoring case; None if not found."""
        for text in self._find(first[0] + b"\0"):
            for place in self._find(_POINTER.pack(text)):
                if all(
                    self.name(self.pointer(place + i * _POINTER.size)).lower() == name.decode().lower()
                    for i, name in enumerate(first)
                ):
                    return place
        return None

    def names_from(self, place: int) -> Iterator[str]:
        """Names of consecutive pointers from here on, up to the first pointer without a name."""
        while name := self.name(self.pointer(place)):
            yield name
            place += _POINTER.size

    def name(self, address: int) -> str:
        """The name at an address; '' if there is none."""
        found = _NAME.match(self._bytes(address, _NAME_BYTES_MAX))
        return found[0][:-1].decode() if found else ""

    def pointer(self, place: int) -> int:
        """The pointer at an address; 0 outside the mapped parts."""
        found = self._bytes(place, _POINTER.size)
        return _POINTER.unpack(found)[0] if len(found) == _POINTER.size else 0

    def _bytes(self, address: int, length: int) -> bytes:
        for start, piece in self.pieces:
            if start <= address < start + len(piece):
                return piece[address - start : address - start + length]
        return b""

    def _find(self, pattern: bytes) -> Iterator[int]:
        for start, piece in self.pieces:
            at = piece.find(pattern)
            while at >= 0:
                yield start + at
                at = piece.find(pattern, at + 1)
