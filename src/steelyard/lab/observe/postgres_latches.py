"""Latches of a PostgreSQL of ours: sleeps and gets that the kernel's probes saw, as rows of the bundle.

A sleeper writes down its wait event: the class in the highest byte, in the lowest two bytes a number, which
for latches is that of the tranche (PostgreSQL, src/include/utils/wait_event.h). The few other sleeps on that
semaphore, for a group's leader to do what all of them want, are no latches and are left out. Gets are
counted in a stretch of load of their own, and set against the transactions of that stretch.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

Columns = Mapping[str, Sequence[Any]]
_CLASS, _LATCH = 0xFF000000, 0x01000000
_NUMBER = 0xFFFF
_SERVER = "server"
OTHERS = "other latches"
_GETS = ("point", "latch", "gets", "transactions")
_KNOWN = ("sleeps", "wait_ns", "wait_histogram")
_TOLD = ("role", "event", "point", "sleeps", "wait_ns", "wait_histogram_base64")
# nothing tells, while it is measured, of an acquisition that did not sleep
_UNSEEN = ("children", "spin", "gets", "misses", "spin_gets", "get_ns", "hand_overs", "hold_histogram")
_SAMPLED = ("postgres-waits", "samples_total", "LWLock:")
# so many sampled waits for latches are no chance where nobody was seen asleep
_SAMPLED_MAX = 10.0

_NOT_OURS = (
    "latches: the server at an address is not ours to probe: sampled wait events stand for sleeps, nothing"
    " for gets"
)
_LATE = (
    "gets: not all breakpoints were there when the load began: a point without gets is one of those"
    " (fewer clients, or a CPU for the lab alone)"
)
_ELSEWHERE = (
    "latches: nobody was seen asleep, but many waited for latches whenever the server was asked: this build"
    " sleeps elsewhere; sampled wait events stand for them"
)
_NO_NAMES = "latches: their names are not in the server's memory: numbers stand there"


class Tranches:
    """Latches of one run. take() what the probes told, compare() and relate() it; then notices() and rows().

    server: its process, None: not ours; group: a name for the probes, which the lab takes away if they stay;
    names_of: names of its latches by number; sleeps, gets: which of them are looked at.
    """

    def __init__(
        self,
        server: int | None,
        group: str,
        names_of: Callable[[int], Mapping[int, str]],
        sleeps: bool = True,
        gets: bool = False,
    ) -> None:
        self._server = server
        self._group = group
        self._names_of = names_of
        self._sleeps = sleeps
        self._gets = gets
        self._ready_ns: Mapping[int, int] = {}
        self._late = False
        self._got: dict[tuple[int, str], int] = {}
        self._done: dict[int, int] = {}
        self._told: Columns = {}
        self._points: list[int] = []
        self._names: Mapping[int, str] = {}
        self._contradicted = False

    @property
    def counts_gets(self) -> bool:
        """Whether gets of latches that are ours are asked for."""
        return self._gets and self._server is not None

    def plan(self) -> dict[str, Any] | None:
        """What the probe is to look at; None where there is nothing of ours."""
        if self._server is None:
            return None
        program = f"/proc/{self._server}/exe"
        return {"program": program, "group": self._group, "sleeps": self._sleeps, "gets": self._gets}

    def measured(self, point: int) -> None:
        """A point is looked at."""
        self._points.append(point)

    def take(
        self,
        told: Columns,
        gets: Columns,
        refused: Sequence[tuple[str, str]],
        ready_ns: Mapping[int, int] | None = None,
    ) -> None:
        """What was seen, while the server runs. told: point, role, event, sleeps, wait_ns,
        wait_histogram_base64; gets: point, role, tranche, gets; ready_ns: by point, since when counted.
        """
        if self._server is None:
            return
        self._ready_ns = ready_ns or {}
        if self._sleeps and "latches" not in dict(refused):
            self._told = told
        if told["point"] or gets["point"]:
            self._names = self._names_of(self._server)
        for point, role, tranche, count in _rows(gets, "point", "role", "tranche", "gets"):
            if role == _SERVER:
                key = point, self._name(tranche)
                self._got[key] = self._got.get(key, 0) + count

    def relate(self, result: Mapping[str, Any]) -> None:
        """Gets to the load under which they were counted, as its engine tells it."""
        began_ns = {
            point: start_ns
            for point, phase, start_ns in _rows(result["phases"], "point", "phase", "start_ns")
            if phase == "count"
        }
        in_time = {point for point, ns in self._ready_ns.items() if ns <= began_ns.get(point, 0)}
        self._late = len(in_time) < len(began_ns)
        asides = result.get("asides", {"point": [], "phase": [], "transactions": []})
        self._done = {
            point: transactions
            for point, phase, transactions in _rows(asides, "point", "phase", "transactions")
            if phase == "count" and point in in_time
        }

    def compare(self, samples: Columns) -> None:
        """With what the server said when it was asked now and then: sleeps missed are not told as none."""
        if not self._told or _SERVER in self._told["role"]:
            return
        seen: dict[str, float] = {}
        for monitor, metric, entity, value in _rows(samples, "monitor", "metric", "entity", "value"):
            if (monitor, metric) == _SAMPLED[:2] and entity.startswith(_SAMPLED[2]):
                seen[entity] = max(value, seen.get(entity, 0.0))
        self._contradicted = sum(seen.values()) >= _SAMPLED_MAX

    def notices(self) -> Iterator[tuple[str, str]]:
        """What could not be had, beside what the probe refused."""
        if self._server is None:
            yield "probe-unavailable", _NOT_OURS
        elif self._contradicted:
            yield "probe-unavailable", _ELSEWHERE
        if self._got and self._late:
            yield "probe-unavailable", _LATE
        if (self._told.get("point") or self._got) and not self._names:
            yield "probe-unavailable", _NO_NAMES

    def rows(self) -> dict[str, list[Any]]:
        """A row for each point and tranche that the server slept for or got, one for all others."""
        rows: dict[str, list[Any]] = {name: [] for name in ("point", "latch", *_KNOWN, *_UNSEEN)}
        found: list[tuple[Any, ...]] = []
        unseen = self._contradicted or not self._told
        for role, event, point, sleeps, wait_ns, histogram in _rows(self._told, *_TOLD) if not unseen else ():
            if role == _SERVER and event & _CLASS == _LATCH:
                latch = self._name(event & _NUMBER)
                found.append((point, latch, sleeps, wait_ns, base64.b64decode(histogram)))
        slept_for = {(point, latch) for point, latch, *_ in found}
        none = (None, None, None) if unseen else (0, 0, None)
        found += [(*key, *none) for key in self._got if key not in slept_for]
        found += [(point, OTHERS, *none) for point in self._points if not unseen]
        for row in found:
            for name, value in zip(rows, (*row, *(None for _ in _UNSEEN)), strict=True):
                rows[name].append(value)
        return rows

    def gets(self) -> dict[str, list[Any]]:
        """A row for each point and tranche that somebody of the server got where gets were counted."""
        rows: dict[str, list[Any]] = {name: [] for name in _GETS}
        for (point, latch), gets in self._got.items():
            if point in self._done:
                for name, value in zip(_GETS, (point, latch, gets, self._done[point]), strict=True):
                    rows[name].append(value)
        return rows

    def _name(self, tranche: int) -> str:
        return self._names.get(tranche, f"tranche {tranche}")


def _rows(columns: Columns, *names: str) -> Iterator[tuple[Any, ...]]:
    return zip(*(columns[name] for name in names), strict=True)
