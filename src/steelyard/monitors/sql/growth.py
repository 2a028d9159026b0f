"""Counters that never fall: what a server's own counter did, without its restarts, resets and evictions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

Key = tuple[str, str]
"""Series and column."""


class Growth:
    """Follows the counters of one query."""

    def __init__(self) -> None:
        self._last: dict[Key, float] = {}
        self._added: dict[Key, float] = {}
        self._unknown: set[Key] = set()
        self._falls: Counter[str] = Counter()

    def value(self, key: Key, read: float | None) -> float | None:
        """The counter's value now: as read, until it falls; then it goes on from where it was.

        None, where the server gives NULL: not known. A counter that was NULL before starts at 0, as what it
        counted before is unknown.
        """
        if read is None:
            if key not in self._last:
                self._unknown.add(key)
            return None
        if key in self._unknown:
            self._unknown.discard(key)
            self._added[key] = -read
        before = self._last.get(key, read)
        if read < before:
            self._falls[key[1]] += 1
            self._added[key] = self._added.get(key, 0.0) + before - read
        self._last[key] = read
        return read + self._added.get(key, 0.0)

    def remarks(self) -> Iterator[str]:
        """One sentence per column that fell."""
        for column, falls in self._falls.items():
            yield (
                f"{column} fell in {falls} {'reading' if falls == 1 else 'readings'} (a restart, a reset, or"
                " entries that were evicted): what it counted meanwhile is missing from its rate"
            )
