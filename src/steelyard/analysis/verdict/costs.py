"""Costs of a transaction that differ between two options, in numbers.

Costs are many, so what is proven is judged at a false discovery rate of 5 %; what the verdict or the tables
compare has the interval and the result that it has there. A cost is material when it differs by at least
the smallest effect of its kind and, for times, by a share of the baseline's server CPU.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from steelyard.analysis.comparison.compare import Difference
from steelyard.analysis.comparison.intervals import Intervals
from steelyard.analysis.comparison.pairwise import PairResult
from steelyard.analysis.judgement import CostDifference, Metric, Outcome
from steelyard.analysis.metrics.dispatcher import COSTS as SIMULATED
from steelyard.analysis.metrics.dispatcher import LONGEST_WAIT
from steelyard.analysis.metrics.measured import SERVER_CPU
from steelyard.analysis.metrics.particular import COSTS as LATCHES
from steelyard.analysis.metrics.programs import COSTS
from steelyard.analysis.metrics.run_metrics import HEADLINES, WAIT_PREFIX
from steelyard.analysis.statistics import distributions
from steelyard.analysis.statistics.distributions import ALPHA
from steelyard.quantities import quantity

USER = "server_user_us_per_txn"
SYSTEM = "server_system_us_per_txn"
PARTS = (USER, SYSTEM)
# beside those that monitors declare
_OTHERS = (*LATCHES, *COSTS, *SIMULATED, LONGEST_WAIT.name)
_MATERIAL = 0.03  # of the baseline's server CPU, for times; the study's own margin where that is less


@dataclass(frozen=True)
class Cost(Difference):
    """A cost with what sentences need beside it. p_value: adjusted over all costs of the pair.

    smallest: the least change that is material, in the cost's unit. share: see CostDifference.
    """

    metric: Metric
    smallest: float = 0.0
    share: float | None = None

    @property
    def unit(self) -> str:
        """Of the values."""
        return self.metric.unit.partition("/")[0]

    @property
    def change(self) -> float:
        """After minus before."""
        return self.after - self.before

    @property
    def proven(self) -> bool:
        """Whether it differs, all costs considered."""
        return self.p_value <= ALPHA

    @property
    def material(self) -> bool:
        """Whether so large a change can be a reason."""
        return self.proven and abs(self.change) >= self.smallest

    @property
    def relative(self) -> float:
        """The change over the larger of the two."""
        return abs(self.change) / max(self.before, self.after)

    def text(self, value: float) -> str:
        """A value with its unit, in the step that tables have it in as well."""
        return quantity(value, self.unit)


class Costs:
    """What a transaction costs more or less under one option than under another.

    Values are those of the tables: geometric means over blocks and points (plain means where zeros
    occur), with the intervals of the comparisons.
    """

    def __init__(self, intervals: Intervals) -> None:
        self._intervals, self._run_metrics = intervals, intervals.run_metrics
        waits = tuple(m.name for m in self._run_metrics.metrics if m.name.startswith(WAIT_PREFIX))
        names = (*self._run_metrics.costs, *_OTHERS, *waits)
        self._metrics = list(filter(None, map(self._run_metrics.metric, names)))

    def differences(self, pairs: Sequence[PairResult]) -> tuple[CostDifference, ...]:
        """Every cost of each pair, CPU and its parts first."""
        # all pairs of a metric at once: each interval is a search
        for metric in self._metrics:
            self._intervals.differences(metric, [(pair.option, pair.other) for pair in pairs])
        return tuple(
            CostDifference(
                metric=cost.metric.name,
                option=pair.option,
                baseline=pair.other,
                unit=cost.unit,
                before=cost.before,
                after=cost.after,
                low=cost.low,
                high=cost.high,
                share=cost.share,
            )
            for pair in pairs
            for cost in self.of(pair)
        )

    def of(self, pair: PairResult) -> list[Cost]:
        """Every cost of one pair."""
        found = [cost for metric in self._metrics if (cost := self.by(metric.name, pair))]
        adjusted = distributions.benjamini_hochberg([cost.p_value for cost in found])
        cpu = next((cost for cost in found if cost.metric.name == SERVER_CPU.name), None)
        matters_us = min(self._intervals.margin, _MATERIAL) * cpu.before if cpu else 0.0
        return [
            replace(
                cost,
                # a headline metric is not one of many that are searched
                p_value=float(not cost.shown) if cost.metric.name in HEADLINES else float(p),
                smallest=max(cost.metric.smallest_effect, matters_us if cost.unit == "us" else 0.0),
                # of proven parts: shares of others are chance
                share=cost.change / cpu.change
                if cpu and cpu.shown and cost.shown and cost.metric.name in (SERVER_CPU.name, *PARTS)
                else None,
            )
            for cost, p in zip(found, adjusted, strict=True)
        ]

    def outcome(self, metric: Metric, pair: PairResult) -> Outcome | None:
        """What the tables call this difference; None where the two have no ratio."""
        key = pair.option, pair.other
        if not self._intervals.tests(metric).comparable(key):
            return None
        return self._intervals.comparisons(metric, [key])[0].outcome

    def by(self, name: str, pair: PairResult) -> Cost | None:
        """The difference by a metric, where it was measured; of a maximum there is no interval."""
        key = pair.option, pair.other
        metric = self._run_metrics.metric(name)
        found = metric and self._intervals.differences(metric, [key]).get(key)
        if metric is None or not found or not (found.before or found.after):
            return None
        if metric.summary == "mean":
            return Cost(found.before, found.after, found.low, found.high, found.p_value, metric)
        # the highest of all runs; whether the two differ is tested by runs
        column, option = self._run_metrics.values[name], self._run_metrics.option
        after, before = (float(np.nanmax(column[option == one])) for one in key)
        return Cost(before, after, -math.inf, math.inf, found.p_value, metric)
