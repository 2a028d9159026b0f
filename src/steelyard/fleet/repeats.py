"""Turns that are repeated, since a host got the command after the others had begun."""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.lab.engines.registry import LoadFailed
from steelyard.quantities import count

# of one turn
_REPEATS_MAX = 3


class Repeats:
    """Those of one engine."""

    def __init__(self) -> None:
        self._in_succession = self._turns = self._done = 0
        self._latest_ms: dict[str, float] = {}

    def add(self, late_ms: Mapping[str, float], done: int) -> None:
        """One more. late_ms: by host; done: transactions of the others. Raises LoadFailed after the third."""
        self._in_succession += 1
        self._turns += 1
        self._done += done
        for host, ms in late_ms.items():
            self._latest_ms[host] = max(ms, self._latest_ms.get(host, 0.0))
        if self._in_succession > _REPEATS_MAX:
            host = max(late_ms, key=late_ms.__getitem__)
            raise LoadFailed(
                f"host {host}: the command to begin a turn came too late {self._in_succession} times in"
                f" succession, the last time by {late_ms[host]:.0f} ms"
            )

    def over(self) -> int:
        """All have done their turn; transactions of those before it that count nowhere."""
        done, self._done, self._in_succession = self._done, 0, 0
        return done

    @property
    def notice(self) -> str:
        """A sentence; '' where none was repeated."""
        if not self._turns:
            return ""
        hosts = ", ".join(f"{host} (by up to {ms:.1f} ms)" for host, ms in self._latest_ms.items())
        turns = count(self._turns, "turn was", "turns were")
        return f"{turns} repeated: the command to begin came late on {hosts}"
