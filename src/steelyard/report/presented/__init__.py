"""A judgement made ready to show, once: terminal, page, Markdown, JSON and images all take this noun."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from steelyard.analysis.judgement import Comparison, Effect, Headlines, Judgement, Metric
from steelyard.analysis.judgement.scaling import Scaling
from steelyard.bundle.series.read import Series
from steelyard.report.about import About, Texts
from steelyard.report.presented.ranking import Footnote, Row, footnotes, of_metric, ranked, shown_at
from steelyard.report.presented.words import marks_mean

_COLOURS_MAX = 8


@dataclass(frozen=True)
class Presented:
    """What every way of showing takes.

    series: `Series()` for what shows no chart. overlays: scaling of other bundles, by name, drawn behind it.
    """

    judgement: Judgement
    series: Series
    about: About
    overlays: Sequence[tuple[str, Sequence[Scaling]]] = ()

    @cached_property
    def footnotes(self) -> Sequence[Footnote]:
        """Notices of the study and of its comparisons."""
        return footnotes(self.judgement)

    @cached_property
    def ranking(self) -> Sequence[Row]:
        """One row per option, the best first."""
        return ranked(self.judgement, self.footnotes)

    @cached_property
    def comparisons(self) -> Mapping[str, Sequence[Comparison]]:
        """By metric, over all load points, in the order of the ranking."""
        place = {row.label: number for number, row in enumerate(self.ranking)}
        found, (clients, _) = self.judgement.comparisons, shown_at(self.judgement)
        return {
            metric.name: sorted(of_metric(found, metric, clients), key=lambda item: place[item.option])
            for metric in self.judgement.metrics
        }

    @cached_property
    def palette(self) -> "Palette":
        """Colours of the options."""
        return _palette_of(self.judgement, self.about)

    @property
    def leading(self) -> str | None:
        """The option that the report explains: the winner, or the best other where the baseline wins."""
        winner = self.judgement.verdict.winner
        if winner and winner != self.judgement.baseline:
            return winner
        return next((row.label for row in self.ranking if not row.is_baseline), None)

    def over(self, before: str = "", at: str = "") -> str:
        """`1 to 8 clients`: the load points of which one figure is a mean; of one of several: at, and it."""
        (_, points), about = shown_at(self.judgement), self.about
        if len(points) > 1:
            return f"{before}{points[0]} to {points[-1]} {about.points_are}"
        return f"{at}{about.count(points[0])}" if at and points else ""

    @property
    def headlines(self) -> Headlines:
        """The metrics that every report shows, by role."""
        return self.judgement.headlines

    @property
    def compared(self) -> bool:
        """Whether there is a baseline to speak of: more than one option."""
        return len(self.ranking) > 1

    @property
    def judged(self) -> list[Metric]:
        """Those that get a chart of ratios: work done, CPU, p99; the foremost of them first."""
        roles = self.headlines
        return [m for m in dict.fromkeys((roles.foremost, roles.work, roles.cpu, roles.p99)) if m]

    @property
    def cost_of(self) -> str:
        """One of what costs are counted for: a transaction, a lookup, a round."""
        cpu = self.headlines.cpu
        return (cpu.work if cpu else "") or "transaction"

    @property
    def blocks(self) -> list[int]:
        """Numbers of blocks behind the estimates of the work done, each once, ascending."""
        return sorted({row.work.blocks for row in self.ranking if row.work})

    @property
    def summary(self) -> str:
        """How the figures of options are summarised over runs, and whether with intervals."""
        intervals = "no interval" if self.blocks in ([], [1]) else "95 % intervals"
        return f"{self.mean}s{self.over(' over ', ' at ')}, {intervals}"

    @property
    def mean(self) -> str:
        """Kind of mean of the options' figures."""
        work = self.headlines.work
        name = work.name if work else ""
        zeros = any(c.metric == name and c.mean == "mean" for c in self.judgement.comparisons)
        # of logarithms no end is 0 or negative
        plain = any(e.metric == name and e.low <= 0 < e.blocks - 1 for e in self.judgement.estimates)
        return "mean" if zeros or plain else "geometric mean"

    @property
    def legend(self) -> str:
        """What rows' marks mean, and of which metric: a row may win one, lose another; '': none compared."""
        foremost = self.headlines.foremost
        return f"{foremost.title}: {self.marks_mean}" if foremost and self.marks_mean else self.marks_mean

    @property
    def marks_mean(self) -> str:
        """What the marks of rows mean; '' where nothing is compared."""
        other = "! other work than the baseline: figures of time do not compare"
        marks = marks_mean(row.comparison for row in self.ranking if row.comparison)
        return f"{other}; {marks}" if any(row.other_work for row in self.ranking) else marks

    @property
    def order(self) -> str:
        """The order of the rows: `from the fastest to the slowest`; '' where they have no figures."""
        if self.headlines.foremost is None:
            return ""
        if latency := self.headlines.latency:
            return f"from the lowest {latency.title} to the highest"
        return "from the fastest to the slowest"

    @property
    def resolution(self) -> str:
        """What the study could tell apart, or why that is not known; '' where nothing is compared."""
        precision, foremost = self.judgement.precision, self.headlines.foremost
        if foremost is None or (precision.resolution_percent is None and not precision.unknown):
            return ""
        found = precision.resolution(foremost.title)
        return found if precision.unknown else f"this study {found}"

    def effects(self, metric: Metric) -> list[Effect]:
        """Effects on one metric, the largest share first, as the judgement has them."""
        return [effect for effect in self.judgement.effects if effect.metric == metric.name]


@dataclass(frozen=True)
class Palette:
    """The names that have a colour of their own, and which of them an option has.

    of: the name that the colour stands for, by option: the option itself, or, with more than
    eight options, its level of the factor that matters most. domain: all such names, in order.
    """

    title: str
    domain: tuple[str, ...]
    of: Texts

    @property
    def by_option(self) -> bool:
        """Whether each option has a colour of its own."""
        return self.title == "option"


def _palette_of(judgement: Judgement, about: About) -> Palette:
    """Colours by option; by the most important factor's level when there are more than eight."""
    options = judgement.options
    if len(options) <= _COLOURS_MAX:
        return Palette("option", options, {label: label for label in options})
    factor = _main_factor(judgement, about)
    levels = {label: about.option_levels.get(label, {}).get(factor or "", "other") for label in options}
    domain = tuple(dict.fromkeys(levels.values()))
    if factor is None or len(domain) > _COLOURS_MAX:
        return Palette("options", ("all",), dict.fromkeys(options, "all"))
    return Palette(factor, domain, levels)


def _main_factor(judgement: Judgement, about: About) -> str | None:
    """The factor that explains most of the foremost metric; the first factor where none is estimated."""
    foremost = judgement.headlines.foremost
    single = [
        effect
        for effect in judgement.effects
        if len(effect.factors) == 1 and (foremost is None or effect.metric == foremost.name)
    ]
    if single:
        return max(single, key=lambda effect: effect.share).factors[0]
    return about.factors[0].name if about.factors else None
