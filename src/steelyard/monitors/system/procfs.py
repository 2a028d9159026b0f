"""Reading /proc repeatedly: descriptors are kept open, because opening costs more than reading."""

from __future__ import annotations

import os
import resource
from pathlib import Path

# A seq_file returns at most its buffer, a page or more, cut between records: a shorter text is complete.
_COMPLETE_BYTES = 3 * 1024
_CHUNK_BYTES = 64 * 1024


class Budget:
    """Number of descriptors that may stay open: a quarter of the soft limit by default."""

    def __init__(self, files_max: int | None = None) -> None:
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.left = max(16, min(soft // 4, 65_536)) if files_max is None else files_max


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
