"""Numbers and lists as the sentences of the analysis say them: three significant digits, units."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from steelyard.analysis.judgement.results import Metric
from steelyard.study.workloads.workload import Workload

# of a unit's smallest step: less is the rounding of a computer, not a quantity
_NOTHING = 1e-6
_MOST_PLACES = 9
_STEPS = {
    "B": ((2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B")),
    "ns": ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")),
    "us": ((1e6, "s"), (1e3, "ms"), (1.0, "µs"), (1e-3, "ns")),
    "ms": ((1e3, "s"), (1.0, "ms"), (1e-3, "µs"), (1e-6, "ns")),
}


@dataclass(frozen=True)
class PointWords:
    """What the number of a point counts: `client`, `clients`."""

    one: str
    many: str

    def count(self, number: float, text: str | None = None) -> str:
        """`1 client`, `12 clients`, `35.6 clients`."""
        if number == 1:
            return f"1 {self.one}"
        return f"{text or digits(number)} {self.many}"

    def at(self, number: int) -> str:
        """A whole number of them."""
        return self.count(number, str(number))


def digits(value: float, significant: int = 3) -> str:
    """`21437.2` -> `21,400`; `0.04217` -> `0.0422`; `5.0` -> `5.00`."""
    if not math.isfinite(value):
        return "unknown"
    if value == 0:
        return "0"
    # rounded in scientific form first: 9.996 has four digits once it is rounded
    exponent = int(f"{abs(value):.{significant - 1}e}".partition("e")[2])
    places = significant - 1 - exponent
    if places > _MOST_PLACES:
        return f"{value:.{significant - 1}e}"
    return f"{round(value, places):,.{max(places, 0)}f}"


def signed(change: float) -> str:
    """`-0.287` -> `-28.7 %`, with its sign always."""
    return f"{100 * change:+.3g} %"


def p_value(p: float) -> str:
    """`p = 0.0042`; `p < 0.001`."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def percent(share: float) -> str:
    """`0.1834` -> `18.3 %`."""
    return f"{digits(100 * share)} %"


def quantity(value: float, unit: str, like: float | None = None) -> str:
    """`quantity(8196, "B")` -> `8.00 KiB`; `quantity(0.4, "us")` -> `400 ns`; `1` is no unit.

    like: another value, whose step of the unit is to be used.
    """
    steps = _STEPS.get(unit)
    if steps is None:
        return digits(value) if unit in ("", "1") else f"{digits(value)} {unit}"
    guide = abs(value if like is None else like)
    size, name = next((step for step in steps if guide >= step[0]), steps[-1])
    number = value / size
    return f"{digits(number if abs(number) > _NOTHING else 0.0)} {name}"


def each(metric: Metric) -> str:
    """What a cost is counted for: `a transaction`, `a lookup`, `per bops`."""
    per = work(metric)
    if metric.per_txn:
        return f"a {per}"
    return f"per {per}" if per else "at most"


def work(metric: Metric) -> str:
    """Of what a cost is counted: `transaction`, `lookup`, `bops`; '' for what is no cost."""
    per = metric.unit.partition("/")[2]
    return "transaction" if per == "txn" else per


def titled(metric: Metric) -> str:
    """`server CPU a transaction`, `latency p99`."""
    return f"{metric.title} {each(metric)}" if metric.per_txn else metric.title


def in_words_of(metric: Metric, workload: Workload) -> Metric:
    """The metric as it is called where lookups are counted, or where no server spends the CPU."""
    title, unit = metric.title, metric.unit
    if workload.WHO != "server":
        title = title.replace("of the server", f"of the {workload.WHO}")
        title = re.sub("^server CPU", f"CPU of the {workload.WHO}", title)
    if unit == "transactions/s":
        unit = workload.rate_is
    if workload.work_is != "transaction":
        unit = unit.replace("/txn", f"/{workload.work_is}")
    return replace(metric, title=title, unit=unit)


def span(values: Sequence[float], say: Callable[[float], str]) -> str:
    """`12.1 % to 14.3 %`, or one value where both ends read alike."""
    low, high = say(min(values)), say(max(values))
    return low if low == high else f"{low} to {high}"


def listed(items: Sequence[str], most: int = 8) -> str:
    """`A, B and C`; what goes beyond `most` is counted only."""
    shown = list(items[:most])
    if len(items) > most:
        shown.append(f"{len(items) - most} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
