"""Run metrics of particular work: queries of decision support, emulated guests, latches.

A run's time of a query is the mean over its executions. The geometric mean over queries gives each of them
the same weight, however long it takes: halving any one of them counts alike (Fleming & Wallace 1986). The
time of a round is the time until all of them are answered. An emulated guest measures instructions, shown as
the time that its clock makes of them.
"""

from steelyard.analysis.judgement import Metric, Notice
from steelyard.analysis.metrics.measured import Measured, by_column, time_cost
from steelyard.bundle.evidence import Evidence
from steelyard.study.workloads.queries import QueriesWorkload

GEOMEAN = Metric("query_geomean_ms", "geometric mean of query times", "ms", "lower")
ROUND = Metric("round_ns", "time of a round", "ns", "lower")
PER_HOUR = Metric("queries_per_h", "queries per hour", "queries/h", "higher")
INSTRUCTION_TIME = Metric("instruction_us_per_txn", "instruction time", "us/txn", "lower")
# a sleep is a switch away and one back: of less than one transaction in ten it is no reason
SLEEPS = Metric("latch_sleeps_per_txn", "sleeps for latches", "1/txn", "lower", 0.1)
ASLEEP = time_cost("latch_wait_us_per_txn", "time asleep for latches")
COSTS = (SLEEPS.name, ASLEEP.name)
# NULL where sleeps are not seen
LATCH_COSTS = Measured(
    [SLEEPS, ASLEEP],
    by_column("""
        select run, point, ratio(whole(sleeps), any_value(transactions)) as latch_sleeps_per_txn,
            ratio(whole(wait_ns) / 1e3, any_value(transactions)) as latch_wait_us_per_txn
        from latches join points using (run, point) group by run, point
    """),
)


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
# what the queries come to together, and the time of each
QUERIES = Measured([GEOMEAN, ROUND, PER_HOUR], _TIMES)


def queries_of(evidence: Evidence) -> list[str]:
    """Names of queries whose times are known; none where the work is not of queries."""
    if not isinstance(evidence.workload, QueriesWorkload):
        return []
    query = "select distinct statement from latency where statement <> 'transaction' order by statement"
    return evidence.column(query)


def instruction_metrics(evidence: Evidence) -> list[Measured]:
    """Time per transaction by the guest's clock; none where times are real."""
    query = "select run, point, ratio(1e6 * seconds, transactions) as instruction_us_per_txn from points"
    return [Measured([INSTRUCTION_TIME], by_column(query))] if evidence.instruction_time else []


def instruction_notices(evidence: Evidence) -> list[Notice]:
    """instruction-time: what it can claim, and what it cannot."""
    if not evidence.instruction_time:
        return []
    return [
        Notice(
            "instruction-time",
            "emulated guests: their clock counts instructions, one every 2 ns, and all times are such times."
            " No caches, no TLB, no waiting for memory or disks, one CPU and so no contention for locks: this"
            " shows which kernel does the work with fewer instructions, not how fast it is on a machine",
        )
    ]
