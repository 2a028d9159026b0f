"""Latency by statement, where transactions have several: estimated as the latency of transactions is.

The p50 of every statement is compared with the baseline's from tables of blocks; at a load point all
statements and options together are adjusted for their number (`_compared_together`).

Queries of decision support are compared likewise, to see which of them an option changes, among so many that
some seem to differ by chance: p-values of all queries and options together are adjusted to hold the false
discovery rate at 5 % (Benjamini & Hochberg 1995). The intervals are those that go with it: at level 1 - R q
/ m, R of m differences found, so that of the intervals of what was found at most 5 % miss (Benjamini &
Yekutieli 2005), and an interval excludes 1 exactly where one was found.
"""

from collections.abc import Sequence
from dataclasses import replace

from steelyard.analysis.comparison.block_table import estimates, points_of
from steelyard.analysis.comparison.compare import PairTests
from steelyard.analysis.judgement import Comparison, Metric, QueryRow, StatementLatency
from steelyard.analysis.metrics.measured import aligned
from steelyard.analysis.metrics.particular import time_of
from steelyard.analysis.metrics.run_metrics import RunMetrics
from steelyard.analysis.statistics import distributions
from steelyard.analysis.statistics.distributions import ALPHA
from steelyard.bundle.evidence import Evidence

_WHOLE = "transaction"


def statement_latencies(evidence: Evidence, run_metrics: RunMetrics) -> tuple[StatementLatency, ...]:
    """One row per load point, statement and option, all transactions last; none of a single statement."""
    query = "select statement from latency where statement <> 'transaction' group by 1 order by min(rowid)"
    names = evidence.column(query)
    if len(names) < 2 or evidence.workload.in_rounds:
        return ()
    # kinds of transactions first
    names.sort(key=lambda name: not name.startswith(f"{_WHOLE} "))
    halves, slow = (
        replace(
            run_metrics,
            values=aligned(evidence, f"select statement as name, run, point, {field} as value from latency"),
        )
        for field in ("p50_ns", "p99_ns")
    )
    query = "select statement, option, point, sum(count)::BIGINT from latency join points using (run, point)"
    counts = {(*at,): count for *at, count in evidence.rows(f"{query} group by all")}
    metrics = [Metric(name, f"latency p50 of {name}", "ns", "lower") for name in (*names, _WHOLE)]
    return tuple(
        StatementLatency(
            metric.name,
            p50.option,
            clients,
            counts[metric.name, p50.option, point],
            p50.value,
            p99.value,
            ratios.get((metric.name, p50.option)),
        )
        for point, clients in points_of(run_metrics).items()
        for ratios in [_compared_together(evidence, halves, metrics, point)]
        for metric in metrics
        for p50, p99 in zip(
            *(estimates(of, metric, evidence.labels, point) for of in (halves, slow)), strict=True
        )
    )


def by_query(evidence: Evidence, run_metrics: RunMetrics) -> tuple[QueryRow, ...]:
    """One row per point, query and option; none where the work was not of queries."""
    metrics = [time_of(name) for name in run_metrics.queries]
    return tuple(
        QueryRow(metric.title, own.option, clients, own.value, against.get((metric.name, own.option)))
        for point, clients in points_of(run_metrics).items()
        for against in [_compared_together(evidence, run_metrics, metrics, point)]
        for metric in metrics
        for own in estimates(run_metrics, metric, evidence.labels, point)
    )


def _compared_together(
    evidence: Evidence, run_metrics: RunMetrics, metrics: Sequence[Metric], point: int
) -> dict[tuple[str, str], Comparison]:
    """With the baseline, by metric and option, adjusted for all of them."""
    tests = [PairTests(run_metrics, metric, evidence.labels, evidence.margin, point) for metric in metrics]
    alone = [c.p_value for one in tests for c in one.against(evidence.baseline)]
    if not alone:
        return {}
    adjusted = distributions.benjamini_hochberg(alone).tolist()
    level = ALPHA * max(sum(p <= ALPHA for p in adjusted), 1) / len(alone)
    found = (c for one in tests for c in one.against(evidence.baseline, level))
    return {(c.metric, c.option): replace(c, p_value=p) for c, p in zip(found, adjusted, strict=True)}
