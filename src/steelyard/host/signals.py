"""What ends the lab from outside: Ctrl-C, SIGTERM and SIGHUP, all in the same way."""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def interruptible(tell: Callable[[], None]) -> Generator[None]:
    """Within, each of them raises KeyboardInterrupt, so that everything on the way out is undone.

    tell: called at the first one, before anything is undone.
    """
    heard = False

    def interrupt(number: int, _frame: FrameType | None) -> None:
        nonlocal heard
        first, heard = not heard, True
        if not first and number == signal.SIGHUP:
            # a terminal that closes may say so twice, and nobody there is impatient
            return
        try:
            if first:
                tell()
        finally:
            # also where the terminal has gone
            raise KeyboardInterrupt

    before: dict[signal.Signals, Callable[[int, FrameType | None], Any] | int | None] = {}
    for kind in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # nohup has us ignore SIGHUP, and it is meant
        if signal.getsignal(kind) is not signal.SIG_IGN:
            before[kind] = signal.signal(kind, interrupt)
    try:
        yield
    except Exception:
        # a library may make an error of its own out of it, as DuckDB does in a query
        if heard:
            raise KeyboardInterrupt from None
        raise
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)
