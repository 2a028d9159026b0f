"""Keeps server and load engine on separate CPUs, so that neither slows the other."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Placement:
    """CPUs of the server and of the engine; the lab's own threads run on the engine's CPUs."""

    server: frozenset[int]
    engine: frozenset[int]

    @property
    def apart(self) -> bool:
        """Whether they share no CPU."""
        return not self.server & self.engine


def place(engine_threads: int, pin: bool) -> Placement:
    """The engine gets one of the last CPUs per thread, at most half of them; the server gets the rest.

    An engine without threads only waits, and takes no CPU from the server.
    """
    cpus = sorted(os.sched_getaffinity(0))
    if not pin or len(cpus) < 2 or not engine_threads:
        return Placement(frozenset(cpus), frozenset(cpus))
    engine = cpus[-min(engine_threads, len(cpus) // 2) :]
    return Placement(frozenset(cpus) - frozenset(engine), frozenset(engine))


def pin(pid: int, cpus: Iterable[int]) -> None:
    """Puts a process and all its threads on these CPUs; children that it starts later inherit them."""
    with suppress(ProcessLookupError, FileNotFoundError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(ProcessLookupError):
                os.sched_setaffinity(int(task.name), cpus)
