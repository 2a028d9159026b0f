"""Latches of a PostgreSQL of ours: the sleeps that the kernel's probe saw, as rows of the table `latches`.

A sleeper writes down its wait event: the class in the highest byte, in the lowest two bytes a number, which
for latches is that of the tranche (PostgreSQL, src/include/utils/wait_event.h). The few other sleeps on that
semaphore, for a group's leader to do what all of them want, are no latches and are left out.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from steelyard.subjects.postgres_tranches import tranche_names

Columns = Mapping[str, Sequence[Any]]
_CLASS, _LATCH = 0xFF000000, 0x01000000
_NUMBER = 0xFFFF
_SERVER = "server"
OTHERS = "other latches"
_KNOWN = ("sleeps", "wait_ns", "wait_histogram")
_TOLD = ("role", "event", "point", "sleeps", "wait_ns", "wait_histogram_base64")
# nothing tells of an acquisition that did not sleep
_UNSEEN = ("children", "spin", "gets", "misses", "spin_gets", "get_ns", "hand_overs", "hold_histogram")
_SAMPLED = ("postgres-waits", "samples_total", "LWLock:")
# so many sampled waits for latches are no chance where nobody was seen asleep
_SAMPLED_MAX = 10.0

_NOT_OURS = "latches: the server at an address is not ours to probe: sampled wait events stand for them"
_ELSEWHERE = (
    "latches: nobody was seen asleep, but many waited for latches whenever the server was asked: this build"
    " sleeps elsewhere; sampled wait events stand for them"
)
_NO_NAMES = "latches: their names are not in the server's memory: numbers stand there"


class Tranches:
    """Sleeps of one run. take() what the probe told and compare() it; then notices() and rows().

    server: its process, None: not ours; group: a name for the probes, which the lab takes away if they stay.
    """

    def __init__(self, server: int | None, group: str) -> None:
        self._server = server
        self._group = group
        self._told: Columns = {}
        self._points: list[int] = []
        self._names: dict[int, str] = {}
        self._contradicted = False

    def plan(self) -> dict[str, Any] | None:
        """What the probe is to look at; None where there is nothing of ours."""
        if self._server is None:
            return None
        return {"program": f"/proc/{self._server}/exe", "group": self._group}

    def measured(self, point: int) -> None:
        """A point is looked at."""
        self._points.append(point)

    def take(self, told: Columns, refused: Sequence[tuple[str, str]]) -> None:
        """What was seen: point, role, event, sleeps, wait_ns, wait_histogram_base64. The server runs."""
        if self._server is not None and "latches" not in dict(refused):
            self._told = told
            self._names = tranche_names(self._server) if told["point"] else {}

    def compare(self, samples: Columns) -> None:
        """With what the server said when it was asked now and then: sleeps missed are not told as none."""
        if not self._told or _SERVER in self._told["role"]:
            return
        seen: dict[str, float] = {}
        columns = (samples[name] for name in ("monitor", "metric", "entity", "value"))
        for monitor, metric, entity, value in zip(*columns, strict=True):
            if (monitor, metric) == _SAMPLED[:2] and entity.startswith(_SAMPLED[2]):
                seen[entity] = max(value, seen.get(entity, 0.0))
        self._contradicted = sum(seen.values()) >= _SAMPLED_MAX

    def notices(self) -> Iterator[tuple[str, str]]:
        """What could not be had, beside what the probe refused."""
        if self._server is None:
            yield "probe-unavailable", _NOT_OURS
        elif self._contradicted:
            yield "probe-unavailable", _ELSEWHERE
        elif self._told.get("point") and not self._names:
            yield "probe-unavailable", _NO_NAMES

    def rows(self) -> dict[str, list[Any]]:
        """A row for each point and tranche that somebody of the server slept for, one for all others."""
        rows: dict[str, list[Any]] = {name: [] for name in ("point", "latch", *_KNOWN, *_UNSEEN)}
        if self._contradicted or not self._told:
            return rows
        found: list[tuple[Any, ...]] = []
        columns = (self._told[name] for name in _TOLD)
        for role, event, point, sleeps, wait_ns, histogram in zip(*columns, strict=True):
            if role == _SERVER and event & _CLASS == _LATCH:
                number = event & _NUMBER
                latch = self._names.get(number, f"tranche {number}")
                found.append((point, latch, sleeps, wait_ns, base64.b64decode(histogram)))
        found += [(point, OTHERS, 0, 0, None) for point in self._points]
        for row in found:
            for name, value in zip(rows, (*row, *(None for _ in _UNSEEN)), strict=True):
                rows[name].append(value)
        return rows
