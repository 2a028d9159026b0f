"""Shared memory that outlives its processes: System V segments, and files of /dev/shm.

A server removes its shared memory at a regular end. A killed server leaves it until the next boot.
"""

from __future__ import annotations

import ctypes
import re
import struct
from array import array
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_IPC_RMID = 0
_SEGMENTS = Path("/proc/sysvipc/shm")
_FILES = Path("/dev/shm")
_SHM_RDONLY = 0o10000
_FAILED = ctypes.c_void_p(-1).value
# PGShmemHeader of PostgreSQL 13 to 18: magic, ..., dsm_control (src/include/storage/pg_shmem.h)
_HEADER = struct.Struct("=I20xI")
_MAGIC = 679834894
# PostgreSQL's names (src/backend/storage/ipc/dsm_impl.c)
_MAPPED = re.compile(r"\s(/dev/shm/PostgreSQL\.\d+)$", re.MULTILINE)
_LIBC = ctypes.CDLL(None)
_LIBC.shmat.restype = ctypes.c_void_p
_LIBC.shmat.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
_LIBC.shmdt.argtypes = (ctypes.c_void_p,)

# number of a System V segment, or path of a file
Memory = frozenset[int | str]


def shared_memory(pids: Iterable[int]) -> Memory:
    """Segments that these processes created, and PostgreSQL's files that they, or those segments, refer to.

    A segment of a killed process still refers to the files of its server.
    """
    makers = set(pids)
    found: set[int | str] = set()
    for row in _segments():
        if row.maker in makers:
            found |= {row.segment, *_dynamic(row.segment)}
    for pid in makers:
        with suppress(OSError):
            found |= set(_MAPPED.findall(Path(f"/proc/{pid}/maps").read_text()))
    return frozenset(found)


def _dynamic(segment: int) -> set[str]:
    """Files that the control file of the server with this main segment lists, and the control file."""
    address = _LIBC.shmat(segment, None, _SHM_RDONLY)
    if address == _FAILED:
        return set()
    magic, control = _HEADER.unpack(ctypes.string_at(address, _HEADER.size))
    _LIBC.shmdt(address)
    if magic != _MAGIC:
        return set()
    numbers = array("I", [control])
    # its other words are counts, much smaller than the random numbers of files
    with suppress(OSError, ValueError):
        numbers.frombytes((_FILES / f"PostgreSQL.{control}").read_bytes())
    return {f"{_FILES}/PostgreSQL.{n}" for n in numbers} & {str(file) for file in _FILES.glob("PostgreSQL.*")}


def free(memory: Memory) -> None:
    """Removes memory without attached processes; never raises. Call it after the processes have ended."""
    attached = {row.segment: row.attached for row in _segments()}
    for part in memory:
        if isinstance(part, str):
            with suppress(OSError):
                Path(part).unlink()
        elif attached.get(part) == 0:
            _LIBC.shmctl(part, _IPC_RMID, None)


class _Segment(NamedTuple):
    """A row of proc_sysvipc_shm(5). maker: creating process; attached: number of processes."""

    segment: int
    maker: int
    attached: int


def _segments() -> Iterator[_Segment]:
    with suppress(OSError):
        for line in _SEGMENTS.read_text().splitlines()[1:]:
            columns = line.split()
            yield _Segment(int(columns[1]), int(columns[4]), int(columns[6]))
