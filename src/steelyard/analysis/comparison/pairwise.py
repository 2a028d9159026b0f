"""Pairwise results, by two metrics of equal rank: work done, and what it costs the server.

Closed loop: throughput and server CPU per transaction. Open loop: the rate is given, so p99 latency takes
the place of throughput.

The leader is chosen by its own results. Its intervals against all others allow for as many chances as
there are others, which holds whichever option is the best (Hsu 1981).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from steelyard.analysis.comparison.compare import Pair, PairTests
from steelyard.analysis.comparison.intervals import Intervals
from steelyard.analysis.comparison.notices import error_rates
from steelyard.analysis.judgement import Comparison, Metric, Outcome
from steelyard.analysis.metrics.measured import SERVER_CPU
from steelyard.analysis.metrics.particular import GEOMEAN
from steelyard.analysis.metrics.run_metrics import ERRORS, P99, RunMetrics, foremost
from steelyard.bundle.evidence import grouped
from steelyard.study.study import Study

_OPPOSITE: dict[Outcome, Outcome] = {"better": "worse", "worse": "better"}


@dataclass(frozen=True)
class PairResult:
    """One option against another, metric by metric; outcomes are the option's.

    failures: error rate of the option less that of the other, 0 where they differ by less than the limit.
    failures_proven: whether the blocks show that difference.
    """

    option: str
    other: str
    by_metric: tuple[tuple[Metric, Comparison], ...]
    failures: float
    failures_proven: bool

    def _any(self, outcome: Outcome) -> bool:
        return any(comparison.outcome == outcome for _, comparison in self.by_metric)

    @property
    def won(self) -> bool:
        """Better by at least one metric and worse by none; more failures exclude it even without proof."""
        better = self._any("better") or (self.failures < 0 and self.failures_proven)
        return better and not self._any("worse") and self.failures <= 0

    @property
    def lost(self) -> bool:
        """Won by the other."""
        worse = self._any("worse") or (self.failures > 0 and self.failures_proven)
        return worse and not self._any("better") and self.failures >= 0

    @property
    def mixed(self) -> bool:
        """Better by one metric and worse by another; failures count as a metric."""
        better = self._any("better") or self.failures < 0
        worse = self._any("worse") or self.failures > 0
        return better and worse

    @property
    def equal(self) -> bool:
        """Equivalent by every metric, failures included."""
        return self.failures == 0 and all(c.outcome == "equivalent" for _, c in self.by_metric)

    @property
    def open(self) -> bool:
        """None of these: no result is shown yet."""
        return not (self.won or self.lost or self.mixed or self.equal)


@dataclass(frozen=True)
class Pairwise:
    """Every pair of the options that could be compared, both ways; no options where fewer than two could.

    baseline: of the study. options: the fastest first. metrics: those that count, in order. error_rates:
    share of the transactions that failed, by option.
    """

    baseline: str
    options: tuple[str, ...]
    metrics: tuple[Metric, ...]
    pairs: Mapping[Pair, PairResult]
    error_rates: Mapping[str, float]

    @property
    def with_baseline(self) -> list[PairResult]:
        """The pairs in which the baseline stands second."""
        return [pair for (_, other), pair in self.pairs.items() if other == self.baseline]

    def toward(self, pair: PairResult) -> PairResult:
        """The same pair as tables have it, the baseline second."""
        return self.pairs[pair.other, pair.option] if pair.option == self.baseline else pair

    @property
    def leader(self) -> str:
        """The fastest of those that no other beats; the fastest of all where they beat in a ring."""
        unbeaten = [o for o in self.options if not any(self.pairs[o, x].lost for x in self.options if x != o)]
        return (unbeaten or self.options)[0]

    @property
    def leading(self) -> PairResult:
        """The leader against the baseline, or against the next best where the baseline leads."""
        first = self.leader
        others = [option for option in self.options if option != first]
        return self.pairs[first, self.baseline if self.baseline in others else others[0]]


def metrics_that_count(study: Study, run_metrics: RunMetrics) -> tuple[Metric, ...]:
    """The two of equal rank, as far as measured; of queries, how long they take. Beside work in the
    background latency takes the place of CPU time, of which it is not known how much each work has used.

    A stream that waits for one query after another leaves CPUs idle that a costlier plan may use; with
    several streams the cost shows in the times themselves. Where the load engine was at its limit of CPU,
    throughput and latency are the engine's and name no winner.
    """
    if run_metrics.work.name == GEOMEAN.name:
        return (run_metrics.work,)
    beside = P99 if study.workload.background_clients else SERVER_CPU
    names = (foremost(study, run_metrics).name, beside.name)
    if run_metrics.engine_bound:
        names = (SERVER_CPU.name,)
    return tuple(filter(None, map(run_metrics.metric, names)))


def pairwise(study: Study, intervals: Intervals, baseline: str) -> Pairwise:
    """Every pair both ways, of the options that can be compared by the first metric that counts."""
    metrics = metrics_that_count(study, intervals.run_metrics)
    both_ways = grouped(
        ((one.option, one.baseline), (metric, one))
        for metric in metrics
        for c in intervals.comparisons(metric, list(_oriented(intervals.tests(metric), baseline)))
        for one in (c, _inverted(c))
    )
    compared = {a for (a, _), entries in both_ways.items() if entries[0][0] == metrics[0]}
    if not compared:
        return Pairwise(baseline, (), metrics, {}, {})
    ordered = sorted(
        (option for option in intervals.options if option in compared),
        key=intervals.tests(metrics[0]).mean,
        reverse=metrics[0].better == "higher",
    )
    rates, limit = error_rates(intervals.run_metrics), study.plan.error_rate_limit_percent / 100
    failures = intervals.tests(ERRORS)
    more = {(a, b): rates.get(a, 0.0) - rates.get(b, 0.0) for a, b in both_ways if {a, b} <= compared}
    tested = [pair for pair, by in more.items() if abs(by) > limit and {*pair} <= {*failures.options}]
    proven = {pair for pair, p in zip(tested, failures.p_values(tested), strict=True) if p <= intervals.alpha}
    results = {
        pair: PairResult(*pair, tuple(both_ways[pair]), by if abs(by) > limit else 0.0, pair in proven)
        for pair, by in more.items()
    }
    return Pairwise(baseline, tuple(ordered), metrics, results, rates)


def _oriented(tests: PairTests, baseline: str) -> Iterator[Pair]:
    """Each pair, the baseline second, as in the tables; but none that is 0 beside one that is not."""
    for a, b in tests.pairs:
        reversed_ = b != baseline and tests.comparable((b, a))
        yield (b, a) if reversed_ or not tests.comparable((a, b)) else (a, b)


def _inverted(comparison: Comparison) -> Comparison:
    """The same, seen from the baseline."""
    c = comparison
    return replace(
        c,
        option=c.baseline,
        baseline=c.option,
        ratio=1 / c.ratio if c.ratio > 0 else float("inf"),
        low=1 / c.high if c.high > 0 else float("inf"),
        high=1 / c.low if c.low > 0 else float("inf"),
        outcome=_OPPOSITE.get(c.outcome, c.outcome),
    )
