"""One interval per pair of options, metric and load point, whatever shows it: verdict, table or reason.

Over all load points together the metrics that a verdict counts are as many chances to err, so Holm's
procedure (1979) goes over them, and each interval has the level of its step: it leaves out 1 exactly when
the metric counts for the verdict. At single load points, these are as many chances (Bonferroni). All other
intervals have the level of the study.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from steelyard.analysis.comparison.block_table import points_of
from steelyard.analysis.comparison.compare import Difference, Pair, PairTests
from steelyard.analysis.judgement import Comparison, Metric
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
        self._differences: dict[str, dict[Pair, Difference | None]] = {}
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
            return self.tests(metric).comparisons(self._levels(metric, pairs))
        points = len(points_of(self.run_metrics))
        found = self.tests(metric, point).comparisons(dict.fromkeys(pairs, self.alpha / points))
        return tuple(replace(c, p_value=min(c.p_value * points, 1.0)) for c in found)

    def against(self, metric: Metric, baseline: str, point: int | None = None) -> tuple[Comparison, ...]:
        """Every option against the baseline."""
        options = self.tests(metric, point).options
        return self.comparisons(metric, [(one, baseline) for one in options if one != baseline], point)

    def differences(self, metric: Metric, pairs: Sequence[Pair]) -> dict[Pair, Difference]:
        """Each pair's difference in the metric's unit; without those of which one has no values."""
        known = self._differences.setdefault(metric.name, {})
        left = self._levels(metric, [pair for pair in pairs if pair not in known])
        known |= dict.fromkeys(left) | self.tests(metric).differences(left)
        return {pair: difference for pair in pairs if (difference := known[pair])}

    def _levels(self, metric: Metric, pairs: Sequence[Pair]) -> dict[Pair, float]:
        return {pair: self._steps.get((metric.name, frozenset(pair)), self.alpha) for pair in pairs}


def _holm_steps(by_metric: Mapping[str, PairTests], alpha: float) -> dict[tuple[str, frozenset[str]], float]:
    """Level of each metric and pair in Holm's procedure over the metrics."""
    by_pair: dict[Pair, dict[str, float]] = {}
    for metric, tests in by_metric.items():
        for pair, p in zip(tests.pairs, tests.p_values(tests.pairs), strict=True):
            by_pair.setdefault(pair, {})[metric] = p
    return {
        (metric, frozenset(pair)): step
        for pair, p_values in by_pair.items()
        for metric, step in zip(p_values, holm_levels([*p_values.values()], alpha).tolist(), strict=True)
    }
