"""Two bundles side by side: a table per metric, absolute values beside ratios."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard import quantities as fmt
from steelyard.analysis.bundles import BundleComparison
from steelyard.analysis.judgement.results import Comparison, Estimate, Metric
from steelyard.report.presented.marks import MARKS, marks_mean
from steelyard.report.table import Cell, Table, plain_table


@dataclass(frozen=True)
class Row:
    """One option at one number of clients. here, there: its level in each bundle, with its interval."""

    comparison: Comparison
    option: str
    clients: str
    here: str
    there: str
    ratio: str
    p_value: str
    runs: str

    @property
    def mark(self) -> str:
        """The outcome as one sign."""
        return MARKS[self.comparison.standing]


def head(found: BundleComparison) -> tuple[str, ...]:
    """Headings of the columns after the mark."""
    return ("option", found.points_are, "here", "there", "ratio", "p, corrected", "n")


def rows(found: BundleComparison, metric: Metric) -> list[Row]:
    """The rows of one metric."""
    every = zip(found.comparisons, found.levels_here, found.levels_there, strict=True)
    return [_row(metric, *row) for row in every if row[0].metric == metric.name]


def counted(found: BundleComparison, metric: Metric) -> Table:
    """Levels of a metric that has no test."""
    pairs = zip(found.counted_here, found.counted_there, strict=True)
    return plain_table(
        ("option", found.points_are, "here", "there"),
        (
            (here.option, here.clients, *(Cell(e.value, unit=metric.unit) for e in (here, there)))
            for here, there in pairs
            if here.metric == metric.name
        ),
    )


def footnote(found: BundleComparison) -> str:
    """What marks, figures and intervals are."""
    text = f"{marks_mean(found.comparisons)}; geometric means over blocks; ratio: there / here"
    if not found.tests:
        return text
    return (
        f"{text}, 95 % intervals, Welch's t on run values; intervals and p-values corrected for"
        f" {fmt.count(found.tests, 'test')} (Holm)"
    )


def unlike(found: BundleComparison) -> list[tuple[str, tuple[str, ...]]]:
    """What the two bundles compare, and in what their work differs; without what is empty."""
    every = [("compared", found.differences), ("different work", found.unlike_work)]
    return [(what, texts) for what, texts in every if texts]


def _row(metric: Metric, item: Comparison, here: Estimate, there: Estimate) -> Row:
    return Row(
        comparison=item,
        option=item.option,
        clients=str(item.clients),
        here=fmt.quantity(here.value, metric.unit),
        there=fmt.quantity(there.value, metric.unit),
        ratio=fmt.ratio(item.ratio, item.low, item.high),
        p_value=fmt.probability(item.p_value),
        runs=str(item.blocks),
    )
