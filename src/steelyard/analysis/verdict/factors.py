"""Which factor matters most, of a study of several."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.analysis.judgement.results import Effect, Metric
from steelyard.quantities import listed, percent, significant

_SIGNIFICANT = 0.05
_MOST_EFFECTS = 3


def most_important_factor(effects: Sequence[Effect], metric: Metric, enough: bool) -> str:
    """Which factor matters most by this metric; '' of a single factor, or where no effect is proven.

    enough: whether the blocks are enough for a verdict.
    """
    mine = [e for e in effects if e.metric == metric.name]
    factors = {name for e in mine for name in e.factors}
    proven = [e for e in mine if e.p_value < _SIGNIFICANT and e.share >= 0.01]
    proven.sort(key=lambda e: -e.share)
    if len(factors) < 2 or not proven:
        return ""
    parts = [
        f"{' with '.join(e.factors)} {percent(e.share)} [{significant(100 * e.low)} to {percent(e.high)}]"
        for e in proven[:_MOST_EFFECTS]
    ]
    first = proven[0].factors
    most = first[0] if len(first) == 1 else f"the interaction of {' and '.join(first)}"
    matters = "What matters most is" if enough else "What seems to matter most is"
    return f"{matters} {most}. Explained of the variation in {metric.title}: {listed(parts)}."
