"""Processes that can write, and listen, only where they may: by Landlock, which needs no privilege.

A thread that restricts itself passes the restriction on to every process that it starts, so programs are
started by a thread of their own (https://docs.kernel.org/userspace-api/landlock.html).
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from steelyard import _core
from steelyard.host.finding import Finding
from steelyard.host.processes.limits import within

T = TypeVar("T")

_START_S = 60.0
# shared memory is System V's, or in /dev/shm; output that nobody reads goes to /dev/null
_ALWAYS = ("/dev/null", "/dev/shm")
_MISSING = {
    "": "this kernel does not confine processes: a server could write and listen wherever its user may",
    "files": "this kernel does not confine TCP: a server could connect to others",
}


def confined(start: Callable[[], T], folders: Iterable[Path], listens: Iterable[int] = ()) -> T:
    """Calls `start` so that the processes that it starts write into these folders alone.

    listens: TCP ports that they may listen on; they connect to none. Without Landlock nothing is restricted.
    Raises OSError for a folder that does not exist, and what `start` raises.
    """
    if not _core.confinement():
        return start()

    def restricted() -> T:
        _core.confine_thread([*_ALWAYS, *map(str, folders)], list(listens), [])
        return start()

    return within(_START_S, "starting a program", restricted)


def unconfined() -> str:
    """Why the kernel of this machine does not confine servers, as a sentence; '' where it does."""
    return _MISSING.get(_core.confinement(), "")


def confinement() -> Finding:
    """The doctor's finding on it."""
    if missing := unconfined():
        hint = "boot a kernel from 6.7 with CONFIG_SECURITY_LANDLOCK and landlock in lsm="
        return Finding("confinement", "warning", missing, hint)
    return Finding("confinement", "ok", "Landlock confines servers: files and TCP")
