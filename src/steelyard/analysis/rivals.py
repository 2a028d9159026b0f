"""Who beats whom, by two measures of equal rank: work done, and what it costs the server.

Closed loop: throughput and server CPU per transaction. Open loop: the rate is given, so p99
latency takes the place of throughput. All pairs are tested (Holm within a metric); for one pair,
the two metrics are two chances to err, so Holm is applied over them once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from steelyard.analysis import tails
from steelyard.analysis.comparison import ALPHA, pairs
from steelyard.analysis.costs import SERVER_CPU
from steelyard.analysis.measures import Measures, foremost
from steelyard.analysis.queries import GEOMEAN
from steelyard.analysis.results import Comparison, Metric, Outcome
from steelyard.study.spec import Study

_OPPOSITE: dict[Outcome, Outcome] = {"better": "worse", "worse": "better"}


@dataclass(frozen=True)
class Duel:
    """One option against another, metric by metric; outcomes are the option's."""

    option: str
    rival: str
    by_metric: tuple[tuple[Metric, Comparison], ...]

    def _says(self, outcome: Outcome) -> bool:
        return any(comparison.outcome == outcome for _, comparison in self.by_metric)

    @property
    def won(self) -> bool:
        """Better by at least one metric, and by none worse."""
        return self._says("better") and not self._says("worse")

    @property
    def lost(self) -> bool:
        """Worse by at least one metric, and by none better."""
        return self._says("worse") and not self._says("better")

    @property
    def torn(self) -> bool:
        """Better by one metric and worse by another."""
        return self._says("better") and self._says("worse")

    @property
    def equal(self) -> bool:
        """Equivalent by every metric."""
        return all(comparison.outcome == "equivalent" for _, comparison in self.by_metric)


@dataclass(frozen=True)
class Rivals:
    """Options that could be compared, the fastest first; metrics: those that count, in order."""

    options: tuple[str, ...]
    metrics: tuple[Metric, ...]
    duels: dict[tuple[str, str], Duel]

    def beaten_by(self, option: str) -> list[str]:
        """Options that this one beats."""
        return [o for o in self.options if o != option and self.duels[option, o].won]

    def not_beaten_by(self, option: str) -> list[str]:
        """Options that it cannot be said to beat."""
        return [o for o in self.options if o != option and not self.duels[option, o].won]

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
    measures: Measures, metrics: Sequence[Metric], options: Sequence[str], margin: float
) -> Rivals | None:
    """Every pair both ways; None when fewer than two options can be compared by the first metric."""
    found = {m: pairs(measures, m, options, margin) for m in metrics}
    first = found[metrics[0]] if metrics else ()
    if not first:
        return None
    both_ways: dict[tuple[str, str], list[tuple[Metric, Comparison]]] = {}
    for metric, comparisons in found.items():
        for c in comparisons:
            both_ways.setdefault((c.option, c.baseline), []).append((metric, c))
            both_ways.setdefault((c.baseline, c.option), []).append((metric, turned(c)))
    compared = {c.option for c in first} | {c.baseline for c in first}
    ordered = _fastest_first([o for o in options if o in compared], metrics[0], both_ways)
    duels = {
        (a, b): Duel(a, b, tuple(_doubting(entries)))
        for (a, b), entries in both_ways.items()
        if a in compared and b in compared
    }
    return Rivals(tuple(ordered), tuple(metrics), duels)


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


def _fastest_first(
    options: list[str],
    metric: Metric,
    comparisons: dict[tuple[str, str], list[tuple[Metric, Comparison]]],
) -> list[str]:
    def ratio(option: str) -> float:
        if option == options[0]:
            return 1.0
        entries = comparisons[option, options[0]]
        return next(c.ratio for m, c in entries if m == metric)

    return sorted(options, key=ratio, reverse=metric.better == "higher")


def _doubting(entries: list[tuple[Metric, Comparison]]) -> list[tuple[Metric, Comparison]]:
    """A difference that does not stand when both metrics are counted as chances is no finding."""
    adjusted = tails.holm([c.p_value for _, c in entries])
    return [
        (m, replace(c, outcome="inconclusive") if c.outcome in _OPPOSITE and p > ALPHA else c)
        for (m, c), p in zip(entries, adjusted, strict=True)
    ]
