"""The options from the best to the worst by the foremost metric, each with its headline estimates."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from steelyard.analysis.judgement import Comparison, Estimate, Judgement, Metric
from steelyard.report.presented.footnotes import Footnote
from steelyard.report.presented.words import MARKS, OTHER_WORK

_ROWS_MAX = 16
_BEST_ROWS = 10


@dataclass(frozen=True)
class Row:
    """One option. comparison: with the baseline by the foremost metric; None for the baseline itself.

    footnotes: numbers of those that are about it, from 1. is_foremost: whether a short table of many
    options has it: the best, the baseline, the last.
    """

    label: str
    is_baseline: bool
    is_winner: bool
    is_foremost: bool
    work: Estimate | None
    comparison: Comparison | None
    cpu: Estimate | None
    p50: Estimate | None
    p99: Estimate | None
    footnotes: tuple[int, ...]
    other_work: bool = False

    @property
    def mark(self) -> str:
        """The outcome as one sign; `·` for the baseline, `!` for an option that did other work than it."""
        if self.other_work:
            return OTHER_WORK
        return MARKS[self.comparison.standing] if self.comparison else "·"


class _OfMetric(Protocol):
    @property
    def metric(self) -> str: ...

    @property
    def clients(self) -> int | None: ...


_Measured = TypeVar("_Measured", bound=_OfMetric)


def ranked(judgement: Judgement, footnotes: Sequence[Footnote]) -> tuple[Row, ...]:
    """One row per option, the best by the foremost metric first; in the study's order where none was."""
    roles = judgement.headlines
    fits = {
        role: {item.option: item for item in of_metric(judgement.estimates, metric)}
        for role, metric in (
            ("work", roles.work),
            ("cpu", roles.cpu),
            ("p50", roles.p50),
            ("p99", roles.p99),
        )
    }
    against = {item.option: item for item in of_metric(judgement.comparisons, roles.foremost)}
    unequal = {one.option for one in judgement.work if not one.meant}
    work = fits["work"]
    rank = fits["p99"] if roles.latency else work
    sign = 1 if roles.foremost and roles.foremost.better == "lower" else -1
    order = sorted(judgement.options, key=lambda label: sign * rank[label].value if label in rank else 0.0)
    return tuple(
        Row(
            label=label,
            is_baseline=label == judgement.baseline,
            is_winner=label == judgement.verdict.winner,
            is_foremost=len(order) <= _ROWS_MAX
            or place < _BEST_ROWS
            or place == len(order) - 1
            or label == judgement.baseline,
            work=work.get(label),
            comparison=against.get(label),
            cpu=fits["cpu"].get(label),
            p50=fits["p50"].get(label),
            p99=fits["p99"].get(label),
            other_work=label in unequal,
            footnotes=tuple(note.number for note in footnotes if note.number and label in note.about),
        )
        for place, label in enumerate(order)
    )


def of_metric(items: Iterable[_Measured], metric: Metric | None) -> list[_Measured]:
    """Those of a metric over all load points together; where there are none, those at the most clients."""
    mine = [item for item in items if metric and item.metric == metric.name]
    if any(item.clients is None for item in mine):
        return [item for item in mine if item.clients is None]
    most = max((item.clients or 0 for item in mine), default=0)
    return [item for item in mine if item.clients == most]
