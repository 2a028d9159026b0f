"""Sleeps for latches as costs per transaction: all latches of a run and point together."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steelyard.analysis.judgement.results import Metric
from steelyard.analysis.metrics.costs import time_cost
from steelyard.analysis.statistics.distributions import Floats
from steelyard.bundle.evidence.evidence import Evidence

# a sleep is a switch away and one back: of less than one transaction in ten it is no reason
SLEEPS = Metric("latch_sleeps_per_txn", "sleeps for latches", "1/txn", "lower", 0.1)
ASLEEP = time_cost("latch_wait_us_per_txn", "time asleep for latches")
COSTS = (SLEEPS.name, ASLEEP.name)


def latch_costs(
    evidence: Evidence, row_of: Mapping[tuple[int, int], int], transactions: Floats
) -> list[tuple[Metric, Floats]]:
    """Each metric with one value per run and load point; NaN where sleeps are not seen."""
    table = evidence.view("latches")
    rows = [row_of.get(key) for key in zip(table["run"].tolist(), table["point"].tolist(), strict=True)]
    found: list[tuple[Metric, Floats]] = []
    for metric, counter, scale in ((SLEEPS, "sleeps", 1.0), (ASLEEP, "wait_ns", 1e-3)):
        sums: dict[int, float] = {}
        for row, value in zip(rows, table[counter].tolist(), strict=True):
            if row is not None:
                sums[row] = sums.get(row, 0.0) + float(value)
        total = np.full(len(row_of), np.nan)
        total[list(sums)] = list(sums.values())
        found.append((metric, total * scale / np.where(transactions > 0, transactions, np.nan)))
    return found
