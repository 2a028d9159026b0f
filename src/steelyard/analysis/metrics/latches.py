"""Sleeps for latches as costs per transaction: all latches of a run and point together."""

from __future__ import annotations

from steelyard.analysis.judgement.results import Metric
from steelyard.analysis.metrics.costs import time_cost
from steelyard.analysis.metrics.measured import Measured, by_column

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
