"""Shared memory that outlives its processes: System V segments, and files of /dev/shm.

A server removes its shared memory at a regular end. A killed server leaves it until the next boot.
"""

from __future__ import annotations

import ctypes
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_IPC_RMID = 0
_SEGMENTS = Path("/proc/sysvipc/shm")
_FILES = Path("/dev/shm")
_SETTLED_S = 0.1
# PostgreSQL's names (src/backend/storage/ipc/dsm_impl.c)
_MAPPED = re.compile(r"\s(/dev/shm/PostgreSQL\.\d+)$", re.MULTILINE)
_LIBC = ctypes.CDLL(None)

# number of a System V segment, or path of a file
Memory = frozenset[int | str]


def shared_memory(pids: Iterable[int]) -> Memory:
    """Segments that these processes created, and PostgreSQL's files that they have mapped."""
    makers = set(pids)
    found: set[int | str] = {row.segment for row in _segments() if row.maker in makers}
    for pid in makers:
        with suppress(OSError):
            found |= set(_MAPPED.findall(Path(f"/proc/{pid}/maps").read_text()))
    return frozenset(found)


def free(memory: Memory) -> None:
    """Removes memory without attached processes; never raises. Call it after the processes have ended."""
    attached = {row.segment: row.attached for row in _segments()}
    for part in memory:
        if isinstance(part, str):
            with suppress(OSError):
                Path(part).unlink()
        elif attached.get(part) == 0:
            _LIBC.shmctl(part, _IPC_RMID, None)


def orphans(uid: int) -> Memory:
    """Memory of a user that no process uses: checked twice, because a new segment is not yet attached."""
    found = _unused(uid)
    if found:
        time.sleep(_SETTLED_S)
    return found & _unused(uid)


def _unused(uid: int) -> Memory:
    found: set[int | str] = {
        row.segment
        for row in _segments()
        if row.uid == uid and not row.attached and not Path(f"/proc/{row.maker}").exists()
    }
    files: set[str] = set()
    for file in _FILES.glob("PostgreSQL.*"):
        with suppress(OSError):
            if file.stat().st_uid == uid:
                files.add(str(file))
    if files:
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                files -= set(_MAPPED.findall((entry / "maps").read_text()))
    return frozenset(found | files)


class _Segment(NamedTuple):
    """A row of proc_sysvipc_shm(5). maker: creating process; attached: number of processes."""

    segment: int
    maker: int
    attached: int
    uid: int


def _segments() -> Iterator[_Segment]:
    with suppress(OSError):
        for line in _SEGMENTS.read_text().splitlines()[1:]:
            columns = line.split()
            yield _Segment(int(columns[1]), int(columns[4]), int(columns[6]), int(columns[7]))
