"""Handles the events of a running engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass
class Listener:
    """Marks the edges of phases, and reports the rate of the last second.

    last: transactions and time (ns) of the last tick.
    """

    mark: Callable[[], None]
    phase: Callable[[Mapping[str, Any]], None]
    tick: Callable[[float], None]
    last: tuple[int, int] = (0, 0)

    def __call__(self, event: Mapping[str, Any]) -> None:
        """Handles one event."""
        if event["event"] == "phase":
            self.phase(event)
            self.mark()
        elif event["event"] == "tick":
            count, t_ns = int(event["transactions"]), int(event["t_ns"])
            before, then_ns = self.last
            self.last = (count, t_ns)
            if then_ns and count >= before and t_ns > then_ns:
                self.tick((count - before) / ((t_ns - then_ns) / 1e9))
