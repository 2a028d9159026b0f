"""What tests need to know of processes, and to do as another user."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from steelyard.report import drawing

NOBODY = 65534


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def family(pid: int) -> list[int]:
    """A process and all that descend from it."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = parent_of(int(entry.name))
            except (OSError, IndexError):
                continue  # it has ended meanwhile
    found = [pid]
    for known in found:
        found += [child for child, parent in parents.items() if parent == known]
    return found


def running(command: str) -> list[int]:
    """Processes with this command line, of any user."""
    found: list[int] = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (entry / "cmdline").read_bytes() == command.replace(" ", "\0").encode() + b"\0":
                found.append(int(entry.name))
    return found


def halt(pid: int) -> list[int]:
    """Stops a process and all its descendants where they are, the parent first."""
    stopped: list[int] = []
    while new := [process for process in family(pid) if process not in stopped]:
        for process in new:
            os.kill(process, signal.SIGSTOP)
        stopped += new
    return stopped


def as_nobody(work: Callable[[], Any]) -> Any:
    """What work returns, done by a user who owns nothing. It must find all that it imports in memory."""
    return as_user(NOBODY, work)


def as_user(number: int, work: Callable[[], Any]) -> Any:
    """The same as a user by number."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(number)
            os.setuid(number)
            os.write(writing, pickle.dumps(work()))
        except BaseException:
            traceback.print_exc(file=sys.stderr)
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    return pickle.loads(told)


def end_drawing() -> None:
    """Ends the process that draws for this one, which ends with it otherwise."""
    if drawing.start.cache_info().currsize:
        drawing.start().kill()
        drawing.start().wait()
