"""Ends every process that carries a mark in its environment: what a program started, wherever it went.

A copy's children may leave its process group and its session, but they inherit its environment.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

VARIABLE = "STEELYARD_MARK"
_GRACE_S = 5.0


def end_marked(mark: str) -> None:
    """Kills them all, and waits until none is left; never raises."""
    deadline = time.monotonic() + _GRACE_S
    while found := _marked(mark):
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            return
        time.sleep(0.01)


def _marked(mark: str) -> list[int]:
    wanted = f"{VARIABLE}={mark}".encode()
    found: list[int] = []
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdigit():
            with suppress(OSError):
                # a zombie has no environment left, so what has died is not waited for
                if wanted in Path(f"/proc/{name}/environ").read_bytes().split(b"\0"):
                    found.append(int(name))
    return found
