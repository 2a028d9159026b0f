"""A limit in all for a wait that may never end, whatever it waits for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class TimedOut(Exception):
    """Something took longer than its limit."""


def within(limit_s: float, what: str, work: Callable[[], T]) -> T:
    """What work returns. Raises TimedOut after limit_s, and whatever work raises.

    A limit per read does not end a wait for a peer that sends one byte a second, and a library may wait
    without any. So work runs in a thread, which is left behind when it is late: it must change nothing but
    its result. An interrupt ends the wait at once. what: completes the sentence `... took longer than 30 s`.
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
