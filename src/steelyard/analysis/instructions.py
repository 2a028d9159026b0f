"""What an emulated guest measures: instructions, shown as the time that its clock makes of them."""

from __future__ import annotations

from steelyard.analysis.results import Metric, Notice
from steelyard.bundle.evidence import Evidence

INSTRUCTION_TIME = Metric("instruction_us_per_txn", "instruction time", "us/txn", "lower")


def instruction_notices(evidence: Evidence) -> list[Notice]:
    """instruction-time: what it can claim, and what it cannot."""
    if not evidence.instruction_time:
        return []
    return [
        Notice(
            "instruction-time",
            "emulated guests: their clock counts instructions, one every 2 ns, and all times are such times."
            " No caches, no TLB, no waiting for memory or disks, one CPU and so no contention for locks: this"
            " tells which kernel does the work with fewer instructions, not how fast it is on a machine",
        )
    ]
