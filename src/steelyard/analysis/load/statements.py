"""Latency by statement, where transactions have several: estimated as the latency of transactions is.

The p50 of every statement is compared with the baseline's from tables of blocks; at a load point all
statements and options together are adjusted for their number (`_compared_together`).

Queries of decision support are compared likewise, to see which of them an option changes, among so many that
some seem to differ by chance: p-values of all queries and options together are adjusted to hold the false
discovery rate at 5 % (Benjamini & Hochberg 1995). The intervals are those that go with it: at level 1 - R q
/ m, R of m differences found, so that of the intervals of what was found at most 5 % miss (Benjamini &
Yekutieli 2005), and an interval excludes 1 exactly where one was found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from steelyard.analysis.comparison.block_table import estimates, points_of
from steelyard.analysis.comparison.compare import PairTests
from steelyard.analysis.judgement.results import Comparison, Estimate, Metric, QueryRow, StatementLatency
from steelyard.analysis.metrics.measured import aligned
from steelyard.analysis.metrics.particular import time_of
from steelyard.analysis.metrics.run_metrics import RunMetrics
from steelyard.analysis.statistics import distributions
from steelyard.analysis.statistics.distributions import ALPHA, Floats
from steelyard.bundle.evidence.evidence import Evidence

_WHOLE = "transaction"
_COLUMNS = ("count", "p50_ns", "p99_ns")


def statement_latencies(evidence: Evidence, run_metrics: RunMetrics) -> tuple[StatementLatency, ...]:
    """One row per load point, statement and option, all transactions last; none of a single statement."""
    query = "select statement from latency where statement <> 'transaction' group by 1 order by min(rowid)"
    names = [name for (name,) in evidence.rows(query)]
    if len(names) < 2 or evidence.workload.in_rounds:
        return ()
    # kinds of transactions first
    names.sort(key=lambda name: not name.startswith(f"{_WHOLE} "))
    by_column = {
        column: aligned(evidence, f"select statement as name, run, point, {column} as value from latency")
        for column in _COLUMNS
    }
    columns = {name: {column: by_column[column][name] for column in _COLUMNS} for name in (*names, _WHOLE)}
    return tuple(
        row
        for point, clients in points_of(run_metrics).items()
        for ratios in [_ratios(run_metrics, evidence, columns, point)]
        for name, values in columns.items()
        for row in _rows(replace(run_metrics, values=values), evidence, name, point, clients, ratios)
    )


def _ratios(
    run_metrics: RunMetrics, evidence: Evidence, columns: Mapping[str, Mapping[str, Floats]], point: int
) -> Mapping[tuple[str, str], Comparison]:
    """Of the p50 with the baseline's, by statement and option, that of whole transactions included."""
    return _compared_together(
        replace(run_metrics, values={name: found["p50_ns"] for name, found in columns.items()}),
        [Metric(name, f"latency p50 of {name}", "ns", "lower") for name in columns],
        evidence.labels,
        evidence.baseline,
        evidence.study.plan.smallest_effect_percent / 100,
        point,
    )


def _rows(
    values: RunMetrics,
    evidence: Evidence,
    statement: str,
    point: int,
    clients: int,
    ratios: Mapping[tuple[str, str], Comparison],
) -> Iterator[StatementLatency]:
    labels = evidence.labels

    def by_option(column: str) -> dict[str, Estimate]:
        metric = Metric(column, column, "ns", "lower")
        return {level.option: level for level in estimates(values, metric, labels, point)}

    half, slow = by_option("p50_ns"), by_option("p99_ns")
    for option in half:
        mine = (values.option == option) & (values.point == point)
        count = int(np.nansum(values.values["count"][mine]))
        yield StatementLatency(
            statement,
            option,
            clients,
            count,
            half[option].value,
            slow[option].value,
            ratios.get((statement, option)),
        )


def by_query(
    run_metrics: RunMetrics, options: Sequence[str], baseline: str, margin: float
) -> tuple[QueryRow, ...]:
    """One row per point, query and option; none where the work was not of queries."""
    metrics = [time_of(name) for name in run_metrics.queries]
    rows: list[QueryRow] = []
    for point, clients in points_of(run_metrics).items() if metrics else ():
        against = _compared_together(run_metrics, metrics, options, baseline, margin, point)
        rows += [
            QueryRow(metric.title, own.option, clients, own.value, against.get((metric.name, own.option)))
            for metric in metrics
            for own in estimates(run_metrics, metric, options, point)
        ]
    return tuple(rows)


def _compared_together(
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
