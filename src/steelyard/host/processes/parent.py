"""Ends a process together with its parent, also after kill -9, where no handler runs."""

from __future__ import annotations

import ctypes
import os
import signal

_PR_SET_PDEATHSIG = 1
# loaded before any fork: nothing may be imported between fork and exec
_LIBC = ctypes.CDLL(None)


def end_with(parent: int) -> bool:
    """Makes the kernel kill this process when its parent ends; False when the parent has already ended."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    # the parent may have ended before the call: then the kernel sends no signal
    return os.getppid() == parent
