"""Two bundles side by side: a table per metric, absolute values beside ratios."""

from steelyard import quantities as fmt
from steelyard.analysis.bundles import BundleComparison
from steelyard.analysis.judgement import Metric
from steelyard.report.presented.words import MARKS, marks_mean
from steelyard.report.table import Cell, Column, Table, plain_table, ratio_of


def compared(found: BundleComparison, metric: Metric) -> Table:
    """One option at one number of clients per row: its level in each bundle, and how they compare."""
    every = zip(found.comparisons, found.levels_here, found.levels_there, strict=True)
    columns = (
        Column("", "mark"),
        Column("option"),
        Column(found.points_are, "clients"),
        *map(Column, ("here", "there", "ratio")),
        Column("p, corrected", "p_value", fmt.probability),
        Column("n", "blocks"),
    )
    rows = [
        {
            **vars(item),
            "comparison": item,
            "mark": MARKS[item.standing],
            "here": Cell(here.value, unit=metric.unit),
            "there": Cell(there.value, unit=metric.unit),
            "ratio": ratio_of(item),
        }
        for item, here, there in every
        if item.metric == metric.name
    ]
    return Table([c for c in columns if not found.once or c.key not in ("mark", "p_value", "blocks")], rows)


def counted(found: BundleComparison, metric: Metric) -> Table:
    """Levels of a metric that has no test."""
    return plain_table(
        ("option", found.points_are, "here", "there"),
        (
            (here.option, here.clients, *(Cell(e.value, unit=metric.unit) for e in (here, there)))
            for here, there in zip(found.counted_here, found.counted_there, strict=True)
            if here.metric == metric.name
        ),
    )


def footnote(found: BundleComparison) -> str:
    """What marks, figures and intervals are."""
    if not (found.tests and found.comparisons):
        return "ratio: there / here"
    text = f"{marks_mean(found.comparisons)} (smallest effect {100 * found.comparisons[0].margin:.3g} %)"
    return (
        f"{text}; geometric means over blocks; ratio: there / here, 95 % intervals, Welch's t on run values;"
        f" intervals and p-values corrected for {fmt.count(found.tests, 'test')} (Holm)"
    )


def unlike(found: BundleComparison) -> list[tuple[str, tuple[str, ...]]]:
    """What the two bundles compare, and in what their work differs; without what is empty."""
    every = [("compared", found.differences), ("different work", found.unlike_work)]
    return [(what, texts) for what, texts in every if texts]
