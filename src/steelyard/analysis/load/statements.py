"""Latency by statement, where transactions have several: estimated as the latency of transactions is.

The p50 of every statement is compared with the baseline's from tables of blocks; at a load point all
statements and options together are adjusted for their number (comparison/queries.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from steelyard.analysis.comparison.block_table import points_of
from steelyard.analysis.comparison.estimates import estimates
from steelyard.analysis.comparison.queries import compared_together
from steelyard.analysis.judgement.results import Comparison, Estimate, Metric, StatementLatency
from steelyard.analysis.metrics.measured import aligned
from steelyard.analysis.metrics.run_metrics import RunMetrics
from steelyard.analysis.statistics.distributions import Floats
from steelyard.bundle.evidence.evidence import Evidence

_WHOLE = "transaction"
_COLUMNS = ("count", "p50_ns", "p99_ns")


def statement_latencies(evidence: Evidence, run_metrics: RunMetrics) -> tuple[StatementLatency, ...]:
    """One row per load point, statement and option, all transactions last; none of a single statement."""
    query = "select statement from latency where statement <> 'transaction' group by 1 order by min(rowid)"
    names = [name for (name,) in evidence.rows(query)]
    if len(names) < 2 or evidence.study.workload.in_rounds:
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
    return compared_together(
        replace(run_metrics, values={name: found["p50_ns"] for name, found in columns.items()}),
        [Metric(name, f"latency p50 of {name}", "ns", "lower") for name in columns],
        [option.label for option in evidence.options],
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
    labels = [option.label for option in evidence.options]

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
