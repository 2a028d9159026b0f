"""The judgement as rows of one table: options from the fastest to the slowest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from steelyard import quantities as fmt
from steelyard.analysis.judgement.results import (
    Comparison,
    Effect,
    Estimate,
    Judgement,
    Metric,
    Outcome,
)
from steelyard.report.about.about import About

# what stands for throughput where there is none
_WORK = ("score", "query_geomean_ms")

MARKS: dict[Outcome, str] = {
    "better": "▲",
    "worse": "▼",
    "equivalent": "=",
    "inconclusive": "~",
    "different": "≠",
}
MARKS_MEAN = "▲ better, ▼ worse, = equivalent, ~ no difference shown"


class _AtPoint(Protocol):
    @property
    def clients(self) -> int | None: ...


_Item = TypeVar("_Item", bound=_AtPoint)


@dataclass(frozen=True)
class Headline:
    """The metrics that every report shows; None where the study did not measure it.

    throughput: of a program, its total score; of queries, the geometric mean of their times, and of an
    emulated guest its instruction time, of which less is better. each: the score of one copy.
    """

    throughput: Metric | None
    cpu: Metric | None
    p50: Metric | None
    p99: Metric | None
    each: Metric | None

    @property
    def work(self) -> str:
        """How a table calls the work done at one point: TPS, lookups/s, a score's unit, or what it took."""
        unit = self.throughput.unit if self.throughput else ""
        if self.throughput and self.throughput.name == "query_geomean_ms":
            return "geomean"
        if self.throughput and (not unit or self.throughput.better == "lower"):
            return heading(self.throughput).lower()
        return "TPS" if unit == "transactions/s" else unit

    def work_over(self, about: About, short: bool = False) -> str:
        """The same in the table of options, where several points are one figure: no rate of any of them.

        short: for a terminal.
        """
        if not (over := over_points(about)):
            return self.work
        if not short:
            return f"geometric mean over {over}"
        unit = {"TPS": "/s", "geomean": ""}.get(self.work, f" {self.work}")
        return f"mean{unit}, {over.replace(' to ', '–', 1)}"

    def done(self, fit: Estimate | None, rate: Callable[[float, float, float], str]) -> str:
        """The work done as a cell: with its unit where it is a time, as `rate` has it where it is none."""
        if fit is None or self.throughput is None:
            return fmt.MISSING
        if self.throughput.better == "lower":
            return fmt.interval(fit.value, fit.low, fit.high, self.throughput.unit)
        return rate(fit.value, fit.low, fit.high)

    def judged(self) -> list[Metric]:
        """Those that get a picture of ratios: throughput, CPU, p99."""
        return [metric for metric in (self.throughput, self.cpu, self.p99) if metric]


@dataclass(frozen=True)
class Row:
    """One option. comparison: of throughput with the baseline; None for the baseline itself."""

    label: str
    is_baseline: bool
    is_winner: bool
    throughput: Estimate | None
    comparison: Comparison | None
    cpu: Estimate | None
    p50: Estimate | None
    p99: Estimate | None

    @property
    def mark(self) -> str:
        """The outcome as one sign; `·` for the baseline."""
        return MARKS[self.comparison.outcome] if self.comparison else "·"


def headline(metrics: Sequence[Metric]) -> Headline:
    """Finds the metrics of equal rank by their names (units last: server_cpu_us_per_txn)."""
    return Headline(
        throughput=_first(
            metrics,
            lambda name: name.startswith(("throughput", "tps", "instruction")) or name in _WORK,
        ),
        cpu=_first(metrics, lambda name: "server_cpu" in name and name.endswith("_per_txn"))
        or _first(metrics, lambda name: name == "cpu_us_per_score"),
        p50=_first(metrics, lambda name: "p50" in name.split("_")),
        p99=_first(metrics, lambda name: "p99" in name.split("_")),
        each=_first(metrics, lambda name: name == "score_per_instance"),
    )


def over_points(about: About, before: str = "") -> str:
    """`1 to 8 clients`: over what a figure of all points together is a mean; '' where there is one point."""
    numbers = sorted(set(about.phases.clients))
    return f"{before}{numbers[0]} to {numbers[-1]} {about.points_are}" if len(numbers) > 1 else ""


def summary(about: About) -> str:
    """How the figures of options are summarised over runs: what stands before their intervals."""
    return f"geometric means{over_points(about, ' over ')}"


def legend(found: Headline) -> str:
    """What the marks of rows mean, and of which metric they tell: a row may win one and lose another."""
    return f"{found.throughput.title}: {MARKS_MEAN}" if found.throughput else MARKS_MEAN


def heading(metric: Metric) -> str:
    """`Server CPU per transaction` for a metric titled `server CPU` in us/txn."""
    title = metric.title[:1].upper() + metric.title[1:]
    if not metric.name.endswith(("_per_txn", "_per_score")):
        return title
    return f"{title} per {metric.work}"


def work_of(judgement: Judgement) -> str:
    """One of what is done, of which costs are counted: a transaction, a lookup, a round."""
    cpu = headline(judgement.metrics).cpu
    return (cpu.work if cpu else "") or "transaction"


def ranked(judgement: Judgement) -> list[Row]:
    """A row an option, the best work done first; the study's order where none was measured."""
    found = headline(judgement.metrics)
    fits = {
        key: {item.option: item for item in _of(judgement.estimates, metric)}
        for key, metric in vars(found).items()
    }
    against = {item.option: item for item in _of(judgement.comparisons, found.throughput)}
    out = [
        Row(
            label=label,
            is_baseline=label == judgement.baseline,
            is_winner=label == judgement.verdict.winner,
            throughput=fits["throughput"].get(label),
            comparison=against.get(label),
            cpu=fits["cpu"].get(label),
            p50=fits["p50"].get(label),
            p99=fits["p99"].get(label),
        )
        for label in judgement.options
    ]
    sign = 1 if found.throughput and found.throughput.better == "lower" else -1
    return sorted(out, key=lambda row: sign * row.throughput.value if row.throughput else 0.0)


def comparisons_of(judgement: Judgement, metric: Metric) -> list[Comparison]:
    """The comparisons of one metric over all points, in the order of the ranking."""
    place = {row.label: number for number, row in enumerate(ranked(judgement))}
    return sorted(_of(judgement.comparisons, metric), key=lambda item: place.get(item.option, len(place)))


def main_factor(judgement: Judgement, about: About) -> str | None:
    """The factor that explains most of the throughput; the first factor where none is estimated."""
    metric = headline(judgement.metrics).throughput
    single = [
        effect
        for effect in judgement.effects
        if len(effect.factors) == 1 and (metric is None or effect.metric == metric.name)
    ]
    if single:
        return max(single, key=lambda effect: effect.share).factors[0]
    return about.factors[0].name if about.factors else None


def effects_of(judgement: Judgement, metric: Metric) -> list[Effect]:
    """Effects on one metric, the largest share first."""
    mine = [effect for effect in judgement.effects if effect.metric == metric.name]
    return sorted(mine, key=lambda effect: -effect.share)


def spoken_of(judgement: Judgement) -> str | None:
    """The option that the report explains: the winner, or the best other when that is the baseline."""
    winner = judgement.verdict.winner
    if winner and winner != judgement.baseline:
        return winner
    others = [row.label for row in ranked(judgement) if not row.is_baseline]
    return others[0] if others else None


def at_one_point(items: Iterable[_Item]) -> list[_Item]:
    """Those over all points together; where there are none, those at the most clients."""
    kept = list(items)
    if any(item.clients is None for item in kept):
        return [item for item in kept if item.clients is None]
    most = max((item.clients or 0 for item in kept), default=0)
    return [item for item in kept if item.clients == most]


class _OfMetric(_AtPoint, Protocol):
    @property
    def metric(self) -> str: ...


_Measured = TypeVar("_Measured", bound=_OfMetric)


def _of(items: Iterable[_Measured], metric: Metric | None) -> list[_Measured]:
    if metric is None:
        return []
    return at_one_point(item for item in items if item.metric == metric.name)


def _first(metrics: Sequence[Metric], suits: _Suits) -> Metric | None:
    return next((metric for metric in metrics if suits(metric.name)), None)


class _Suits(Protocol):
    def __call__(self, name: str, /) -> bool: ...
