"""What ends the lab from outside: Ctrl-C, SIGTERM and SIGHUP, all in the same way."""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class Interrupts:
    """Each signal raises KeyboardInterrupt, so that everything on the way out is undone.

    notify: called at the first one, before anything is undone.
    """

    def __init__(self, notify: Callable[[], None] = lambda: None) -> None:
        self._notify = notify
        self._heard = False
        self._held = False
        self._due = False

    @contextmanager
    def raised(self) -> Generator[None]:
        """Within, the signals are heard."""
        before: dict[signal.Signals, Callable[[int, FrameType | None], Any] | int | None] = {}
        for kind in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # nohup has us ignore SIGHUP, and it is meant
            if signal.getsignal(kind) is not signal.SIG_IGN:
                before[kind] = signal.signal(kind, self._interrupt)
        try:
            yield
        except Exception:
            # a library may make an error of its own out of it, as DuckDB does in a query
            if self._heard:
                raise KeyboardInterrupt from None
            raise
        finally:
            for kind, handler in before.items():
                signal.signal(kind, handler)

    @contextmanager
    def held(self) -> Generator[None]:
        """Within, an interrupt waits for the end: what is written down is written whole."""
        self._held = True
        try:
            yield
        finally:
            self._held = False
        if self._due:
            self._due = False
            raise KeyboardInterrupt

    def _interrupt(self, number: int, _frame: FrameType | None) -> None:
        first, self._heard = not self._heard, True
        if not first and number == signal.SIGHUP:
            # a terminal that closes may say so twice, and nobody there is impatient
            return
        try:
            if first:
                self._notify()
        finally:
            # also where the terminal has gone
            self._due = self._held
            if not self._held:
                raise KeyboardInterrupt
