"""Compares bundles of the same study: another machine, another kernel, another day.

Runs of two bundles were not interleaved, so nothing separates the option from the hour and the place where it
ran: Welch's t (1947) on the logs of the values behind the report's own figures, corrected by Holm (1979) over
all metrics, options, load points and bundles that are printed together. An interval has the level of its
step in Holm's procedure: it leaves out 1 exactly where a difference is proven. What differs between the two
bundles (settings, version, machine) and which runs were disturbed is listed beside the result.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.analysis.comparison.across import Pair, short_names
from steelyard.analysis.comparison.block_table import estimates, points_of, values_of
from steelyard.analysis.comparison.notices import error_rates
from steelyard.analysis.comparison.unlike import (
    SERVER_VERSION,
    Environment,
    Named,
    differences,
    other_rows,
    unlike_facts,
    unlike_machines,
    unlike_plans,
    unlike_work,
)
from steelyard.analysis.judgement import FEWEST_BLOCKS, Comparison, Estimate, Metric, Notice, Outcome
from steelyard.analysis.metrics.run_metrics import P99, THROUGHPUT, RunMetrics, compute_run_metrics, foremost
from steelyard.analysis.statistics import distributions
from steelyard.analysis.statistics.distributions import ALPHA, Floats, Welch, welch
from steelyard.analysis.validity.disturbance import disturbed
from steelyard.analysis.validity.equal_work import meant_to_differ
from steelyard.bundle.evidence import Evidence, grouped
from steelyard.quantities import count, listed, percent

_WIDE = 500.0  # half-width of an interval of logarithms beyond which it has no end


@dataclass(frozen=True)
class BundleComparison:
    """Options of `there` against the same of `here`. In comparisons, baseline is the bundle's name.

    levels_here, levels_there: the option's own level in each, one per comparison, in the same order. tests:
    number of comparisons that intervals and p-values are corrected for, those of other bundles included.
    differences: what is compared: version, settings, and the plan where it is not the same; a sentence each.
    uncertain: notices that stand before the result.
    unlike_work: in what the work differs, where it was compared nevertheless. counted: metrics without a
    test, which explain the others; counted_here, counted_there: the option's level of each, as above.
    short: the names here and there in sentences; differ: by what the machines and the days differ;
    answer: a sentence per option on the foremost metric.
    """

    here: str
    there: str
    metrics: tuple[Metric, ...]
    comparisons: tuple[Comparison, ...]
    notices: tuple[Notice, ...]
    uncertain: tuple[Notice, ...]
    points_are: str
    levels_here: tuple[Estimate, ...]
    levels_there: tuple[Estimate, ...]
    tests: int
    differences: tuple[str, ...]
    unlike_work: tuple[str, ...]
    counted: tuple[Metric, ...]
    counted_here: tuple[Estimate, ...]
    counted_there: tuple[Estimate, ...]
    short: tuple[str, str] = ("", "")
    differ: str = ""
    answer: tuple[str, ...] = ()

    @property
    def once(self) -> bool:
        """Whether nothing is tested: one run each."""
        return all(c.standing == "not tested" for c in self.comparisons)


@dataclass(frozen=True)
class _Side:
    """One of two bundles. failing: share of failed transactions by option, where it is beyond the limit."""

    name: str
    evidence: Evidence
    environment: Environment
    run_metrics: RunMetrics
    failing: Mapping[str, float]

    @classmethod
    def of(cls, named: Named) -> "_Side":
        """With what is computed once."""
        limit_percent = named[1].study.plan.error_rate_limit_percent
        rates = error_rates(run_metrics := compute_run_metrics(named[1]))
        failing = {option: rate for option, rate in rates.items() if 100 * rate > limit_percent}
        return cls(*named, run_metrics, failing)

    def levels(self, metric: Metric, point: int) -> dict[str, tuple[Estimate, Floats]]:
        """By option, its level as the bundle's own report has it, and the values behind it."""
        values = values_of(self.run_metrics, metric.name, self.evidence.labels, point)
        found = estimates(self.run_metrics, metric, [*values], point)
        return {level.option: (level, values[level.option]) for level in found}

    def measured(self, metric: Metric) -> set[tuple[str, int]]:
        """Options and numbers of clients at which it has a level."""
        if self.run_metrics.metric(metric.name) is None:
            return set()
        return {
            (option, clients)
            for point, clients in points_of(self.run_metrics).items()
            for option in values_of(self.run_metrics, metric.name, self.evidence.labels, point)
        }


@dataclass(frozen=True)
class _Test:
    metric: Metric
    here: Estimate
    there: Estimate
    found: Welch
    gains: bool  # whether more throughput or less cost is one: not where transactions failed


def compare_bundles(of_here: Named, others: Sequence[Named]) -> list[BundleComparison]:
    """Compares each of the other bundles with the one here."""
    here, sides = _Side.of(of_here), [_Side.of(other) for other in others]
    tests = [list(_tests(here, there)) for there in sides]
    p_values = [test.found.p_value for mine in tests for test in mine if test.found.runs > 1]
    adjusted, levels = distributions.holm(p_values), distributions.holm_levels(p_values, ALPHA)
    corrected = zip(adjusted.tolist(), levels.tolist(), strict=True)
    study = here.evidence.study
    names = short_names([of_here[0], *(name for name, _, _ in others)])
    made = [
        [
            # one run is not tested
            _comparison(test, here, *(next(corrected) if test.found.runs > 1 else (1.0, ALPHA)))
            for test in mine
        ]
        for mine in tests
    ]
    explained = [list(_counted(here, there)) for there in sides]
    return [
        BundleComparison(
            here=here.name,
            there=there.name,
            metrics=tuple(dict.fromkeys(test.metric for test in mine)),
            comparisons=tuple(comparisons),
            uncertain=tuple(_uncertain(here, there, mine)),
            notices=tuple(_notices(here, there)),
            points_are=study.workload.points_are,
            levels_here=tuple(test.here for test in mine),
            levels_there=tuple(test.there for test in mine),
            tests=len(p_values),
            differences=tuple(differences(study, there.evidence.study, here.environment, there.environment)),
            unlike_work=tuple(unlike_work(of_here, other)),
            counted=tuple(dict.fromkeys(metric for metric, _, _ in counted)),
            counted_here=tuple(level for _, level, _ in counted),
            counted_there=tuple(level for _, _, level in counted),
            short=(short := (names[here.name], names[there.name])),
            differ=unlike_machines(of_here, other),
            answer=tuple(_answer(here, there, zip(mine, comparisons, strict=True), short)),
        )
        for other, there, mine, comparisons, counted in zip(
            others, sides, tests, made, explained, strict=True
        )
    ]


def _answer(
    here: _Side, there: _Side, made: Iterable[tuple[_Test, Comparison]], names: tuple[str, str]
) -> Iterator[str]:
    metric = foremost(here.evidence.study, here.run_metrics)
    rows = grouped((c.option, (c, test.here, test.there)) for test, c in made if test.metric == metric)
    cores = here.evidence.topology.cores, there.evidence.topology.cores
    labels = here.evidence.labels
    return Pair(*names, cores, here.evidence.workload, len(labels) > 1).sentences(metric, rows)


def _both(here: _Side, there: _Side, metric: Metric) -> Iterator[list[tuple[Estimate, Floats]]]:
    """Level and values in each, at each number of clients, of each option of both."""
    point_there = {clients: point for point, clients in points_of(there.run_metrics).items()}
    for point, clients in points_of(here.run_metrics).items():
        if clients in point_there:
            sides = here.levels(metric, point), there.levels(metric, point_there[clients])
            yield from ([side[option] for side in sides] for option in sides[0] if option in sides[1])


def _counted(here: _Side, there: _Side) -> Iterator[tuple[Metric, Estimate, Estimate]]:
    """Pages found in the server's buffers and read into them: 0 has no ratio, so nothing is tested."""
    metrics = (*here.run_metrics.metrics, *there.run_metrics.metrics)
    for metric in {metric.name: metric for metric in metrics if metric.kind == "buffers"}.values():
        for (mine, _), (theirs, _) in _both(here, there, metric):
            yield metric, mine, theirs


def _tests(here: _Side, there: _Side) -> Iterator[_Test]:
    no_gain = {*here.failing, *there.failing}
    if here.run_metrics.engine_bound or there.run_metrics.engine_bound:
        no_gain |= {THROUGHPUT.name, P99.name}
    for metric in here.run_metrics.headlines:
        if there.run_metrics.metric(metric.name) is None:
            continue
        for (mine, values), (theirs, others) in _both(here, there, metric):
            # 0 has no logarithm
            if min(*values, *others) > 0 and (found := welch(np.log(values), np.log(others))):
                gains = metric.better != "neither" and not no_gain & {metric.name, mine.option}
                yield _Test(metric, mine, theirs, found, gains)


def _comparison(test: _Test, here: _Side, p_value: float, alpha: float) -> Comparison:
    """p_value: corrected. alpha: of the interval."""
    found, difference = test.found, test.found.difference
    margin = here.evidence.margin
    wide, narrow = found.half_width(alpha), found.half_width(2 * ALPHA)
    outcome: Outcome = "better" if (difference > 0) == (test.metric.better == "higher") else "worse"
    if not test.gains:
        outcome = "different"
    if p_value >= ALPHA:
        outcome = "inconclusive"
    if abs(difference) + narrow < math.log1p(margin):
        outcome = "equivalent"
    return Comparison(
        metric=test.metric.name,
        option=test.here.option,
        baseline=here.name,
        clients=test.here.clients,
        ratio=math.exp(difference),
        low=math.exp(difference - wide),
        high=math.exp(difference + wide) if wide < _WIDE else math.inf,
        p_value=p_value if found.runs > 1 else math.nan,
        blocks=found.runs,
        margin=margin,
        outcome=outcome,
    )


def _uncertain(here: _Side, there: _Side, tests: Sequence[_Test]) -> Iterator[Notice]:
    """What a verdict would begin with: other work, few blocks, disturbed runs of either."""
    yield from other_rows(here.evidence, there.evidence, meant_to_differ(here.evidence.workload))
    fewest = min((test.found.runs for test in tests), default=FEWEST_BLOCKS)
    if fewest == 1:
        once = sorted({test.here.option for test in tests if test.found.runs == 1})
        each = (
            "one run each"
            if len(once) == len(here.evidence.labels)
            else f"one run of {listed(once)} in one bundle"
        )
        yield Notice("few-blocks", f"{each}: no interval")
    elif fewest < FEWEST_BLOCKS:
        text = f"leaning, too few blocks to say: {count(fewest, 'block')} in the bundle with fewer"
        yield Notice("few-blocks", f"{text}, a verdict needs {FEWEST_BLOCKS} in each")
    for side in (here, there):
        for option, rate in side.failing.items():
            text = f"{side.name}: {percent(rate)} of the transactions of {option} failed"
            yield Notice("errors", f"{text}: a difference to it is no gain", option)
        if side.run_metrics.engine_bound:
            text = f"{side.name}: the load engine was at its limit: throughput and latency are the engine's"
            yield Notice("engine-bound", text)
        if found := disturbed(side.evidence).found:
            runs = tuple(sorted(found))
            text = f"{side.name}: disturbed, the result is uncertain: {count(len(runs), 'run')}"
            text += (
                f" of {len(side.evidence.rows('from runs'))} ({listed([str(run) for run in runs], most=12)})"
            )
            worst = max(found, key=lambda run: found[run].share)
            sentence = found[worst].sentence(side.evidence.workload.WHO, f"in run {worst}")
            yield Notice("disturbed", f"{text}: {sentence}", runs=runs)


def _notices(here: _Side, there: _Side) -> Iterator[Notice]:
    """The machine, what was left out of either, probes and blocks."""
    began = [side.evidence.rows("select run, started_at from runs order by run") for side in (here, there)]
    if began[0] == began[1] and all(at for _, at in began[0]):
        yield Notice("same-runs", f"{there.name} is a copy of {here.name}: it has the same runs")
    for side, other in ((here, there), (there, here)):
        if only := {*side.evidence.labels} - {*other.evidence.labels}:
            yield Notice("not-compared", f"not compared: {listed(sorted(only))}, only in {side.name}")
        for metric in side.run_metrics.headlines:
            gone = sorted(side.measured(metric) - other.measured(metric))
            if gone := [f"{option} at {n}" for option, n in gone if option in other.evidence.labels]:
                text = f"not compared: {metric.title} of {listed(gone)}, only in {side.name}"
                yield Notice("not-compared", text)
    for metric in here.run_metrics.headlines:
        for (mine, values), (_, others) in _both(here, there, metric):
            if min(*values, *others) <= 0:
                text = f"not compared: {metric.title} of {mine.option} is not above 0 in some runs"
                yield Notice("not-compared", text, mine.option)
    yield Notice("not-interleaved", "the runs of the two bundles were not interleaved")
    for fact, a, b in unlike_facts(here.environment, there.environment, compared=[SERVER_VERSION]):
        yield Notice("hidden-factor-differs", f"{fact}: {a} here, {b} there")
    for side in (here, there):
        for code, text in side.evidence.rows("select code, text from notices where run = 0"):
            yield Notice(code, f"{side.name}: {text}")
    yield from unlike_plans(here.evidence.study, there.evidence.study)
