"""Readings of a report, in columns and in bounded memory: beyond a limit successive ones are averaged.

A day of readings once a second is kept whole; weeks of hundreds of processes are averaged over as many
seconds as are needed. Figures of a report are formed from all readings, before that.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

READINGS_MAX = 1_500_000
# a series is an entity with a metric; each has at least one reading
_SERIES_MAX = 200_000
_DROPPED = -1

Series = tuple[str, str]
Floats = np.ndarray[Any, np.dtype[np.float64]]
Codes = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class Sample:
    """One reading. at_s: since the report began."""

    at_s: float
    entity: str
    metric: str
    value: float


class Samples:
    """Readings in the order in which they were added.

    averaged_s: length of the intervals over which readings were averaged; 0: each is kept. dropped: readings
    beyond the largest number of series.
    """

    def __init__(self, readings_max: int = READINGS_MAX) -> None:
        self.averaged_s = 0.0
        self.dropped = 0
        self._max = readings_max
        self._at, self._value = array("d"), array("d")
        self._code, self._number = array("q"), array("q")
        self._codes: dict[Series, int] = {}
        self._rows: dict[tuple[str, ...], list[int]] = {}

    def add(self, at_s: float, entity: str, metric: str, value: float) -> None:
        """Adds one reading."""
        self.add_row(at_s, entity, (metric,), (value,))

    def add_row(self, at_s: float, entity: str, metrics: Sequence[str], values: Sequence[float]) -> None:
        """Adds readings of one entity at one time: a value for each metric."""
        codes = self._rows.get(key := (entity, *metrics))
        if codes is None:
            codes = self._rows[key] = [self._code_of((entity, metric)) for metric in metrics]
        if _DROPPED in codes:
            kept = [pair for pair in zip(codes, values, strict=True) if pair[0] != _DROPPED]
            self.dropped += len(codes) - len(kept)
            codes, values = [code for code, _ in kept], [value for _, value in kept]
        self._at.extend([at_s] * len(codes))
        self._value.extend(values)
        self._code.extend(codes)
        self._number.extend([1] * len(codes))
        if len(self._at) > self._max:
            self._average()

    def extend(self, others: Samples, shift_s: float = 0.0) -> None:
        """Adds all readings of others, so many seconds later."""
        own = np.array([self._code_of(one) for one in others.series], dtype=np.int64)
        codes = own[others.code]
        kept = codes != _DROPPED
        columns = (others.at_s + shift_s, others.value, codes, np.array(others._number))
        for into, column in zip((self._at, self._value, self._code, self._number), columns, strict=True):
            into.frombytes(column[kept].tobytes())
        self.averaged_s = max(self.averaged_s, others.averaged_s)
        self.dropped += others.dropped + int((~kept).sum())
        if len(self._at) > self._max:
            self._average()

    def later(self, shift_s: float) -> None:
        """Moves all readings by so many seconds."""
        self._set(self.at_s + shift_s, self.value, self.code, np.array(self._number))

    def within(self, first_s: float, last_s: float) -> Samples:
        """The readings of a span of time."""
        at = self.at_s
        inside = (first_s <= at) & (at <= last_s)
        found = Samples(self._max)
        found.averaged_s, found.dropped, found._codes = self.averaged_s, self.dropped, dict(self._codes)
        found._set(at[inside], self.value[inside], self.code[inside], np.array(self._number)[inside])
        return found

    @property
    def series(self) -> list[Series]:
        """Entity and metric by code."""
        return list(self._codes)

    @property
    def at_s(self) -> Floats:
        """Time of each reading."""
        return np.array(self._at)

    @property
    def value(self) -> Floats:
        """Value of each reading."""
        return np.array(self._value)

    @property
    def code(self) -> Codes:
        """Number of each reading's series."""
        return np.array(self._code)

    def values_of(self, metric: str) -> list[float]:
        """Values of a metric, whatever it is of."""
        return [sample.value for sample in self if sample.metric == metric]

    def __len__(self) -> int:
        return len(self._at)

    def __iter__(self) -> Iterator[Sample]:
        names = self.series
        for at_s, value, code in zip(self._at, self._value, self._code, strict=True):
            yield Sample(at_s, *names[code], value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Samples) and list(self) == list(other)

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def _code_of(self, series: Series) -> int:
        if series not in self._codes and len(self._codes) >= _SERIES_MAX:
            return _DROPPED
        return self._codes.setdefault(series, len(self._codes))

    def _set(self, at_s: Floats, value: Floats, code: Codes, number: Codes) -> None:
        self._at, self._value = array("d", at_s.tobytes()), array("d", value.tobytes())
        self._code, self._number = array("q", code.tobytes()), array("q", number.tobytes())

    def _average(self) -> None:
        """Halves the readings at least, where their times allow it."""
        span_s = float(np.ptp(self.at_s))
        length_s = self.averaged_s or 2 * _step(self.at_s)
        self._set(*self._over(length_s))
        while len(self._at) > self._max // 2 and length_s <= span_s:
            length_s *= 2
            self._set(*self._over(length_s))
        self.averaged_s = length_s

    def _over(self, length_s: float) -> tuple[Floats, Floats, Codes, Codes]:
        """One reading per series and interval, at the time of its last: the mean; of a counter the last."""
        # a reading stands for the interval before it: (0, length], (length, 2 length] ...
        slot = np.ceil(self.at_s / length_s).astype(np.int64)
        # one key sorts several times faster than two; readings of a key keep their order in time
        order = np.argsort((slot - slot.min()) * len(self._codes) + self.code, kind="stable")
        slot, code, number = slot[order], self.code[order], np.array(self._number)[order]
        at_s, value = self.at_s[order], self.value[order]
        starts = np.flatnonzero(np.r_[True, (np.diff(slot) != 0) | (np.diff(code) != 0)])
        ends = np.r_[starts[1:], len(at_s)] - 1
        numbers = np.add.reduceat(number, starts)
        counters = np.array([metric.endswith("_total") for _, metric in self._codes])[code[starts]]
        means = np.add.reduceat(value * number, starts) / numbers
        return at_s[ends], np.where(counters, value[ends], means), code[starts], numbers


def _step(at_s: Floats) -> float:
    """The shortest distance of two times."""
    times = np.unique(at_s)
    return float(np.diff(times).min()) if len(times) > 1 else 1.0
