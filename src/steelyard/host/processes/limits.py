"""A total time limit for any wait that may never end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class TimedOut(Exception):
    """The work took longer than its limit."""


def within(limit_s: float, what: str, work: Callable[[], T]) -> T:
    """Runs work and returns its result. Raises TimedOut after limit_s, and any error that work raises.

    A limit per read does not end a wait for a peer that sends one byte per second, and a library may wait
    without a limit. So work runs in a thread, which is abandoned when it is late: it must change nothing
    but its result. An interrupt ends the wait at once. what: completes `... took longer than 30 s`.
    """
    result: list[T] = []
    failure: list[BaseException] = []
    done = threading.Event()

    def run() -> None:
        try:
            result.append(work())
        except BaseException as error:
            failure.append(error)
        finally:
            done.set()

    threading.Thread(target=run, name=what, daemon=True).start()
    if not done.wait(limit_s):
        raise TimedOut(f"{what} took longer than {limit_s:g} s")
    if failure:
        raise failure[0]
    return result[0]
