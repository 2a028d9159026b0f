"""Query by query: which of them an option changes, among so many that some seem to differ by chance.

Each query is compared as any metric is; then p-values of all queries and options together are adjusted
to hold the false discovery rate at 5 % (Benjamini & Hochberg 1995). The intervals are those that go
with it: at level 1 - R q / m, R of m differences found, so that of the intervals of what was found at
most 5 % miss (Benjamini & Yekutieli 2005), and an interval excludes 1 exactly where one was found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from steelyard.analysis.comparison.block_table import points_of
from steelyard.analysis.comparison.compare import ALPHA, PairTests
from steelyard.analysis.comparison.estimates import estimates
from steelyard.analysis.judgement.results import Comparison, Metric, QueryRow
from steelyard.analysis.metrics.queries import time_of
from steelyard.analysis.metrics.run_metrics import RunMetrics
from steelyard.analysis.statistics import distributions


def by_query(
    run_metrics: RunMetrics, options: Sequence[str], baseline: str, margin: float
) -> tuple[QueryRow, ...]:
    """One row per point, query and option; none where the work was not of queries."""
    metrics = [time_of(name) for name in run_metrics.queries]
    rows: list[QueryRow] = []
    for point, clients in points_of(run_metrics).items() if metrics else ():
        against = compared_together(run_metrics, metrics, options, baseline, margin, point)
        rows += [
            QueryRow(metric.title, own.option, clients, own.value, against.get((metric.name, own.option)))
            for metric in metrics
            for own in estimates(run_metrics, metric, options, point)
        ]
    return tuple(rows)


def compared_together(
    run_metrics: RunMetrics,
    metrics: Sequence[Metric],
    options: Sequence[str],
    baseline: str,
    margin: float,
    point: int,
) -> dict[tuple[str, str], Comparison]:
    """By metric and option, adjusted for all of them."""
    tests = [PairTests(run_metrics, metric, options, margin, point) for metric in metrics]
    alone = [c.p_value for one in tests for c in one.against(baseline)]
    if not alone:
        return {}
    adjusted = distributions.benjamini_hochberg(alone).tolist()
    level = ALPHA * max(sum(p <= ALPHA for p in adjusted), 1) / len(alone)
    found = (c for one in tests for c in one.against(baseline, level))
    return {(c.metric, c.option): replace(c, p_value=p) for c, p in zip(found, adjusted, strict=True)}
