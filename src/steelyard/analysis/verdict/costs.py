"""Costs of a transaction that differ between two options, in numbers.

Costs are many, so what is proven is judged at a false discovery rate of 5 %; what the verdict or the tables
compare has the interval and the result that it has there. A cost is material when it differs by at least
the smallest effect of its kind and, for times, by a share of the baseline's server CPU.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from steelyard.analysis.comparison.compare import ALPHA, Difference
from steelyard.analysis.comparison.intervals import Intervals
from steelyard.analysis.comparison.pairwise import PairResult
from steelyard.analysis.judgement.outcome import Outcome
from steelyard.analysis.judgement.results import CostDifference, Metric
from steelyard.analysis.metrics.costs import SERVER_CPU
from steelyard.analysis.metrics.dispatcher import COSTS as SIMULATED
from steelyard.analysis.metrics.dispatcher import LONGEST_WAIT
from steelyard.analysis.metrics.latches import COSTS as LATCHES
from steelyard.analysis.metrics.programs import COSTS
from steelyard.analysis.metrics.run_metrics import HEADLINES, P99, THROUGHPUT, WAIT_PREFIX
from steelyard.analysis.statistics import distributions
from steelyard.quantities import quantity

USER = "server_user_us_per_txn"
SYSTEM = "server_system_us_per_txn"
PARTS = (USER, SYSTEM)
# beside those that monitors declare
_OTHERS = (*LATCHES, *COSTS, *SIMULATED, LONGEST_WAIT.name)
_MATERIAL = 0.03  # of the baseline's server CPU, for times; the study's own margin where that is less


@dataclass(frozen=True)
class Cost:
    """A cost with what sentences need beside it. p_value: adjusted over all costs of the pair.

    smallest: the least change that is material, in the cost's unit.
    """

    metric: Metric
    difference: CostDifference
    p_value: float
    smallest: float

    @property
    def change(self) -> float:
        """After minus before."""
        return self.difference.after - self.difference.before

    @property
    def proven(self) -> bool:
        """Whether it differs, all costs considered."""
        return self.p_value <= ALPHA

    @property
    def material(self) -> bool:
        """Whether so large a change can be a reason."""
        return abs(self.change) >= self.smallest

    @property
    def relative(self) -> float:
        """The change over the larger of the two."""
        return abs(self.change) / max(self.difference.before, self.difference.after)

    @property
    def timed(self) -> bool:
        """Whether it is a time."""
        return self.difference.unit == "us"

    def text(self, value: float) -> str:
        """A value with its unit, in the step that tables have it in as well."""
        return quantity(value, self.difference.unit)


class Costs:
    """What a transaction costs more or less under one option than under another.

    Values are those of the tables: geometric means over blocks and points (plain means where zeros
    occur), with the intervals of the comparisons.
    """

    def __init__(self, intervals: Intervals) -> None:
        self._intervals, self._run_metrics = intervals, intervals.run_metrics
        waits = tuple(m.name for m in self._run_metrics.metrics if m.name.startswith(WAIT_PREFIX))
        names = (*self._run_metrics.costs, *_OTHERS, *waits)
        self._metrics = [m for m in map(self._run_metrics.metric, names) if m is not None]

    def differences(self, pairs: Sequence[PairResult]) -> tuple[CostDifference, ...]:
        """Every cost of each pair, CPU and its parts first."""
        # all pairs of a metric at once: each interval is a search
        for metric in self._metrics:
            self._intervals.differences(metric, [(pair.option, pair.other) for pair in pairs])
        return tuple(cost.difference for pair in pairs for cost in self.of(pair))

    def of(self, pair: PairResult) -> list[Cost]:
        """Every cost of one pair."""
        found: list[tuple[Metric, CostDifference, float]] = []
        for metric in self._metrics:
            tested = self._difference(metric, pair)
            if tested is None or not (tested.before or tested.after):
                continue
            if metric.summary == "maximum":
                tested = self._of_maxima(metric, pair, tested)
            found.append((metric, _cost_of(metric, pair, tested), tested.p_value))
        adjusted = distributions.benjamini_hochberg([p for _, _, p in found])
        cpu = next((d for metric, d, _ in found if metric.name == SERVER_CPU.name), None)
        whole = cpu.after - cpu.before if cpu and (cpu.low > 0 or cpu.high < 0) else None
        matters_us = min(self._intervals.margin, _MATERIAL) * cpu.before if cpu else 0.0
        return [
            Cost(
                metric,
                _shared(difference, whole),
                # a headline metric is not one of many that are searched
                p_value=_judged_p(difference) if metric.name in HEADLINES else float(p),
                smallest=max(metric.smallest_effect, matters_us if difference.unit == "us" else 0.0),
            )
            for (metric, difference, _), p in zip(found, adjusted, strict=True)
        ]

    def outcome(self, metric: Metric, pair: PairResult) -> Outcome | None:
        """What the tables call this difference; None where the two have no ratio."""
        if not self._intervals.tests(metric).comparable((pair.option, pair.other)):
            return None
        return self._intervals.comparisons(metric, [(pair.option, pair.other)])[0].outcome

    def throughput(self, pair: PairResult) -> Difference | None:
        """Of the two, where it was measured."""
        metric = self._run_metrics.metric(THROUGHPUT.name)
        return self._difference(metric, pair) if metric else None

    def p99(self, pair: PairResult) -> Cost | None:
        """Latency p99, where the comparison of the tables calls it better or worse."""
        metric = self._run_metrics.metric(P99.name)
        if metric is None:
            return None
        difference = self._difference(metric, pair)
        if difference is None or self.outcome(metric, pair) not in ("better", "worse"):
            return None
        return Cost(metric, _cost_of(metric, pair, difference), difference.p_value, smallest=0.0)

    def _difference(self, metric: Metric, pair: PairResult) -> Difference | None:
        key = pair.option, pair.other
        return self._intervals.differences(metric, [key]).get(key)

    def _of_maxima(self, metric: Metric, pair: PairResult, tested: Difference) -> Difference:
        """The highest of all runs, which has no interval; whether the two differ is tested by runs."""
        column, option = self._run_metrics.values[metric.name], self._run_metrics.option
        before, after = (float(np.nanmax(column[option == o])) for o in (pair.other, pair.option))
        return Difference(before, after, -math.inf, math.inf, tested.p_value)


def _judged_p(difference: CostDifference) -> float:
    """0 or 1, as the interval leaves out 0 or not."""
    return 0.0 if difference.low > 0 or difference.high < 0 else 1.0


def _cost_of(metric: Metric, pair: PairResult, found: Difference) -> CostDifference:
    return CostDifference(
        metric=metric.name,
        option=pair.option,
        baseline=pair.other,
        unit=metric.unit.partition("/")[0],
        before=found.before,
        after=found.after,
        low=found.low,
        high=found.high,
        share=None,
    )


def _shared(cost: CostDifference, whole: float | None) -> CostDifference:
    """With its share of the difference in server CPU: of proven parts, shares of others are chance."""
    proven = cost.low > 0 or cost.high < 0
    if whole is None or cost.metric not in (SERVER_CPU.name, *PARTS) or not proven:
        return cost
    share = (cost.after - cost.before) / whole
    return replace(cost, share=share)
