"""Binds processes to their parent, also after kill -9 of the parent, where no handler runs."""

from __future__ import annotations

import ctypes
import os
import signal

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
# loaded before any fork: nothing may be imported between fork and exec
_LIBC = ctypes.CDLL(None)


def end_with(parent: int, how: signal.Signals = signal.SIGKILL) -> bool:
    """Makes the kernel end this process, by a signal, with its parent; False when that has already ended."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, how)
    # the parent may have ended before the call: then the kernel sends no signal
    return os.getppid() == parent


def adopt_orphans() -> None:
    """Makes this process the parent of its orphaned descendants, instead of init: it has to wait for them."""
    _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1)
