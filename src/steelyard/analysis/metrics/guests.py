"""What an emulated guest measures: instructions, shown as the time that its clock makes of them."""

from __future__ import annotations

from collections.abc import Iterable

from steelyard.analysis.judgement.results import Metric, Notice
from steelyard.analysis.metrics.measured import Measured, by_column
from steelyard.bundle.evidence.evidence import Evidence

INSTRUCTION_TIME = Metric("instruction_us_per_txn", "instruction time", "us/txn", "lower")
# no client waited for these transactions, and seconds of this clock are no time
_MEANINGLESS = ("throughput_per_s", "p50_ns", "p95_ns", "p99_ns")


def instruction_metrics(evidence: Evidence) -> list[Measured]:
    """Time per transaction by the guest's clock; none where times are real."""
    query = "select run, point, ratio(1e6 * seconds, transactions) as instruction_us_per_txn from points"
    return [Measured([INSTRUCTION_TIME], by_column(query))] if evidence.instruction_time else []


def meaningful(evidence: Evidence, metrics: Iterable[Metric]) -> list[Metric]:
    """Those that mean something; instruction time first, where it was measured."""
    if not evidence.instruction_time:
        return list(metrics)
    rest = (m for m in metrics if m.name not in _MEANINGLESS)
    return [INSTRUCTION_TIME, *rest]


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
