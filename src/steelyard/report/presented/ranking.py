"""The options from the best to the worst by the foremost metric, each with its headline estimates; notices as
footnotes, equal ones of several options or metrics as one.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import TypeVar

from steelyard.analysis.judgement import Comparison, Estimate, Judgement, Metric, Notice
from steelyard.analysis.judgement.notices import LIMITS, SEVERE
from steelyard.bundle.evidence import grouped
from steelyard.quantities import listed, span_of
from steelyard.report.presented.words import MARKS, OTHER_WORK

_SEVERE, _LIMITS = [*SEVERE], [*LIMITS]
# they change no result and stand in every study of their kind; last in the order, so that numbers stay
ON_THE_PAGE_ONLY = ("not-in-turns",)
_DETAILS_MAX = 4
_RUNS = re.compile(r"\d+(?= runs\b)")


@dataclass(frozen=True)
class Footnote:
    """Equal notices, gathered. about: by option, the details that belong to it; empty: the whole study.

    overall: details that belong to no option. number: its mark at the options that it is about, from 1; None:
    it is about the whole study, so that no option has the mark.
    """

    code: str
    text: str
    about: Mapping[str, tuple[str, ...]]
    runs: tuple[int, ...]
    overall: Sequence[str]
    number: int | None = None

    @property
    def sentence(self) -> str:
        """Its text, with the options that it is about in front unless the text names the only one."""
        if self.overall:
            return f"{listed(self.overall, _DETAILS_MAX)}: {self.text}"
        details = set(self.about.values())
        if not self.about or (
            len(self.about) == 1 and details == {()} and next(iter(self.about)) in self.text
        ):
            return self.text
        # one detail that all options share stands once
        alike = len(self.about) > 1 and len(details) == 1 and details != {()}
        named = [
            f"{option} ({listed(details, _DETAILS_MAX)})" if details and not alike else option
            for option, details in self.about.items()
        ]
        each = f" (each {listed(details.pop(), _DETAILS_MAX)})" if alike else ""
        return f"{listed(named)}{each}: {self.text}"


def footnotes(judgement: Judgement) -> list[Footnote]:
    """Notices of the study and of comparisons.

    By what matters to the verdict: severe ones first, limits of the machine last; of the others those of the
    whole study before those of single options. Those of options are numbered in that order.
    """
    warnings = (notice for item in judgement.comparisons for notice in item.notices)
    alike = grouped(((n.code, _RUNS.sub("", n.text)), n) for n in (*judgement.notices, *warnings))
    found = [_gathered(notices) for notices in alike.values()]
    numbers = count(1)
    return [
        replace(note, number=next(numbers)) if not note.about.keys().isdisjoint(judgement.options) else note
        for note in sorted(found, key=_weight)
    ]


def _weight(footnote: Footnote) -> tuple[int, int]:
    """Less is weightier."""
    if footnote.code in _SEVERE:
        return 0, _SEVERE.index(footnote.code)
    return (2, _LIMITS.index(footnote.code)) if footnote.code in _LIMITS else (1, bool(footnote.about))


def _gathered(notices: Sequence[Notice]) -> Footnote:
    """Notices of one code and text as one."""
    by_option = grouped((notice.subject, notice.detail) for notice in notices)
    details = {option: tuple(filter(len, dict.fromkeys(mine))) for option, mine in by_option.items()}
    overall = details.pop("", ())
    return Footnote(
        code=notices[0].code,
        text=_text([notice.text for notice in notices]),
        about=details,
        runs=tuple(sorted({run for notice in notices for run in notice.runs})),
        overall=overall if not details else (),
    )


def _text(texts: Sequence[str]) -> str:
    """One text for those that differ in a number of runs only: `0 in 2 to 12 runs`."""
    counts = [int(found[0]) for text in texts if (found := _RUNS.search(text))]
    return _RUNS.sub(span_of(counts, str), texts[0], count=1) if counts else texts[0]


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


_Measured = TypeVar("_Measured", Estimate, Comparison)


def ranked(judgement: Judgement, footnotes: Sequence[Footnote]) -> tuple[Row, ...]:
    """One row per option, the best by the foremost metric first; in the study's order where none was."""
    roles, (clients, _) = judgement.headlines, shown_at(judgement)
    fits = {
        role: {item.option: item for item in of_metric(judgement.estimates, getattr(roles, role), clients)}
        for role in ("work", "cpu", "p50", "p99")
    }
    against = {item.option: item for item in of_metric(judgement.comparisons, roles.foremost, clients)}
    unequal = {one.option for one in judgement.work if not one.meant}
    rank = fits["p99" if roles.latency else "work"]
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
            **{role: found.get(label) for role, found in fits.items()},
            comparison=against.get(label),
            other_work=label in unequal,
            footnotes=tuple(note.number for note in footnotes if note.number and label in note.about),
        )
        for place, label in enumerate(order)
    )


def of_metric(items: Iterable[_Measured], metric: Metric | None, clients: int | None) -> list[_Measured]:
    """Those of a metric at a number of clients, or over load points."""
    return [item for item in items if metric and (item.metric, item.clients) == (metric.name, clients)]


def shown_at(judgement: Judgement) -> tuple[int | None, list[int]]:
    """Clients of the figures that stand for options, and the load points of which these are means.

    None: of the points that all options have; the most clients where no figure is of all points.
    """
    foremost = judgement.headlines.foremost
    at = grouped((e.clients, e.option) for e in judgement.estimates if foremost and e.metric == foremost.name)
    numbers = sorted(filter(None, at))
    if None in at or not numbers:
        every = {option for options in at.values() for option in options}
        return None, [n for n in numbers if {*at[n]} == every]
    return numbers[-1], numbers[-1:]
