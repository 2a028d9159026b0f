"""Reading /proc repeatedly: descriptors are kept open, because opening costs more than reading."""

import os
import resource
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

# A seq_file returns at most its buffer, a page or more, cut between records: a shorter text is complete.
_COMPLETE_BYTES = 3 * 1024
_CHUNK_BYTES = 64 * 1024
NS_PER_TICK = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


class Budget:
    """Number of descriptors that may stay open."""

    def __init__(self, files_max: int) -> None:
        self.left = files_max


@cache
def shared_budget() -> Budget:
    """Of all monitors of this process, those of options in turns together: a quarter of the soft limit."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return Budget(max(16, soft // 4))


def tasks_of(proc: Path) -> bytes:
    """Number of tasks and last pid: both stay while no process or thread comes or goes; empty: not known."""
    with suppress(OSError):
        return (proc / "loadavg").read_bytes().partition(b"/")[2]
    return b""


class ProcFile:
    """One file below /proc, read whole each time; within the budget its descriptor stays open.

    An open descriptor never shows another process with a reused pid: reading fails instead.
    Raises OSError as open and read do (FileNotFoundError, ProcessLookupError: the process has ended).
    """

    __slots__ = ("_budget", "_fd", "path")

    def __init__(self, path: str | Path, budget: Budget) -> None:
        self.path = str(path)
        self._budget = budget
        self._fd = -1
        if budget.left > 0:
            self._fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
            budget.left -= 1

    def read(self) -> bytes:
        """The content now."""
        if self._fd >= 0:
            return _read_whole(self._fd)
        fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return _read_whole(fd)
        finally:
            os.close(fd)

    def close(self) -> None:
        """Closes the descriptor; may be called twice."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
            self._budget.left += 1

    # where a process ends while its files are opened, nobody else closes those that were
    __del__ = close


def _read_whole(fd: int) -> bytes:
    text = os.pread(fd, _CHUNK_BYTES, 0)
    if len(text) < _COMPLETE_BYTES:
        return text
    while chunk := os.pread(fd, _CHUNK_BYTES, len(text)):
        text += chunk
    return text


def reason(error: OSError) -> str:
    """The message of the error: `Permission denied`."""
    return error.strerror or type(error).__name__


class Stat(NamedTuple):
    """The fields of /proc/PID/stat that are used; times in ns, rounded down to ticks."""

    ppid: int
    zombie: bool
    user_ns: int
    system_ns: int
    children_user_ns: int
    children_system_ns: int
    threads: int
    born_ticks: int


def parse_stat(text: bytes) -> Stat:
    """Parses the text of /proc/PID/stat; the name in brackets may contain blanks and brackets."""
    f = text[text.rindex(b")") + 2 :].split(None, 20)
    user, system, of_children, by_children = (int(ticks) * NS_PER_TICK for ticks in f[11:15])
    return Stat(int(f[1]), f[0] in b"ZX", user, system, of_children, by_children, int(f[17]), int(f[19]))


def parents_in(proc: Path, known: Mapping[int, int]) -> dict[int, int]:
    """Parent of every process, by pid; 0: none, or it has ended. known: trusted while the parent lives."""
    pids = {int(name) for name in os.listdir(proc) if name.isdigit()}  # noqa: PTH208
    found: dict[int, int] = {}
    for pid in pids:
        found[pid] = known.get(pid, 0)
        if found[pid] not in pids:
            with suppress(OSError, ValueError, IndexError):
                found[pid] = parse_stat((proc / str(pid) / "stat").read_bytes()).ppid
    return found
