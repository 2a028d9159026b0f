"""What an axis shows: all data, and as much of their intervals as leaves the data readable."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from steelyard.report.charts.figure import Panel, Spec

# an interval stretches an axis by so much of the data's extent at most, or on a logarithmic axis threefold
_REACH = 0.5
_REACH_LOG = math.log(3)
_LEAST_EXTENT_LOG = math.log(1.02)
ENDS = ("low", "high")
_RATIO_LABEL = "format(datum.value, datum.value < 10000 ? '.6~r' : '.3~s')"


@dataclass(frozen=True)
class Domain:
    """What an axis shows, from low to high, both included."""

    low: float
    high: float
    log: bool = False

    @property
    def scale(self) -> Spec:
        """Scale of an encoding."""
        kind: Spec = {"type": "log"} if self.log else {}
        return {**kind, "domain": [self.low, self.high], "nice": False}

    @property
    def ratio_axis(self) -> Spec:
        """Axis of ratios; within a power of ten a logarithmic one has too few labels of its own."""
        axis: Spec = {"tickCount": 6, "grid": True, "labelExpr": _RATIO_LABEL}
        if self.high >= 10 * self.low:
            return axis
        step = _nice((self.high - self.low) / 5)
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        return {**axis, "values": [float(f"{n * step:.9g}") for n in range(first, last + 1)]}

    def holds(self, value: float) -> bool:
        """Whether the axis shows the value."""
        return self.low <= value <= self.high

    def clip(self, row: Spec) -> Spec:
        """The row, its interval `low` to `high` within the axis; `cut_low`, `cut_high`: where it was cut."""
        low, high = (row[end] for end in ENDS)
        cut: Spec = {}
        if low is not None and low < self.low:
            cut |= {"low": self.low, "cut_low": self.low}
        if high is not None and high > self.high:
            cut |= {"high": self.high, "cut_high": self.high}
        return {**row, **cut}


def domain_of(
    data: Iterable[float | None],
    ends: Iterable[float | None] = (),
    *,
    log: bool = False,
    zero: bool = True,
    pad: float = 0.04,
) -> Domain:
    """The axis that holds all data, and the ends of intervals as far as they are near the data.

    data, ends: None, NaN and infinities are left out of the data; an end may be infinite. On a logarithmic
    axis what is not positive is left out too. zero: whether a linear axis begins at 0. pad: room beyond the
    last mark, as a part of the axis.
    """
    known = [place for value in data if math.isfinite(place := _place(value, log))]
    if not known or (zero and not log):
        known.append(0.0)
    low, high = min(known), max(known)
    reach = max(_REACH * (high - low), _REACH_LOG if log else 0.0)
    places = [place for end in ends if not math.isnan(place := _place(end, log))]
    bottom = max(min([low, *places]), low - reach)
    top = min(max([high, *places]), high + reach)
    least = _LEAST_EXTENT_LOG if log else 0.02 * abs(top) or 1.0
    room = pad * max(top - bottom, least)
    flat = least if top == bottom else 0.0
    if log:
        return Domain(math.exp(bottom - room - flat), math.exp(top + room + flat), log=True)
    # an axis that begins at 0 has no room below it
    floor = bottom if zero and bottom == 0 else bottom - room - flat
    return Domain(floor, 0.0 if zero and top == 0 and bottom < 0 else top + room + flat)


def cut_note(panels: Sequence[Panel]) -> str:
    """What arrowheads mean, where a panel has one; else ''."""
    rows = [row for panel in panels for row in panel.spec["data"]["values"]]
    cut = any(f"cut_{end}" in row for row in rows for end in ENDS)
    return " An arrowhead marks an interval that goes on beyond the picture." if cut else ""


def _nice(step: float) -> float:
    """The nearest step of 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(step))
    return min((power, 2 * power, 5 * power, 10 * power), key=lambda nice: abs(math.log(nice / step)))


def _place(value: float | None, log: bool) -> float:
    """Where a value stands; NaN where it is not known, minus infinity for 0 on a logarithmic axis."""
    if value is None or math.isnan(value):
        return math.nan
    if not log:
        return value
    return math.log(value) if value > 0 else -math.inf
