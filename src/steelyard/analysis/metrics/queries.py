"""Run metrics of decision support: the time of each query in a run, and what they come to together.

A run's time of a query is the mean over its executions. The geometric mean over queries gives each of
them the same weight, however long it takes: halving any one of them counts alike (Fleming & Wallace
1986). The time of a round is the time until all of them are answered.
"""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.analysis.judgement.results import Metric
from steelyard.analysis.metrics.measured import Measured
from steelyard.bundle.evidence.evidence import Evidence
from steelyard.study.workloads.queries import QueriesWorkload

GEOMEAN = Metric("query_geomean_ms", "geometric mean of query times", "ms", "lower")
ROUND = Metric("round_ns", "time of a round", "ns", "lower")
PER_HOUR = Metric("queries_per_h", "queries per hour", "queries/h", "higher")


def time_of(query: str) -> Metric:
    """The metric of one query's time."""
    return Metric(f"query_{query}_ns", query, "ns", "lower")


# a row that lacks a query has no mean: without its longest query any server is fast
_TIMES = """
    with queries as (from latency where statement <> 'transaction'),
    counted as (select count(distinct statement) as queries from queries)
    select 'query_' || statement || '_ns' as name, run, point, mean_ns as value from latency
    union all select 'round_ns', run, point, mean_ns from latency where statement = 'transaction'
    union all select 'query_geomean_ms', run, point, exp(avg(ln(mean_ns))) / 1e6 from queries
        group by run, point having count(*) = (from counted)
    union all select 'queries_per_h', run, point, transactions / seconds * (from counted) * 3600 from points
"""


def queries_of(evidence: Evidence) -> list[str]:
    """Names of queries whose times are known; none where the work is not of queries."""
    if not isinstance(evidence.study.workload, QueriesWorkload):
        return []
    query = "select distinct statement from latency where statement <> 'transaction' order by statement"
    return [name for (name,) in evidence.rows(query)]


def query_metrics(queries: Sequence[str]) -> list[Measured]:
    """What the queries come to together, and the time of each."""
    return [Measured([GEOMEAN, ROUND, PER_HOUR], _TIMES)] if queries else []
