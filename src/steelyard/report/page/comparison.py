"""The page of `steelyard compare`: one file, no network, the look of a report."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from steelyard import quantities as fmt
from steelyard.analysis.bundles import BundleComparison
from steelyard.analysis.judgement import Judgement, Metric
from steelyard.bundle.series.read import Series
from steelyard.bundle.storage.files import write_whole
from steelyard.report.about import About, FactorFacts
from steelyard.report.charts.figure import uniquely_named
from steelyard.report.charts.gauges import CPU, MEMORY, RECORDED
from steelyard.report.charts.latches import latches
from steelyard.report.charts.quantiles import latency
from steelyard.report.charts.scaling import scaling
from steelyard.report.charts.timeline import since_start
from steelyard.report.page.html import page
from steelyard.report.presented import Presented, present
from steelyard.report.presented.words import WORDS, heading
from steelyard.report.table import Table
from steelyard.report.tables import bundles

# what bundles are compared by: work and its scaling, latches, latency, CPU, and the same over time
_CHARTS = (scaling, latches, latency, since_start, CPU.figure, RECORDED.figure, MEMORY.figure)
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


@dataclass(frozen=True)
class Together:
    """What the pictures show. judged: by the bundle's name; about: of the first bundle."""

    judged: Mapping[str, Judgement]
    series: Sequence[Series]
    about: About


def write_comparison(
    path: Path, found: Sequence[BundleComparison], platforms: Sequence[str], together: Together
) -> Path:
    """Writes the page; a reader sees the old file or the new one, never a part. Raises OSError."""
    return write_whole(path, render(found, platforms, together))


def render(found: Sequence[BundleComparison], platforms: Sequence[str], together: Together) -> str:
    """The page as text: self-contained, everything that came from outside escaped."""
    presented = as_one(together)
    # what the pictures mean is in each bundle's own report
    figures = [replace(figure, notes=()) for chart in _CHARTS if (figure := chart(presented))]
    return page(
        "comparison.html.j2",
        f"{fmt.listed([one.there for one in found])} against {found[0].here}",
        presented,
        drawn := uniquely_named(figures),
        question=presented.judgement.question,
        when=together.about.when,
        figures=drawn,
        sentences=[*platforms, *(text for one in found for text in one.answer)] or ["No metric is in both."],
        parts=[(one, counted(one), _tables(one), bundles.footnote(one), _counted(one)) for one in found],
        work="different" if any(one.unlike_work for one in found) else "the same",
        unlike=bundles.unlike,
        width=_WIDTH,
    )


def as_one(together: Together) -> Presented:
    """The bundles as one whose options are those of all, so that every chart draws them side by side."""
    judged, about = together.judged, together.about
    options = {
        (name, option): name if len(judgement.options) == 1 else f"{name} {option}"
        for name, judgement in judged.items()
        for option in judgement.options
    }

    def renamed(field: str) -> tuple[Any, ...]:
        return tuple(
            replace(one, option=options[name, one.option])
            for name, judgement in judged.items()
            for one in getattr(judgement, field)
        )

    first = next(iter(judged.values()))
    labels = tuple(options.values())
    nothing: dict[str, Any] = {f.name: () for f in fields(Judgement) if f.default == ()}
    drawn = {field: renamed(field) for field in ("estimates", "scaling", "latches")}
    own = {"options": labels, "baseline": labels[0], "comparisons": (), "notices": (), "latch_costs": None}
    judgement = replace(first, **{**nothing, **own, **drawn})
    rows = {
        kind: [
            {**row, "option": options[name, row["option"]], "run": (name, row.get("run"))}
            for name, series in zip(judged, together.series, strict=True)
            for row in getattr(series, kind)
        ]
        for kind in ("throughput", "gauges", "latency")
    }
    levels = {label: {"bundle": name, "option": option} for (name, option), label in options.items()}
    factors = tuple(FactorFacts(name, "", {}) for name in ("bundle", "option"))
    return present(judgement, Series(**rows), replace(about, factors=factors, option_levels=levels))


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
