"""Ends a process together with the one that started it, which no handler can do after kill -9."""

from __future__ import annotations

import ctypes
import os
import signal

_PR_SET_PDEATHSIG = 1
# loaded before any fork: nothing may be imported between fork and exec
_LIBC = ctypes.CDLL(None)


def end_with(parent: int) -> bool:
    """Has the kernel kill this process when its parent ends; False when that has ended already."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    # the parent may have ended before the kernel was told: then nothing would be sent
    return os.getppid() == parent
