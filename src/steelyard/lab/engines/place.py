"""Where load engines run: on this machine, or on the hosts of a fleet."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from steelyard.lab.engines.process import LoadProcess
from steelyard.lab.engines.result import EngineResult


class RunningEngine(Protocol):
    """A started engine. pid: its process on this machine; None: it runs elsewhere."""

    @property
    def pid(self) -> int | None:
        """Its process on this machine."""
        ...

    def result(
        self, on_event: Callable[[Mapping[str, Any]], None], limit_s: float = math.inf
    ) -> EngineResult:
        """The result, when it has ended; see `LoadProcess`."""
        ...

    def command(self, command: Mapping[str, Any]) -> None:
        """Sends a command while result() runs in another thread. Raises LoadFailed."""
        ...

    def stop(self) -> None:
        """Ends the engine now; has no effect when it has ended."""
        ...


class Place(Protocol):
    """Where engines run."""

    def __call__(self, engine: str, plan: Mapping[str, Any], cpus: frozenset[int], /) -> RunningEngine:
        """Starts an engine by its name in the registry. cpus: those that it may use where it runs here."""
        ...

    def check(self) -> None:
        """Raises LoadFailed when engines can no longer start there: the study cannot continue."""
        ...


class ThisMachine:
    """This machine, for its own engines."""

    def __call__(self, engine: str, plan: Mapping[str, Any], cpus: frozenset[int], /) -> RunningEngine:
        """Starts an engine as a child."""
        return LoadProcess(engine, plan, cpus)

    def check(self) -> None:
        """It is there."""
