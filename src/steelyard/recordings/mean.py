"""The mean of values that are not kept."""

from __future__ import annotations


class Mean:
    """value: the mean of all values added; None without any."""

    def __init__(self) -> None:
        self._sum = 0.0
        self._count = 0

    def add(self, value: float) -> None:
        """Adds one value."""
        self._sum += value
        self._count += 1

    @property
    def value(self) -> float | None:
        """Their mean."""
        return self._sum / self._count if self._count else None
