"""Shared memory that processes hold and that outlives them: System V segments, and files of /dev/shm.

A server that ends in order removes its own. One that is killed leaves them until the next boot.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_IPC_RMID = 0
_SEGMENTS = Path("/proc/sysvipc/shm")
# PostgreSQL's names (src/backend/storage/ipc/dsm_impl.c)
_MAPPED = re.compile(r"\s(/dev/shm/PostgreSQL\.\d+)$", re.MULTILINE)
_LIBC = ctypes.CDLL(None)

# number of a System V segment, or path of a file
Memory = frozenset[int | str]


def shared_memory(pids: Iterable[int]) -> Memory:
    """Segments that these processes made, and PostgreSQL's files that they have mapped."""
    makers = set(pids)
    found: set[int | str] = {segment for segment, maker, _ in _segments() if maker in makers}
    for pid in makers:
        with suppress(OSError):
            found |= set(_MAPPED.findall(Path(f"/proc/{pid}/maps").read_text()))
    return frozenset(found)


def free(memory: Memory) -> None:
    """Removes what nobody is attached to any more; never raises. To be called after the processes ended."""
    attached = {segment: count for segment, _, count in _segments()}
    for part in memory:
        if isinstance(part, str):
            with suppress(OSError):
                Path(part).unlink()
        elif attached.get(part) == 0:
            _LIBC.shmctl(part, _IPC_RMID, None)


def _segments() -> Iterable[tuple[int, int, int]]:
    """Number, process that made it, processes attached (proc_sysvipc_shm(5))."""
    with suppress(OSError):
        for line in _SEGMENTS.read_text().splitlines()[1:]:
            columns = line.split()
            yield int(columns[1]), int(columns[4]), int(columns[6])
