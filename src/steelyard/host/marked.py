"""Finds processes by a mark in their environment, which they have from the moment they begin."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

VARIABLE = "STEELYARD_MARK"
_GRACE_S = 5.0


def with_mark(mark: str) -> Mapping[str, str]:
    """Our environment, and the mark: what a process to be found again is started with."""
    return {**os.environ, VARIABLE: mark}


def marked(mark: str) -> list[int]:
    """Processes that carry the mark, of any user that we may look at."""
    wanted = f"{VARIABLE}={mark}".encode()
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                # a zombie has no environment left, so what has died is not found
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
    return found


def end_marked(mark: str) -> None:
    """Kills them all, and waits until none is left; never raises."""
    deadline = time.monotonic() + _GRACE_S
    while found := marked(mark):
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            return
        time.sleep(0.01)
