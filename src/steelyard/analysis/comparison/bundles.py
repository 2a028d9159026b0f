"""Compares bundles of the same study: another machine, another kernel, another day.

Runs of two bundles were not interleaved, so nothing separates the option from the hour and the
place where it ran: Welch's t on the values behind the report's own figures, corrected by Holm (1979) over all
metrics, options, load points and bundles that are printed together. An interval has the level of its step in
Holm's procedure: it leaves out 1 exactly where a difference is proven. Every fact that differs between the
two is listed beside the result.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.analysis.comparison.block_table import points_of
from steelyard.analysis.comparison.compare import ALPHA
from steelyard.analysis.comparison.estimates import estimates, values_of
from steelyard.analysis.comparison.welch import Welch, welch
from steelyard.analysis.judgement.results import Comparison, Estimate, Metric, Notice, Outcome
from steelyard.analysis.metrics.run_metrics import RunMetrics, compute_run_metrics
from steelyard.analysis.statistics import distributions
from steelyard.analysis.statistics.distributions import Floats
from steelyard.bundle.evidence.evidence import Evidence
from steelyard.study.study import Study

# facts that change results; those of the moment (load, uptime) do not count as hidden factors
FACTS = (
    ("cpu", "model"),
    ("cpu", "cpus_usable"),
    ("cpu", "smt"),
    ("cpu", "governor"),
    ("kernel", "release"),
    ("kernel", "preemption"),
    ("kernel", "clock_source"),
    ("mitigations", "active"),
    ("virtualization", "hypervisor"),
    ("placement", "server_cpus"),
    ("placement", "engine_cpus"),
    ("server", "version"),
    ("steelyard", "version"),
)

_WIDE = 500.0  # half-width of an interval of logarithms beyond which it has no end

Named = tuple[str, Evidence, Mapping[str, Any]]
"""A bundle: name, evidence, environment."""


@dataclass(frozen=True)
class BundleComparison:
    """Options of `there` against the same of `here`. In comparisons, baseline is the bundle's name.

    levels_here, levels_there: the option's own level in each, one per comparison, in the same order. tests:
    number of comparisons that intervals and p-values are corrected for, those of other bundles included.
    """

    here: str
    there: str
    metrics: tuple[Metric, ...]
    comparisons: tuple[Comparison, ...]
    notices: tuple[Notice, ...]
    points_are: str = "clients"
    levels_here: tuple[Estimate, ...] = ()
    levels_there: tuple[Estimate, ...] = ()
    tests: int = 0


@dataclass(frozen=True)
class _Test:
    metric: Metric
    here: Estimate
    there: Estimate
    found: Welch


def unlike_facts(
    here: Mapping[str, Mapping[str, Any]], there: Mapping[str, Mapping[str, Any]]
) -> list[tuple[str, Any, Any]]:
    """FACTS that differ between two environments: name, value in each ('unknown' where it is not kept)."""
    return [
        (f"{part} {key}".replace("_", " "), "unknown" if a is None else a, "unknown" if b is None else b)
        for part, key in FACTS
        if (a := here.get(part, {}).get(key)) != (b := there.get(part, {}).get(key))
    ]


def unlike_work(here: Study, there: Study) -> list[str]:
    """What makes two studies different work: a sentence each; empty when they can be compared."""
    found: list[str] = []
    for key in ("kind", "settings", "session"):
        one, other = getattr(here.subject, key), getattr(there.subject, key)
        if one != other:
            found.append(f"subject.{key}: {one} here, {other} there")
    for name in sorted(here.factors.keys() | there.factors.keys()):
        if here.factors.get(name) != there.factors.get(name):
            found.append(f"factors.{name} differs")
    for part in ("workload", "plan"):
        one, other = getattr(here, part).model_dump(), getattr(there, part).model_dump()
        ignored = {"blocks", "seed", "stop", "baseline", "cool_down_s", "smallest_effect_percent"}
        ignored.add("error_rate_limit_percent")
        found += [
            f"{part}.{key}: {one.get(key)} here, {other.get(key)} there"
            for key in {**one, **other}
            if key not in ignored and one.get(key) != other.get(key)
        ]
    return found


def compare_bundles(here: Named, others: Sequence[Named]) -> list[BundleComparison]:
    """Compares each of the other bundles with the one here."""
    tests = [list(_tests(here[1], other[1])) for other in others]
    p_values = [test.found.p_value for mine in tests for test in mine]
    corrected = iter(
        zip(distributions.holm(p_values), distributions.holm_levels(p_values, ALPHA), strict=True)
    )
    margin = here[1].study.plan.smallest_effect_percent / 100
    return [
        BundleComparison(
            here=here[0],
            there=other[0],
            metrics=tuple(dict.fromkeys(test.metric for test in mine)),
            comparisons=tuple(
                _comparison(test, here[0], margin, *map(float, next(corrected))) for test in mine
            ),
            notices=tuple(_notices(here, other)),
            points_are=here[1].study.workload.points_are,
            levels_here=tuple(test.here for test in mine),
            levels_there=tuple(test.there for test in mine),
            tests=len(p_values),
        )
        for other, mine in zip(others, tests, strict=True)
    ]


def _tests(here: Evidence, there: Evidence) -> Iterator[_Test]:
    """Every headline metric that both have, at each number of clients, of each option of both."""
    one, other = compute_run_metrics(here), compute_run_metrics(there)
    point_there = {clients: point for point, clients in points_of(other).items()}
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
                        yield _Test(metric, mine, theirs, found)


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


def _comparison(test: _Test, baseline: str, margin: float, p_value: float, alpha: float) -> Comparison:
    """p_value: corrected. alpha: of the interval."""
    found, difference = test.found, test.found.difference
    wide, narrow = found.half_width(alpha), found.half_width(2 * ALPHA)
    outcome: Outcome = "better" if (difference > 0) == (test.metric.better == "higher") else "worse"
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
        p_value=p_value,
        blocks=found.runs,
        margin=margin,
        outcome=outcome,
    )


def _notices(here: Named, there: Named) -> Iterator[Notice]:
    """What differs but the work: the hour, the machine, what was left out of either, the plan."""
    yield Notice("not-interleaved", "the runs of the two bundles were not interleaved")
    for fact, a, b in unlike_facts(here[2], there[2]):
        yield Notice("hidden-factor-differs", f"{fact}: {a} here, {b} there")
    for bundle, evidence, _ in (here, there):
        table = evidence.notices
        for run, code, text in zip(*(table[key] for key in ("run", "code", "text")), strict=True):
            if int(run) == 0:
                yield Notice(str(code), f"{bundle}: {text}")
    yield from _unlike_plans(here[1].study, there[1].study)


def _unlike_plans(here: Study, there: Study) -> list[Notice]:
    """What the same work was measured with, where it was not the same: probes cost a little."""
    one, other = here.probes.model_dump(), there.probes.model_dump()
    found = [
        Notice("probes-differ", f"probes.{key}: {one[key]} here, {other[key]} there")
        for key in one
        if one[key] != other[key]
    ]
    if here.plan.blocks != there.plan.blocks:
        text = f"plan.blocks: {here.plan.blocks} here, {there.plan.blocks} there"
        found.append(Notice("blocks-differ", text))
    return found
