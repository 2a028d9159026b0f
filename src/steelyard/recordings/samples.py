"""Readings of a report, in columns and in bounded memory: beyond a limit successive ones are averaged.

A day of readings once a second is kept whole; weeks of hundreds of processes are averaged over as many
seconds as are needed. Figures of a report are formed from all readings, before that.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

READINGS_MAX = 1_500_000
# a series is an entity with a metric; each has at least one reading
_SERIES_MAX = 200_000
_DROPPED = -1
_AT, _VALUE, _CODE, _NUMBER = range(4)

Series = tuple[str, str]
Floats = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class Sample:
    """One reading. at_s: since the report began."""

    at_s: float
    entity: str
    metric: str
    value: float


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


class Samples:
    """Readings in the order in which they were added.

    averaged_s: length of the intervals over which readings were averaged; 0: each is kept. dropped: readings
    beyond the largest number of series.
    """

    def __init__(self, readings_max: int = READINGS_MAX) -> None:
        self.averaged_s = 0.0
        self.dropped = 0
        self._max = readings_max
        # of each reading: time, value, number of its series, and how many readings it is the mean of
        self._cells = array("d")
        self._codes: dict[Series, int] = {}
        self._rows: dict[tuple[str, ...], list[int]] = {}

    def add_row(self, at_s: float, entity: str, values: Mapping[str, float]) -> None:
        """Adds readings of one entity at one time: a value for each metric."""
        codes = self._rows.get(key := (entity, *values))
        if codes is None:
            codes = self._rows[key] = [self._code_of((entity, metric)) for metric in values]
        for code, value in zip(codes, values.values(), strict=True):
            if code == _DROPPED:
                self.dropped += 1
            else:
                self._cells.extend((at_s, value, code, 1))
        self._limit()

    def extend(self, others: Samples, shift_s: float = 0.0) -> None:
        """Adds all readings of others, so many seconds later."""
        own = np.array([self._code_of(one) for one in others.series])
        table = others.table
        table[:, _AT] += shift_s
        table[:, _CODE] = own[others.code]
        kept = table[:, _CODE] != _DROPPED
        self._cells.frombytes(table[kept].tobytes())
        self.averaged_s = max(self.averaged_s, others.averaged_s)
        self.dropped += others.dropped + int((~kept).sum())
        self._limit()

    def later(self, shift_s: float) -> None:
        """Moves all readings by so many seconds."""
        table = self.table
        table[:, _AT] += shift_s
        self._set(table)

    def within(self, first_s: float, last_s: float) -> Samples:
        """The readings of a span of time."""
        found = Samples(self._max)
        found.averaged_s, found.dropped, found._codes = self.averaged_s, self.dropped, dict(self._codes)
        found._set(self.table[(first_s <= self.at_s) & (self.at_s <= last_s)])
        return found

    @property
    def series(self) -> list[Series]:
        """Entity and metric by code."""
        return list(self._codes)

    @property
    def table(self) -> Floats:
        """A copy of all numbers, a row per reading."""
        return np.array(self._cells).reshape(-1, 4)

    @property
    def at_s(self) -> Floats:
        """Time of each reading."""
        return self.table[:, _AT]

    @property
    def value(self) -> Floats:
        """Value of each reading."""
        return self.table[:, _VALUE]

    @property
    def code(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Number of each reading's series."""
        return self.table[:, _CODE].astype(np.int64)

    def values_of(self, metric: str) -> list[float]:
        """Values of a metric, whatever it is of."""
        return [sample.value for sample in self if sample.metric == metric]

    def means(self) -> dict[Series, float]:
        """The mean of each series; of a counter there is none."""
        table = self.table
        weights = np.bincount(self.code, table[:, _NUMBER])
        sums = np.bincount(self.code, table[:, _NUMBER] * table[:, _VALUE])
        named = zip(self.series, sums, weights, strict=False)
        return {one: float(total / n) for one, total, n in named if n and not one[1].endswith("_total")}

    def __len__(self) -> int:
        return len(self._cells) // 4

    def __iter__(self) -> Iterator[Sample]:
        names = self.series
        for at_s, value, code, _ in self.table.tolist():
            yield Sample(at_s, *names[int(code)], value)

    def _code_of(self, series: Series) -> int:
        if series not in self._codes and len(self._codes) >= _SERIES_MAX:
            return _DROPPED
        return self._codes.setdefault(series, len(self._codes))

    def _set(self, table: Floats) -> None:
        self._cells = array("d", table.tobytes())

    def _limit(self) -> None:
        """Beyond the limit it halves the readings at least, where their times allow it."""
        if len(self) <= self._max:
            return
        span_s = float(np.ptp(self.at_s))
        length_s = self.averaged_s or 2 * _step(self.at_s)
        self._average(length_s)
        while len(self) > self._max // 2 and length_s <= span_s:
            length_s *= 2
            self._average(length_s)
        self.averaged_s = length_s

    def _average(self, length_s: float) -> None:
        """One reading per series and interval, at the time of its last: the mean; of a counter the last."""
        # a reading stands for the interval before it: (0, length], (length, 2 length] ...
        slot = np.ceil(self.at_s / length_s)
        # one key sorts several times faster than two; readings of a key keep their order in time
        key = (slot - slot.min()) * len(self._codes) + self.code
        order = np.argsort(key, kind="stable")
        table, key = self.table[order], key[order]
        starts = np.flatnonzero(np.r_[True, np.diff(key) != 0])
        found = table[np.r_[starts[1:], len(table)] - 1]
        counters = np.array([metric.endswith("_total") for _, metric in self._codes])
        sums = np.add.reduceat(table[:, _VALUE] * table[:, _NUMBER], starts)
        found[:, _NUMBER] = np.add.reduceat(table[:, _NUMBER], starts)
        means = sums / found[:, _NUMBER]
        found[:, _VALUE] = np.where(counters[found[:, _CODE].astype(int)], found[:, _VALUE], means)
        self._set(found)


def _step(at_s: Floats) -> float:
    """The shortest distance of two times."""
    times = np.unique(at_s)
    return float(np.diff(times).min()) if len(times) > 1 else 1.0
