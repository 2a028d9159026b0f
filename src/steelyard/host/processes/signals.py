"""Signals that end the lab: Ctrl-C, SIGTERM and SIGHUP, all handled in the same way."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_AGAIN_S = 0.05


class Interrupts:
    """Each signal raises KeyboardInterrupt, so that all changes are undone on the way out.

    notify: called at the first signal, before any change is undone.
    """

    def __init__(self, notify: Callable[[], None] = lambda: None) -> None:
        self._notify = notify
        self._received = False
        self._held = False
        self._due = False
        self._number = signal.SIGINT
        self._again: threading.Timer | None = None

    @contextmanager
    def raised(self) -> Generator[None]:
        """Within this context, the signals are handled."""
        before: dict[signal.Signals, Callable[[int, FrameType | None], Any] | int | None] = {}
        for kind in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # nohup makes the lab ignore SIGHUP, on purpose
            if signal.getsignal(kind) is not signal.SIG_IGN:
                before[kind] = signal.signal(kind, self._interrupt)
        report = sys.unraisablehook
        sys.unraisablehook = lambda ignored: self._ignored(ignored, report)
        try:
            yield
        except Exception:
            # a library may raise its own error for it, as DuckDB does in a query
            if self._received:
                raise KeyboardInterrupt from None
            raise
        finally:
            sys.unraisablehook = report
            if self._again:
                self._again.cancel()
            for kind, handler in before.items():
                signal.signal(kind, handler)

    @contextmanager
    def held(self) -> Generator[None]:
        """Within this context, an interrupt waits for the end, so that writes are complete."""
        self._held = True
        try:
            yield
        finally:
            self._held = False
        if self._due:
            self._due = False
            raise KeyboardInterrupt

    def _ignored(
        self, ignored: sys.UnraisableHookArgs, report: Callable[[sys.UnraisableHookArgs], object]
    ) -> None:
        """Python drops what is raised in a finalizer: the interrupt is raised again, outside of it."""
        if ignored.exc_type is not KeyboardInterrupt or not self._received:
            report(ignored)
            return
        main = threading.main_thread().ident
        assert main is not None
        self._again = threading.Timer(_AGAIN_S, signal.pthread_kill, (main, self._number))
        self._again.daemon = True
        self._again.start()

    def _interrupt(self, number: int, _frame: FrameType | None) -> None:
        first, self._received = not self._received, True
        self._number = signal.Signals(number)
        if not first and number == signal.SIGHUP:
            # a closing terminal may send SIGHUP twice: the second is no further request
            return
        try:
            if first:
                self._notify()
        finally:
            # also where the terminal is closed
            self._due = self._held
            if not self._held:
                raise KeyboardInterrupt


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
