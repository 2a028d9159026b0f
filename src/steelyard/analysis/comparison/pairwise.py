"""Who beats whom, by two measures of equal rank: work done, and what it costs the server.

Closed loop: throughput and server CPU per transaction. Open loop: the rate is given, so p99
latency takes the place of throughput. For one pair the two metrics are two chances to err, so Holm's
procedure (1979) goes over them, and each interval has the level of its step: it leaves out 1 exactly
when the metric counts for the verdict. The tables show these same comparisons.

The leader is chosen by its own results. Its intervals against all others allow for as many chances as
there are others, which holds whichever option is the best (Hsu 1981).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from steelyard.analysis.comparison.compare import Contest, Pair
from steelyard.analysis.judgement.results import Comparison, Metric, Outcome
from steelyard.analysis.metrics.costs import SERVER_CPU
from steelyard.analysis.metrics.queries import GEOMEAN
from steelyard.analysis.metrics.run_metrics import ERRORS, FAILED, Measures, foremost
from steelyard.study.spec import Study

_OPPOSITE: dict[Outcome, Outcome] = {"better": "worse", "worse": "better"}


@dataclass(frozen=True)
class Duel:
    """One option against another, metric by metric; outcomes are the option's.

    failures: error rate of the option less that of the rival, 0 where they differ by less than the limit.
    failures_proven: whether the blocks show that difference.
    """

    option: str
    rival: str
    by_metric: tuple[tuple[Metric, Comparison], ...]
    failures: float = 0.0
    failures_proven: bool = False

    def _says(self, outcome: Outcome) -> bool:
        return any(comparison.outcome == outcome for _, comparison in self.by_metric)

    @property
    def won(self) -> bool:
        """Better by at least one measure and worse by none; failures are one, and bar without proof."""
        better = self._says("better") or (self.failures < 0 and self.failures_proven)
        return better and not self._says("worse") and self.failures <= 0

    @property
    def lost(self) -> bool:
        """Won by the rival."""
        worse = self._says("worse") or (self.failures > 0 and self.failures_proven)
        return worse and not self._says("better") and self.failures >= 0

    @property
    def torn(self) -> bool:
        """Better by one measure and worse by another; failures are one."""
        better = self._says("better") or self.failures < 0
        worse = self._says("worse") or self.failures > 0
        return better and worse

    @property
    def equal(self) -> bool:
        """Equivalent by every metric, failures too."""
        return self.failures == 0 and all(c.outcome == "equivalent" for _, c in self.by_metric)

    @property
    def open(self) -> bool:
        """None of these: nothing is shown yet."""
        return not (self.won or self.lost or self.torn or self.equal)


@dataclass(frozen=True)
class Rivals:
    """Options that could be compared, the fastest first; metrics: those that count, in order.

    error_rates: share of the transactions that failed, by option.
    """

    options: tuple[str, ...]
    metrics: tuple[Metric, ...]
    duels: dict[Pair, Duel]
    error_rates: Mapping[str, float] = field(default_factory=dict[str, float])

    def not_beaten_by(self, option: str) -> list[str]:
        """Options that it cannot be said to beat."""
        return [o for o in self.options if o != option and not self.duels[option, o].won]

    def against(self, baseline: str) -> dict[tuple[str, str], Comparison]:
        """Comparisons with the baseline by metric and option."""
        return {
            (metric.name, option): comparison
            for (option, rival), duel in self.duels.items()
            if rival == baseline
            for metric, comparison in duel.by_metric
        }

    @property
    def leader(self) -> str:
        """The fastest of those that no other beats; the fastest of all where they beat in a ring."""
        unbeaten = [o for o in self.options if not any(self.duels[o, x].lost for x in self.options if x != o)]
        return (unbeaten or self.options)[0]


def metrics_that_count(study: Study, measures: Measures) -> tuple[Metric, ...]:
    """The two of equal rank, as far as measured; of queries, how long they take.

    A stream that waits for one query after another leaves CPUs idle that a costlier plan may use; with
    several streams the cost shows in the times themselves.
    """
    if measures.work.name == GEOMEAN.name:
        return (measures.work,)
    names = (foremost(study, measures).name, SERVER_CPU.name)
    return tuple(m for m in map(measures.metric, names) if m is not None)


def rivals(
    study: Study, measures: Measures, options: Sequence[str], baseline: str, alpha: float
) -> Rivals | None:
    """Every pair both ways; None when fewer than two options can be compared by the first metric."""
    margin = study.plan.smallest_effect_percent / 100
    metrics = metrics_that_count(study, measures)
    contests = {metric: Contest(measures, metric, options, margin) for metric in metrics}
    both_ways: dict[Pair, list[tuple[Metric, Comparison]]] = {}
    for metric, comparisons in _by_steps(contests, baseline, alpha).items():
        for c in comparisons:
            both_ways.setdefault((c.option, c.baseline), []).append((metric, c))
            both_ways.setdefault((c.baseline, c.option), []).append((metric, turned(c)))
    compared = {a for (a, _), entries in both_ways.items() if entries[0][0] == metrics[0]}
    if not compared:
        return None
    ordered = _fastest_first([o for o in options if o in compared], metrics[0], both_ways)
    rates, limit = error_rates(measures), study.plan.error_rate_limit_percent / 100
    failures = Contest(measures, ERRORS, options, margin)
    duels: dict[Pair, Duel] = {}
    for (a, b), entries in both_ways.items():
        if a in compared and b in compared:
            more = rates.get(a, 0.0) - rates.get(b, 0.0)
            beyond = abs(more) > limit
            proven = beyond and {a, b} <= set(failures.options) and failures.p_values([(a, b)])[0] <= alpha
            duels[a, b] = Duel(a, b, tuple(entries), more if beyond else 0.0, proven)
    return Rivals(tuple(ordered), metrics, duels, rates)


def turned(comparison: Comparison) -> Comparison:
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


def error_rates(measures: Measures) -> dict[str, float]:
    """Share of the transactions that failed, by option: the mean over its runs and points."""
    share = measures.values.get(FAILED)
    if share is None:
        return {}
    labels = dict.fromkeys(map(str, measures.option.tolist()))
    found = {label: share[(measures.option == label) & np.isfinite(share)] for label in labels}
    return {label: float(known.mean()) for label, known in found.items() if len(known)}


def _by_steps(
    contests: Mapping[Metric, Contest], baseline: str, alpha: float
) -> dict[Metric, tuple[Comparison, ...]]:
    """All pairs by each metric, every interval at the level of its step in Holm's procedure.

    The baseline stands second, as in the tables.
    """
    pairs = {
        metric: [
            (a, b) if b == baseline else (b, a)
            for a, b in combinations(contest.options, 2)
            if contest.comparable((b, a)) and contest.comparable((a, b))
        ]
        for metric, contest in contests.items()
    }
    levels: dict[tuple[Metric, Pair], float] = {}
    p_values = {
        (metric, pair): p
        for metric, contest in contests.items()
        for pair, p in zip(pairs[metric], contest.p_values(pairs[metric]), strict=True)
    }
    for pair in dict.fromkeys(pair for _, pair in p_values):
        left = sorted((m for m in contests if (m, pair) in p_values), key=lambda m: p_values[m, pair])
        while left:
            step = alpha / len(left)
            # where this one fails, those after it fail at the same step
            failed = p_values[left[0], pair] > step
            levels |= {(metric, pair): step for metric in (left if failed else left[:1])}
            left = [] if failed else left[1:]
    return {
        metric: contest.comparisons(pairs[metric], [levels[metric, pair] for pair in pairs[metric]])
        for metric, contest in contests.items()
    }


def _fastest_first(
    options: list[str],
    metric: Metric,
    comparisons: dict[Pair, list[tuple[Metric, Comparison]]],
) -> list[str]:
    def ratio(option: str) -> float:
        if option == options[0]:
            return 1.0
        entries = comparisons[option, options[0]]
        return next(c.ratio for m, c in entries if m == metric)

    return sorted(options, key=ratio, reverse=metric.better == "higher")
