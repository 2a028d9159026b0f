"""Compares bundles of the same study: another machine, another kernel, another day.

Runs of two bundles were not interleaved, so nothing separates the option from the hour and the
place where it ran: Welch's t on the values behind the report's own figures, corrected by Holm (1979) over all
metrics, options, load points and bundles that are printed together. An interval has the level of its step in
Holm's procedure: it leaves out 1 exactly where a difference is proven. What differs between the two bundles
(settings, version, machine) and which runs were disturbed is listed beside the result.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.analysis.comparison.block_table import points_of
from steelyard.analysis.comparison.compare import ALPHA
from steelyard.analysis.comparison.estimates import estimates, values_of
from steelyard.analysis.comparison.notices import error_rates
from steelyard.analysis.comparison.same_options import Named
from steelyard.analysis.comparison.unlike import (
    SERVER_VERSION,
    differences,
    unlike_facts,
    unlike_plans,
    unlike_work,
)
from steelyard.analysis.comparison.welch import Welch, welch
from steelyard.analysis.judgement.outcome import FEWEST_BLOCKS, Outcome
from steelyard.analysis.judgement.results import Comparison, Estimate, Metric, Notice
from steelyard.analysis.metrics.run_metrics import P99, THROUGHPUT, RunMetrics, compute_run_metrics
from steelyard.analysis.statistics import distributions
from steelyard.analysis.statistics.distributions import Floats
from steelyard.analysis.validity.disturbance import disturbed
from steelyard.bundle.evidence.evidence import Evidence
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
    """

    here: str
    there: str
    metrics: tuple[Metric, ...]
    comparisons: tuple[Comparison, ...]
    notices: tuple[Notice, ...]
    uncertain: tuple[Notice, ...] = ()
    points_are: str = "clients"
    levels_here: tuple[Estimate, ...] = ()
    levels_there: tuple[Estimate, ...] = ()
    tests: int = 0
    differences: tuple[str, ...] = ()
    unlike_work: tuple[str, ...] = ()
    counted: tuple[Metric, ...] = ()
    counted_here: tuple[Estimate, ...] = ()
    counted_there: tuple[Estimate, ...] = ()


@dataclass(frozen=True)
class _Test:
    metric: Metric
    here: Estimate
    there: Estimate
    found: Welch
    gains: bool  # whether more throughput or less cost is one: not where transactions failed


def compare_bundles(here: Named, others: Sequence[Named]) -> list[BundleComparison]:
    """Compares each of the other bundles with the one here."""
    tests = [list(_tests(here[1], other[1])) for other in others]
    p_values = [test.found.p_value for mine in tests for test in mine if test.found.runs > 1]
    adjusted, levels = distributions.holm(p_values), distributions.holm_levels(p_values, ALPHA)
    corrected = iter([(float(p), float(level)) for p, level in zip(adjusted, levels, strict=True)])
    margin = here[1].study.plan.smallest_effect_percent / 100
    explained = [list(_counted(here[1], other[1])) for other in others]
    return [
        BundleComparison(
            here=here[0],
            there=other[0],
            metrics=tuple(dict.fromkeys(test.metric for test in mine)),
            comparisons=tuple(
                _comparison(test, here[0], margin, *_corrected(test, corrected)) for test in mine
            ),
            uncertain=tuple(_uncertain(here, other, mine)),
            notices=tuple(_notices(here, other)),
            points_are=here[1].study.workload.points_are,
            levels_here=tuple(test.here for test in mine),
            levels_there=tuple(test.there for test in mine),
            tests=len(p_values),
            differences=tuple(differences(here[1].study, other[1].study, here[2], other[2])),
            unlike_work=tuple(unlike_work(here, other)),
            counted=tuple(dict.fromkeys(metric for metric, _, _ in counted)),
            counted_here=tuple(level for _, level, _ in counted),
            counted_there=tuple(level for _, _, level in counted),
        )
        for other, mine, counted in zip(others, tests, explained, strict=True)
    ]


def _counted(here: Evidence, there: Evidence) -> Iterator[tuple[Metric, Estimate, Estimate]]:
    """Pages found in the server's buffers and read into them: 0 has no ratio, so nothing is tested."""
    one, other = compute_run_metrics(here), compute_run_metrics(there)
    known = {metric.name: metric for metric in (*one.metrics, *other.metrics) if metric.kind == "buffers"}
    point_there = {clients: point for point, clients in points_of(other).items()}
    for metric in known.values():
        for point, clients in points_of(one).items():
            if clients in point_there:
                mine = _finite(here, one, metric, point)
                theirs = _finite(there, other, metric, point_there[clients])
                for option in (label for label in mine if label in theirs):
                    yield metric, mine[option], theirs[option]


def _finite(evidence: Evidence, run_metrics: RunMetrics, metric: Metric, point: int) -> dict[str, Estimate]:
    """Levels by option; without those that were not measured."""
    labels = [option.label for option in evidence.options]
    found = estimates(run_metrics, metric, labels, point) if metric.name in run_metrics.values else ()
    return {level.option: level for level in found if math.isfinite(level.value)}


def _tests(here: Evidence, there: Evidence) -> Iterator[_Test]:
    """Every headline metric that both have, at each number of clients, of each option of both."""
    one, other = compute_run_metrics(here), compute_run_metrics(there)
    point_there = {clients: point for point, clients in points_of(other).items()}
    no_gain = {*_failing(here), *_failing(there)}
    if one.engine_bound or other.engine_bound:
        no_gain |= {THROUGHPUT.name, P99.name}
    for metric in one.headlines:
        if other.metric(metric.name) is None:
            continue
        for point, clients in points_of(one).items():
            if clients in point_there:
                sides = _side(here, one, metric, point), _side(there, other, metric, point_there[clients])
                for option, (mine, values) in sides[0].items():
                    theirs, others = sides[1].get(option, (None, values))
                    found = theirs and welch(_logs(values), _logs(others))
                    if theirs and found:
                        gains = metric.better != "neither" and not no_gain & {metric.name, option}
                        yield _Test(metric, mine, theirs, found, gains)


def _failing(evidence: Evidence) -> dict[str, float]:
    """Share of failed transactions by option, where it is beyond the study's limit."""
    limit_percent = evidence.study.plan.error_rate_limit_percent
    rates = error_rates(compute_run_metrics(evidence))
    return {option: rate for option, rate in rates.items() if 100 * rate > limit_percent}


def _side(
    evidence: Evidence, run_metrics: RunMetrics, metric: Metric, point: int
) -> dict[str, tuple[Estimate, Floats]]:
    """By option, its level as the bundle's own report has it, and the values behind it."""
    labels = [option.label for option in evidence.options]
    values = values_of(run_metrics, metric.name, labels, point)
    found = estimates(run_metrics, metric, labels, point)
    return {level.option: (level, values[level.option]) for level in found if level.option in values}


def _logs(values: Floats) -> Floats:
    return np.log(values[values > 0])


def _corrected(test: _Test, corrected: Iterator[tuple[float, float]]) -> tuple[float, float]:
    """p-value and level; one run is not tested."""
    return next(corrected) if test.found.runs > 1 else (1.0, ALPHA)


def _comparison(test: _Test, baseline: str, margin: float, p_value: float, alpha: float) -> Comparison:
    """p_value: corrected. alpha: of the interval."""
    found, difference = test.found, test.found.difference
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
        baseline=baseline,
        clients=test.here.clients,
        ratio=math.exp(difference),
        low=math.exp(difference - wide),
        high=math.exp(difference + wide) if wide < _WIDE else math.inf,
        p_value=p_value if found.runs > 1 else math.nan,
        blocks=found.runs,
        margin=margin,
        outcome=outcome,
    )


def _uncertain(here: Named, there: Named, tests: Sequence[_Test]) -> Iterator[Notice]:
    """What a verdict would begin with: few blocks, disturbed runs of either."""
    fewest = min((test.found.runs for test in tests), default=FEWEST_BLOCKS)
    if fewest == 1:
        yield Notice("few-blocks", "measured once: cannot tell which is faster")
    elif fewest < FEWEST_BLOCKS:
        text = f"leaning, too few blocks to say: {count(fewest, 'block')} in the bundle with fewer"
        yield Notice("few-blocks", f"{text}, a verdict needs {FEWEST_BLOCKS} in each")
    for bundle, evidence, _ in (here, there):
        for option, rate in _failing(evidence).items():
            text = f"{bundle}: {percent(rate)} of the transactions of {option} failed"
            yield Notice("errors", f"{text}: a difference to it is no gain", option)
        if compute_run_metrics(evidence).engine_bound:
            text = f"{bundle}: the load engine was at its limit: throughput and latency are the engine's"
            yield Notice("engine-bound", text)
        if found := disturbed(evidence).found:
            runs = tuple(sorted(found))
            text = f"{bundle}: disturbed, the result is uncertain: {count(len(runs), 'run')}"
            text += f" of {len(evidence.runs['run'])} ({listed([str(run) for run in runs], most=12)})"
            worst = max(found, key=lambda run: found[run].share)
            sentence = found[worst].sentence(evidence.study.workload.WHO, f"in run {worst}")
            yield Notice("disturbed", f"{text}: {sentence}", runs=runs)


def _notices(here: Named, there: Named) -> Iterator[Notice]:
    """The machine, what was left out of either, probes and blocks."""
    labels = [{option.label for option in evidence.options} for _, evidence, _ in (here, there)]
    for (bundle, *_), only in zip((here, there), (labels[0] - labels[1], labels[1] - labels[0]), strict=True):
        if only:
            yield Notice("not-compared", f"not compared: {listed(sorted(only))}, only in {bundle}")
    yield Notice("not-interleaved", "the runs of the two bundles were not interleaved")
    for fact, a, b in unlike_facts(here[2], there[2], compared=[SERVER_VERSION]):
        yield Notice("hidden-factor-differs", f"{fact}: {a} here, {b} there")
    for bundle, evidence, _ in (here, there):
        table = evidence.notices
        for run, code, text in zip(*(table[key] for key in ("run", "code", "text")), strict=True):
            if int(run) == 0:
                yield Notice(str(code), f"{bundle}: {text}")
    yield from unlike_plans(here[1].study, there[1].study)
