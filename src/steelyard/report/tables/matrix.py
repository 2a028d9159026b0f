"""Labelled runs as a matrix: a factor per column, figures where they exist; and each factor's own effect."""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from steelyard.bundle.evidence import grouped
from steelyard.report.about import FactorFacts
from steelyard.report.presented import Presented
from steelyard.report.table import Cell, Table, plain_table


def matrix(presented: Presented) -> Table | None:
    """A row per option of a recording with several factors and gaps; None of others."""
    judgement, about = presented.judgement, presented.about
    scores, factors = presented.headlines.scores, about.factors
    gaps = any(not judgement.level(m.name, option) for option in judgement.options for m in scores)
    if about.subject != "recording" or len(factors) < 2 or not gaps:
        return None
    rows = [
        [
            *(factor.levels[code] or code for factor in factors for code in [levels[factor.name]]),
            *(
                Cell(found.value, unit=metric.unit.removeprefix("1"))
                if (found := judgement.level(metric.name, option))
                else ""
                for metric in scores
            ),
        ]
        for option, levels in sorted(about.option_levels.items(), key=lambda one: _place(factors, one[1]))
    ]
    return plain_table([*(factor.name for factor in factors), *(metric.title for metric in scores)], rows)


def _place(factors: Sequence[FactorFacts], levels: Mapping[str, str]) -> list[int]:
    """Where an option stands: levels in the order of the study."""
    return [list(factor.levels).index(levels[factor.name]) for factor in factors]


def pairs(presented: Presented) -> Table | None:
    """How a figure changes where two options differ in one factor alone; None where there is no matrix."""
    judgement, about = presented.judgement, presented.about
    if matrix(presented) is None:
        return None
    names = {metric.name: metric.title for metric in presented.headlines.scores}
    estimates = sorted(
        (e for e in judgement.estimates if e.clients is None and e.metric in names),
        key=lambda e: _place(about.factors, about.option_levels[e.option]),
    )
    ratios = grouped(
        (
            (names[a.metric], factor.name, factor.levels[one] or one, factor.levels[other] or other),
            b.value / a.value,
        )
        for a, b in combinations(estimates, 2)
        for here, there in [(about.option_levels[a.option], about.option_levels[b.option])]
        for factor in about.factors
        for one, other in [(here[factor.name], there[factor.name])]
        if a.metric == b.metric
        and one != other
        and {**here, factor.name: other} == there
        and a.value
        and b.value
    )
    rows = [
        (
            title,
            factor,
            f"{one} to {other}",
            len(found),
            Cell(float(np.exp(np.mean(np.log(found))))),
            spread(found),
        )
        for (title, factor, one, other), found in ratios.items()
    ]
    head = ("figure", "factor alone", "change", "pairs", "ratio", "least, most")
    return plain_table(head, rows) if rows else None


def spread(ratios: list[float]) -> str:
    """The least and the largest."""
    return f"{min(ratios):.3g}, {max(ratios):.3g}" if len(ratios) > 1 else ""
