"""A total time limit for any wait that may never end; the limit of open files."""

import logging
import resource
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

T = TypeVar("T")

# a program may go through all descriptors that its limit permits
_FILES_MAX = 65_536
# a longer wait is reported, once
_SILENT_S = 10.0


class TimedOut(Exception):
    """The work took longer than its limit."""


def within(limit_s: float, what: str, work: Callable[[], T]) -> T:
    """Runs work and returns its result. Raises TimedOut after limit_s, and any error that work raises.

    A limit per read does not end a wait for a peer that sends one byte per second, and a library may wait
    without a limit. So work runs in a thread, which is abandoned when it is late: it must change nothing
    but its result. A wait of 10 s is reported on standard error. An interrupt ends the wait at once. what:
    completes `... took longer than 30 s`.
    """
    found = Future[T]()

    def run() -> None:
        try:
            found.set_result(work())
        except BaseException as error:
            found.set_exception(error)

    threading.Thread(target=run, name=what, daemon=True).start()
    if wait([found], min(_SILENT_S, limit_s)).not_done and limit_s > _SILENT_S:
        logging.getLogger(__name__).warning("%s: %g s so far, at most %g s", what, _SILENT_S, limit_s)
    if wait([found], max(0, limit_s - _SILENT_S)).not_done:
        raise TimedOut(f"{what} took longer than {limit_s:g} s")
    return found.result()


def permit_files() -> None:
    """Raises the soft limit of open files to what the hard one permits, for what starts here too."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, _FILES_MAX)), hard))
