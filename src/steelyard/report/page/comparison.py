"""The page of `steelyard compare`: one file, no network, the look of a report."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard import __version__
from steelyard import quantities as fmt
from steelyard.analysis.bundles import BundleComparison
from steelyard.analysis.judgement import Metric
from steelyard.bundle.storage.files import write_whole
from steelyard.report.page.html import environment
from steelyard.report.presented.words import WORDS, heading
from steelyard.report.table import Table
from steelyard.report.tables import bundles

_WIDTH, _MARGIN = 180.0, 6.0
# an end of an interval farther away is cut off at the edge of the picture
_FARTHEST = 20.0


@dataclass(frozen=True)
class Bar:
    """A ratio with its interval in px from the left; one: where the ratio 1 is.

    low and high are that of the ratio where it has no interval.
    """

    low: float
    ratio: float
    high: float
    one: float


def write_comparison(path: Path, found: Sequence[BundleComparison]) -> Path:
    """Writes the page; a reader sees the old file or the new one, never a part. Raises OSError."""
    return write_whole(path, render(found))


def render(found: Sequence[BundleComparison]) -> str:
    """The page as text: self-contained, everything that came from outside escaped."""
    return (
        environment()
        .get_template("comparison.html.j2")
        .render(
            parts=[(one, counted(one), _tables(one), bundles.footnote(one), _counted(one)) for one in found],
            here=found[0].here,
            there=fmt.listed([one.there for one in found]),
            work="different" if any(one.unlike_work for one in found) else "the same",
            unlike=bundles.unlike,
            width=_WIDTH,
            words=WORDS,
            version=__version__,
        )
    )


def counted(found: BundleComparison) -> str:
    """`2 better, 1 worse and 5 equivalent`."""
    counts = Counter(c.standing for c in found.comparisons)
    parts = [f"{counts[standing]} {word}" for standing, word in WORDS.items() if counts[standing]]
    return fmt.listed(parts) if parts else "no option and load point in both"


def bars(table: Table) -> list[Bar]:
    """One per row, on a logarithmic axis that all of them share."""
    items = table.values("comparison")
    near = [(item.ratio / _FARTHEST, item.ratio * _FARTHEST) for item in items]
    ends = [
        (item.ratio,) * 3
        if fmt.no_interval(item.low, item.high)
        else (max(item.low, below), item.ratio, min(item.high, above))
        for item, (below, above) in zip(items, near, strict=True)
    ]
    margin = max((item.margin for item in items), default=0.0)
    every = [end for bar in ends for end in bar] + [1 - 2 * margin, 1 + 2 * margin]
    low, high = math.log(min(every)), math.log(max(every))

    def at(ratio: float) -> float:
        return round(_MARGIN + (math.log(ratio) - low) / (high - low or 1.0) * (_WIDTH - 2 * _MARGIN), 1)

    return [Bar(at(left), at(ratio), at(right), at(1.0)) for left, ratio, right in ends]


def _tables(found: BundleComparison) -> list[tuple[Metric, str, Table, list[Bar]]]:
    tables = [(metric, bundles.compared(found, metric)) for metric in found.metrics]
    return [(metric, heading(metric), table, bars(table)) for metric, table in tables]


def _counted(found: BundleComparison) -> list[tuple[str, Table]]:
    return [(heading(metric), bundles.counted(found, metric)) for metric in found.counted]
