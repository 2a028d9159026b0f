"""Readings of a report, by series and in bounded memory: beyond a limit successive ones are averaged.

A day of readings once a second is kept whole; weeks of hundreds of processes are averaged over as many
seconds as are needed. Figures of a report are formed from all readings, before that.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping
from copy import copy
from functools import cache
from typing import Any

import numpy as np

READINGS_MAX = 1_500_000
# a mean per request is not defined without requests, but tools print 0 for it
_MEANS_PER_REQUEST = re.compile(
    r"(.*_)??(?:([rwdf])(?:_await|areq_sz)|await|svctm|areq_sz|avgrq_sz|latency_mean_ms)"
)
# a series is an entity with a metric; each has at least one reading
_SERIES_MAX = 200_000
_AT, _VALUE, _NUMBER = range(3)

Series = tuple[str, str]
Floats = np.ndarray[Any, np.dtype[np.float64]]


@cache
def _rates(metric: str) -> tuple[str, ...]:
    """The rates of the requests of which a metric is a mean; of others none."""
    if (found := _MEANS_PER_REQUEST.fullmatch(metric)) is None:
        return ()
    rates = [f"{found[2]}_per_s"] if found[2] else ["tps", "r_per_s", "w_per_s"]
    return tuple((found[1] or "") + rate for rate in rates)


class Samples:
    """Readings of each series, in the order in which they were added; one at no time, NaN, is of means alone.

    averaged_s: length of the intervals over which readings were averaged; 0: each is kept. dropped: readings
    beyond the largest number of series.
    """

    def __init__(self, readings_max: int = READINGS_MAX) -> None:
        self.averaged_s = 0.0
        self.dropped = 0
        self._max = readings_max
        self._count = 0
        # of each reading: time, value, and its weight in a mean
        self._cells: dict[Series, array[float]] = {}

    def add_row(self, at_s: float, entity: str, values: Mapping[str, float], weight: float = 1.0) -> None:
        """Adds readings of one entity at one time: a value for each metric. weight: in a mean."""
        for metric, value in values.items():
            requests = 1.0
            if rates := _rates(metric):
                known = [values[rate] for rate in rates if rate in values]
                requests = sum(known) if known else float(value > 0)
            if requests:
                self._add((entity, metric), array("d", (at_s, value, weight * requests)))
        self._limit()

    def extend(self, others: Samples, shift_s: float = 0.0) -> None:
        """Adds all readings of others, so many seconds later."""
        for series, table in others.tables.items():
            self._add(series, _cells(table + np.array([shift_s, 0, 0])))
        self.averaged_s = max(self.averaged_s, others.averaged_s)
        self.dropped += others.dropped
        self._limit()

    def later(self, shift_s: float) -> None:
        """Moves all readings by so many seconds."""
        self._set({series: table + np.array([shift_s, 0, 0]) for series, table in self.tables.items()})

    def within(self, first_s: float, last_s: float, middles: bool = False) -> Samples:
        """The readings of a span of time. middles: of means those whose interval has its middle there."""
        found, kept = copy(self), dict[Series, Floats]()
        for series, table in self.tables.items():
            at_s = table[:, _AT]
            if middles and len(at_s) > 1 and not series[1].endswith("_total"):
                # the first interval is as long as the second
                at_s = at_s - np.diff(at_s, prepend=2 * at_s[0] - at_s[1]) / 2
            kept[series] = table[(first_s <= at_s) & (at_s <= last_s)]
        found._set(kept)
        return found

    @property
    def tables(self) -> dict[Series, Floats]:
        """Of each entity and metric a copy of its numbers, a row per reading: time, value, its weight."""
        return {series: np.array(cells).reshape(-1, 3) for series, cells in self._cells.items()}

    @property
    def at_s(self) -> Floats:
        """Time of each reading that has one."""
        found = np.concatenate([table[:, _AT] for table in self.tables.values()])
        return found[~np.isnan(found)]

    def values_of(self, metric: str) -> list[float]:
        """Values of a metric, whatever it is of."""
        return [v for (_, name), table in self.tables.items() if name == metric for v in table[:, _VALUE]]

    def means(self) -> dict[Series, float]:
        """The mean of each series; of a counter there is none."""
        return {
            series: float(np.average(table[:, _VALUE], weights=table[:, _NUMBER]))
            for series, table in self.tables.items()
            if len(table) and not series[1].endswith("_total")
        }

    def __len__(self) -> int:
        return self._count

    def _add(self, series: Series, cells: array[float]) -> None:
        number = len(cells) // 3
        if series in self._cells:
            self._cells[series].extend(cells)
        elif len(self._cells) < _SERIES_MAX:
            self._cells[series] = cells
        else:
            self.dropped += number
            return
        self._count += number

    def _set(self, tables: Mapping[Series, Floats]) -> None:
        self._cells = {series: _cells(table) for series, table in tables.items()}
        self._count = sum(map(len, tables.values()))

    def _limit(self) -> None:
        """Beyond the limit it halves the readings at least, where their times allow it."""
        if len(self) <= self._max:
            return
        times = np.unique(self.at_s)
        # twice the shortest distance
        length_s = self.averaged_s or 2 * (float(np.diff(times).min()) if len(times) > 1 else 1.0)
        self._average(length_s)
        while len(self) > self._max // 2 and length_s <= times[-1] - times[0]:
            length_s *= 2
            self._average(length_s)
        self.averaged_s = length_s

    def _average(self, length_s: float) -> None:
        """One reading per series and interval, at the time of its last: the mean; of a counter the last."""
        found: dict[Series, Floats] = {}
        for series, table in self.tables.items():
            # a reading stands for the interval before it: (0, length], (length, 2 length] ...
            _, of = np.unique(np.ceil(table[:, _AT] / length_s), return_inverse=True)
            number = np.bincount(of, table[:, _NUMBER])
            last = np.zeros(len(number), dtype=np.int64)
            # of an index that comes again the last value counts
            last[of] = np.arange(len(of))
            found[series] = table[last]
            found[series][:, _NUMBER] = number
            if not series[1].endswith("_total"):
                found[series][:, _VALUE] = np.bincount(of, table[:, _NUMBER] * table[:, _VALUE]) / number
        self._set(found)


def _cells(table: Floats) -> array[float]:
    return array("d", table.tobytes())
