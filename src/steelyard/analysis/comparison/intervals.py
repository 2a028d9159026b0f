"""One interval per pair of options, metric and load point, whatever shows it: verdict, table or reason.

Over all load points together the metrics that a verdict counts are as many chances to err, so Holm's
procedure (1979) goes over them, and each interval has the level of its step: it leaves out 1 exactly when
the metric counts for the verdict. At single load points, these are as many chances (Bonferroni). All other
intervals have the level of the study.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from steelyard.analysis.comparison.block_table import points_of
from steelyard.analysis.comparison.compare import Compared, Difference, Pair, PairTests
from steelyard.analysis.judgement.results import Comparison, Metric
from steelyard.analysis.metrics.run_metrics import RunMetrics
from steelyard.analysis.statistics.distributions import holm_levels


class Intervals:
    """The intervals of one study.

    options: labels. counting: the metrics of its verdict. margin: its smallest effect, as a fraction; alpha:
    1 - confidence.
    """

    def __init__(
        self,
        run_metrics: RunMetrics,
        options: Sequence[str],
        counting: Sequence[Metric],
        margin: float,
        alpha: float,
    ) -> None:
        self.run_metrics, self.options, self.margin, self.alpha = run_metrics, options, margin, alpha
        self._tests: dict[tuple[str, int | None], PairTests] = {}
        self._differences: dict[tuple[str, Pair], Difference | None] = {}
        self._steps = _holm_steps({metric.name: self.tests(metric) for metric in counting}, alpha)

    def tests(self, metric: Metric, point: int | None = None) -> PairTests:
        """All options by this metric at one load point; None: over all of them."""
        key = metric.name, point
        if key not in self._tests:
            self._tests[key] = PairTests(self.run_metrics, metric, self.options, self.margin, point)
        return self._tests[key]

    def comparisons(
        self, metric: Metric, pairs: Sequence[Pair], point: int | None = None
    ) -> tuple[Comparison, ...]:
        """Of every pair (option, baseline) that is comparable."""
        if point is None:
            return self.tests(metric).comparisons(pairs, [self._level(metric, pair) for pair in pairs])
        points = len(points_of(self.run_metrics))
        found = self.tests(metric, point).comparisons(pairs, [self.alpha / points] * len(pairs))
        return tuple(replace(c, p_value=min(c.p_value * points, 1.0)) for c in found)

    def against(self, metric: Metric, baseline: str, point: int | None = None) -> Compared:
        """Every option against the baseline, and what could not be compared."""
        tests = self.tests(metric, point)
        pairs = [(option, baseline) for option in tests.options if option != baseline]
        return Compared(self.comparisons(metric, pairs, point), tests.not_compared(self.options, baseline))

    def differences(self, metric: Metric, pairs: Sequence[Pair]) -> dict[Pair, Difference]:
        """Each pair's difference in the metric's unit; without those of which one has no values."""
        left = [pair for pair in pairs if (metric.name, pair) not in self._differences]
        found = self.tests(metric).differences(left, [self._level(metric, pair) for pair in left])
        self._differences |= {(metric.name, pair): found.get(pair) for pair in left}
        known = {pair: self._differences[metric.name, pair] for pair in pairs}
        return {pair: difference for pair, difference in known.items() if difference}

    def _level(self, metric: Metric, pair: Pair) -> float:
        return self._steps.get((metric.name, frozenset(pair)), self.alpha)


def _holm_steps(by_metric: Mapping[str, PairTests], alpha: float) -> dict[tuple[str, frozenset[str]], float]:
    """Level of each metric and pair in Holm's procedure over the metrics."""
    p_values: dict[tuple[str, Pair], float] = {}
    for metric, tests in by_metric.items():
        pairs = [
            (a, b)
            for a, b in combinations(tests.options, 2)
            if tests.comparable((a, b)) and tests.comparable((b, a))
        ]
        found = tests.p_values(pairs)
        p_values |= {(metric, pair): p for pair, p in zip(pairs, found, strict=True)}
    levels: dict[tuple[str, frozenset[str]], float] = {}
    for pair in dict.fromkeys(pair for _, pair in p_values):
        metrics = [metric for metric in by_metric if (metric, pair) in p_values]
        steps = holm_levels([p_values[metric, pair] for metric in metrics], alpha).tolist()
        levels |= {(metric, frozenset(pair)): step for metric, step in zip(metrics, steps, strict=True)}
    return levels
