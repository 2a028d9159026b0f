"""Run metrics of decision support: the time of each query in a run, and what they come to together.

A run's time of a query is the mean over its executions. The geometric mean over queries gives each of
them the same weight, however long it takes: halving any one of them counts alike (Fleming & Wallace
1986). The time of a round is the time until all of them are answered.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steelyard.analysis.judgement.results import Metric
from steelyard.analysis.statistics.distributions import Floats
from steelyard.bundle.evidence.evidence import Evidence
from steelyard.study.workloads.queries import QueriesWorkload

GEOMEAN = Metric("query_geomean_ms", "geometric mean of query times", "ms", "lower")
ROUND = Metric("round_ns", "time of a round", "ns", "lower")
PER_HOUR = Metric("queries_per_h", "queries per hour", "queries/h", "higher")


def time_of(query: str) -> Metric:
    """The metric of one query's time."""
    return Metric(f"query_{query}_ns", query, "ns", "lower")


def query_times(evidence: Evidence, row_of: Mapping[tuple[int, int], int]) -> dict[str, Floats]:
    """Nanoseconds of each query by run and load point; empty where the work is not of queries.

    NaN where a query was not executed.
    """
    if not isinstance(evidence.study.workload, QueriesWorkload):
        return {}
    table = evidence.view("latency")
    columns = (table[name].tolist() for name in ("run", "point", "statement", "mean_ns"))
    found: dict[str, Floats] = {}
    for run, point, statement, mean_ns in zip(*columns, strict=True):
        if (row := row_of.get((run, point))) is not None:
            found.setdefault(statement, np.full(len(row_of), np.nan))[row] = mean_ns
    return dict(sorted(found.items()))


def query_metrics(times: Mapping[str, Floats], per_s: Floats) -> list[tuple[Metric, Floats]]:
    """Each metric with one value per run and load point. times: of queries; per_s: rounds per second."""
    queries = {name: column for name, column in times.items() if name != "transaction"}
    if not queries:
        return []
    # a row that lacks a query has no mean: without its longest query any server is fast
    geomean = np.exp(np.log(np.stack(list(queries.values()))).mean(axis=0))
    return [
        (GEOMEAN, geomean / 1e6),
        (ROUND, times["transaction"]),
        (PER_HOUR, per_s * len(queries) * 3600),
    ]
