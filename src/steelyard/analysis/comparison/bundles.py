"""Compares bundles of the same study: another machine, another kernel, another day.

Runs of two bundles were not interleaved, so nothing separates the option from the hour and the
place where it ran: Welch's t on logs of run values (Welch 1947), corrected by Holm over options,
and every fact that differs between the two is listed beside the result.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.analysis.comparison.block_table import points_of
from steelyard.analysis.comparison.compare import ALPHA
from steelyard.analysis.judgement.results import Comparison, Metric, Notice
from steelyard.analysis.metrics.run_metrics import RunMetrics, compute_run_metrics
from steelyard.analysis.statistics import distributions
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


_ROUNDING = 1e-12


@dataclass(frozen=True)
class BundleComparison:
    """Options of `there` against the same of `here`. In comparisons, baseline is the bundle's name."""

    here: str
    there: str
    metrics: tuple[Metric, ...]
    comparisons: tuple[Comparison, ...]
    notices: tuple[Notice, ...]
    points_are: str = "clients"


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


def compare_bundles(
    here: tuple[str, Evidence, Mapping[str, Any]], there: tuple[str, Evidence, Mapping[str, Any]]
) -> BundleComparison:
    """Compares two bundles, each given as name, evidence, environment."""
    (name, evidence, facts), (other_name, other_evidence, other_facts) = here, there
    one, other = compute_run_metrics(evidence), compute_run_metrics(other_evidence)
    common = [
        option.label
        for option in evidence.options
        if option.label in {found.label for found in other_evidence.options}
    ]
    notices = [Notice("not-interleaved", "the runs of the two bundles were not interleaved")]
    notices += [
        Notice("hidden-factor-differs", f"{fact}: {a} here, {b} there")
        for fact, a, b in unlike_facts(facts, other_facts)
    ]
    notices += [
        Notice(str(code), f"{bundle}: {text}")
        for bundle, found in ((name, evidence), (other_name, other_evidence))
        for run, code, text in zip(*(found.notices[key] for key in ("run", "code", "text")), strict=True)
        if int(run) == 0
    ]
    notices += _unlike_plans(evidence.study, other_evidence.study)
    metrics = tuple(metric for metric in one.headlines if other.metric(metric.name))
    points_are = evidence.study.workload.points_are
    margin = evidence.study.plan.smallest_effect_percent / 100
    comparisons: list[Comparison] = []
    for metric in metrics:
        for point, clients in points_of(one).items():
            comparisons += _compare(one, other, metric, common, point, clients, margin, (name, other_name))
    return BundleComparison(name, other_name, metrics, tuple(comparisons), tuple(notices), points_are)


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


def _compare(
    here: RunMetrics,
    there: RunMetrics,
    metric: Metric,
    options: Sequence[str],
    point: int,
    clients: int,
    margin: float,
    names: tuple[str, str],
) -> list[Comparison]:
    found: list[Comparison] = []
    tests = [
        (option, *_welch(_logs(here, metric, option, point), _logs(there, metric, option, point)))
        for option in options
    ]
    tests = [test for test in tests if math.isfinite(test[1])]
    if not tests:
        return found
    p_values = distributions.holm([p for _, _, _, _, p, _ in tests]).tolist()
    for (option, difference, error, df, _, runs), p_value in zip(tests, p_values, strict=True):
        wide = error * distributions.t_critical(df, ALPHA / len(tests))
        narrow = error * distributions.t_critical(df, 2 * ALPHA)
        ratio = math.exp(difference)
        inside = abs(difference) + narrow < math.log1p(margin)
        better = (difference > 0) == (metric.better == "higher")
        found.append(
            Comparison(
                metric=metric.name,
                option=option,
                baseline=names[0],
                clients=clients,
                ratio=ratio,
                low=math.exp(difference - wide),
                high=math.exp(difference + wide),
                p_value=p_value,
                blocks=runs,
                margin=margin,
                outcome="equivalent"
                if inside
                else "inconclusive"
                if p_value >= ALPHA
                else "better"
                if better
                else "worse",
            )
        )
    return found


def _logs(run_metrics: RunMetrics, metric: Metric, option: str, point: int) -> np.ndarray[Any, Any]:
    chosen = (run_metrics.option == option) & (run_metrics.point == point)
    values = run_metrics.values[metric.name][chosen]
    return np.log(values[values > 0])


def _welch(here: np.ndarray[Any, Any], there: np.ndarray[Any, Any]) -> tuple[float, float, float, float, int]:
    """Difference of means, its standard error, degrees of freedom, p-value, fewest runs.

    One run has a difference, of unknown error: it is infinite.
    """
    runs = min(len(here), len(there))
    if not runs:
        return math.nan, math.nan, math.nan, math.nan, runs
    if runs < 2:
        return float(there.mean() - here.mean()), math.inf, 0.0, 1.0, runs
    a, b = here.var(ddof=1) / len(here), there.var(ddof=1) / len(there)
    error = math.sqrt(a + b)
    difference = float(there.mean() - here.mean())
    if error == 0:
        # exact values: what differs beyond rounding differs for certain
        return difference, 0.0, 1.0, 0.0 if abs(difference) > _ROUNDING else 1.0, runs
    df = (a + b) ** 2 / (a**2 / (len(here) - 1) + b**2 / (len(there) - 1))
    p_value = float(distributions.t_two_sided(difference / error, df))
    return difference, error, float(df), p_value, runs
