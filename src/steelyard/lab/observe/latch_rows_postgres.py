"""Latches of a PostgreSQL started here: sleeps and gets that the kernel's probes recorded, as table rows.

A sleeping process records its wait event: the class in the highest byte, in the lowest two bytes a number,
for latches that of the tranche (PostgreSQL, src/include/utils/wait_event.h). The few other sleeps on that
semaphore, for the leader of a group commit, are left out. Gets are counted in a diagnostic phase, and
related to the transactions of that phase.
"""

import base64
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from steelyard.run_tables.questions import asked
from steelyard.run_tables.rows import Columns, Rows, each

_CLASS, _LATCH = 0xFF000000, 0x01000000
_NUMBER = 0xFFFF
_Gets = dict[tuple[int, str], int]  # by load point and latch
_SERVER = "server"
OTHERS = "other latches"
_SLEPT = ("role", "event", "point", "sleeps", "wait_ns", "wait_histogram_base64")
_SAMPLED = """
select sum(seen) as seen from (
    select max(value) as seen from samples
    where monitor = 'postgres-waits' and metric = 'samples_total' and starts_with(entity, 'LWLock:')
    group by entity
)
"""
_COUNTED = """
select point, start_ns, transactions from phases join asides using (point, phase) where phase = 'latch-count'
"""
# more sampled waits for latches than chance explains where no sleep was seen
_SAMPLED_MAX = 10.0

_NOT_LOCAL = (
    "latches: a server at an address cannot be probed: sleeps and gets are not available;"
    " sampled wait events are, as far as this user can see them"
)
_LATE = (
    "gets: not available for load points whose load began before all breakpoints were set"
    " (use fewer clients, or a separate CPU for the lab)"
)
_ELSEWHERE = (
    "latches: no sleep was seen, but the sampled wait events show many waits for latches: this build"
    " sleeps elsewhere; sampled wait events replace sleeps"
)
_NO_NAMES = "latches: names were not found in the server's memory: numbers are shown instead"


@dataclass
class Tranches:
    """Latches of one run: call take(), compare() and relate(), then notices(), rows() and counted().

    server: its process, None: at an address; group: name of the probes, with which the lab removes them;
    names_of: names of its latches by number; sleeps, gets: whether each is probed.
    """

    server: int | None
    group: str
    names_of: Callable[[int], Mapping[int, str]]
    sleeps: bool = True
    gets: bool = False
    _ready_ns: Mapping[int, int] = field(default_factory=dict[int, int])
    _late: bool = False
    _gets_of: _Gets = field(default_factory=_Gets)
    _transactions_of: dict[int, int] = field(default_factory=dict[int, int])
    _sleeps_of: Columns = field(default_factory=dict[str, Sequence[Any]])
    _points: list[int] = field(default_factory=list[int])
    _names: Mapping[int, str] = field(default_factory=dict[int, str])
    _contradicted: bool = False

    def plan(self) -> dict[str, Any] | None:
        """The plan of the probe; None for a server at an address."""
        if self.server is None:
            return None
        program = f"/proc/{self.server}/exe"
        return {"program": program, "group": self.group, "sleeps": self.sleeps, "gets": self.gets}

    def measured(self, point: int) -> None:
        """Registers a load point as probed."""
        self._points.append(point)

    def take(
        self,
        slept: Columns,
        gets: Columns,
        refused: Sequence[tuple[str, str]],
        ready_ns: Mapping[int, int] | None = None,
    ) -> None:
        """Takes the records of the probes, while the server still runs.

        slept: point, role, event, sleeps, wait_ns, wait_histogram_base64; gets: point, role, tranche, gets;
        refused: source and reason; ready_ns: by load point, since when gets are counted.
        """
        if self.server is None:
            return
        self._ready_ns = ready_ns or {}
        if self.sleeps and "latches" not in dict(refused):
            self._sleeps_of = slept
        if slept["point"] or gets["point"]:
            self._names = self.names_of(self.server)
        for point, role, tranche, count in each(gets, "point", "role", "tranche", "gets"):
            if role == _SERVER:
                key = point, self._name(tranche)
                self._gets_of[key] = self._gets_of.get(key, 0) + count

    def relate(self, tables: Mapping[str, Columns]) -> None:
        """Relates gets to the load during their count: the engine's `phases` and `asides`."""
        load = {
            point: done if self._ready_ns.get(point, math.inf) <= start_ns else None
            for point, start_ns, done in each(asked(_COUNTED, tables))
        }
        self._late = None in load.values()
        self._transactions_of = {point: done for point, done in load.items() if done is not None}

    def compare(self, samples: Columns) -> None:
        """Compares with the sampled wait events: if only they show sleeps, the probes missed the sleeps."""
        if not self._sleeps_of or _SERVER in self._sleeps_of["role"]:
            return
        (seen,) = asked(_SAMPLED, {"samples": samples})["seen"]
        self._contradicted = (seen or 0) >= _SAMPLED_MAX

    def notices(self) -> Iterator[tuple[str, str]]:
        """Notices about missing data, except the probe's own refusals."""
        if self.server is None:
            yield "probe-unavailable", _NOT_LOCAL
        elif self._contradicted:
            yield "probe-unavailable", _ELSEWHERE
        if self._gets_of and self._late:
            yield "probe-unavailable", _LATE
        if (self._sleeps_of.get("point") or self._gets_of) and not self._names:
            yield "probe-unavailable", _NO_NAMES

    def rows(self) -> Columns:
        """The table `latches`: one row per load point and tranche with sleeps or gets, one for all others."""
        rows = Rows("latches")
        unseen = self._contradicted or not self._sleeps_of
        slept_for = set[tuple[int, str]]()
        for role, event, point, sleeps, wait_ns, histogram in (
            each(self._sleeps_of, *_SLEPT) if not unseen else ()
        ):
            if role == _SERVER and event & _CLASS == _LATCH:
                latch, encoded = self._name(event & _NUMBER), base64.b64decode(histogram)
                rows.add(point=point, latch=latch, sleeps=sleeps, wait_ns=wait_ns, wait_histogram=encoded)
                slept_for.add((point, latch))
        others = [] if unseen else [(point, OTHERS) for point in self._points]
        none = None if unseen else 0
        for point, latch in (*(key for key in self._gets_of if key not in slept_for), *others):
            rows.add(point=point, latch=latch, sleeps=none, wait_ns=none)
        return rows.columns()

    def counted(self) -> Columns:
        """The table `latch_gets`: one row per load point and tranche that a server's process got."""
        rows = Rows("latch_gets")
        for (point, latch), gets in self._gets_of.items():
            if point in self._transactions_of:
                rows.add(point=point, latch=latch, gets=gets, transactions=self._transactions_of[point])
        return rows.columns()

    def _name(self, tranche: int) -> str:
        return self._names.get(tranche, f"tranche {tranche}")
