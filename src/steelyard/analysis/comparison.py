"""Compares options, one metric at one point: the run is the unit, blocks hold every option once.

Logs of the runs' values are fitted by option + block; the estimate is the difference of option
means, with the pooled residual of (blocks - 1)(options - 1) degrees of freedom. With two options
that is the paired t test on the log ratio. Against a baseline, intervals and p-values are
simultaneous (Dunnett 1955); all pairs go by Holm's procedure. `equivalent` is two one-sided tests
at 5 %: the 90 % interval lies inside the margin (Schuirmann 1987); it comes before `better`, so
that a difference proven but too small to matter is called equivalent. Where zeros occur the same
is done with differences, relative to the baseline's mean. Different metrics and points are not
corrected for one another.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from steelyard.analysis import tails
from steelyard.analysis.cautions import Cautions
from steelyard.analysis.fitting import Fit, fit
from steelyard.analysis.layout import Layout, lay_out, points_of
from steelyard.analysis.measures import HEADLINES, Measures
from steelyard.analysis.results import Better, Comparison, Metric, Notice, Outcome

ALPHA = 0.05


@dataclass(frozen=True)
class Compared:
    """Comparisons of one metric, and notices on what could not be compared."""

    comparisons: tuple[Comparison, ...]
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True)
class _Test:
    """A pair's adjusted p-value; half-widths of its interval and of the two one-sided tests."""

    p_value: float
    wide: float
    narrow: float


@dataclass(frozen=True)
class _Scene:
    """What all pairs of one metric at one point share."""

    fit: Fit
    metric: Metric
    clients: int | None
    margin: float
    cautions: Cautions


def compare(
    measures: Measures,
    metric: Metric,
    options: Sequence[str],
    baseline: str,
    margin: float,
    point: int | None = None,
    alpha: float = ALPHA,
) -> Compared:
    """Every option against the baseline. margin: smallest ratio that matters, as a fraction.

    point None: all points together. alpha: less where the metric is one of many that are searched.
    What cannot be compared is said in the notices.
    """
    scene = _scene(measures, metric, options, margin, point)
    fitted = scene.fit
    refused = _refusals(fitted, metric, options, baseline)
    if not fitted.comparable(baseline):
        return Compared((), refused)
    others = [o for o in fitted.layout.options if o != baseline]
    distances = np.array([fitted.mean(o) - fitted.mean(baseline) for o in others])
    p_values = tails.dunnett_p(distances / fitted.se, len(others), fitted.df)
    wide = tails.dunnett_critical(len(others), fitted.df, alpha) * fitted.se
    narrow = tails.dunnett_critical(len(others), fitted.df, 2 * alpha) * fitted.se
    return Compared(
        tuple(
            _comparison(scene, option, baseline, _Test(p, wide, narrow))
            for option, p in zip(others, p_values.tolist(), strict=True)
        ),
        refused,
    )


def pairs(
    measures: Measures,
    metric: Metric,
    options: Sequence[str],
    margin: float,
    point: int | None = None,
) -> tuple[Comparison, ...]:
    """Every pair of options, the later one against the earlier; p-values adjusted by Holm.

    An interval has the level of the pair's step in Holm's procedure: it excludes 1 exactly when
    the pair differs by that procedure. Pairs that cannot be compared are left out.
    """
    scene = _scene(measures, metric, options, margin, point)
    fitted = scene.fit
    found = [(a, b) for a, b in combinations(fitted.layout.options, 2) if fitted.comparable(a)]
    if not found:
        return ()
    distances = np.array([fitted.mean(b) - fitted.mean(a) for a, b in found])
    alone = tails.t_two_sided(distances / fitted.se, fitted.df)
    adjusted = tails.holm(alone)
    order = np.argsort(alone, kind="stable")
    rejected = int((adjusted <= ALPHA).sum())
    narrow = tails.t_critical(fitted.df, 2 * ALPHA / len(found)) * fitted.se
    widths = np.empty(len(found))
    for rank, at in enumerate(order.tolist()):
        left = len(found) - min(rank, rejected)
        widths[at] = tails.t_critical(fitted.df, ALPHA / left) * fitted.se
    return tuple(
        _comparison(scene, b, a, _Test(float(p), float(wide), narrow))
        for (a, b), p, wide in zip(found, adjusted, widths, strict=True)
    )


def _scene(
    measures: Measures, metric: Metric, options: Sequence[str], margin: float, point: int | None
) -> _Scene:
    fitted = fit(lay_out(measures, metric.name, options, point))
    clients = None if point is None else points_of(measures)[point]
    return _Scene(fitted, metric, clients, margin, Cautions(measures, metric, fitted, point))


def _comparison(scene: _Scene, option: str, baseline: str, test: _Test) -> Comparison:
    fitted, margin = scene.fit, scene.margin
    distance = fitted.mean(option) - fitted.mean(baseline)
    if fitted.logs:
        reach = math.log1p(margin)
        ratio = math.exp(distance)
        low, high = _exp(distance - test.wide), _exp(distance + test.wide)
    else:
        scale = abs(fitted.mean(baseline))
        reach = margin * scale
        ratio = 1 + distance / scale
        low, high = max(0.0, ratio - test.wide / scale), ratio + test.wide / scale
    proven = abs(distance) > test.wide
    small = abs(distance) + test.narrow < reach
    outcome = _outcome(scene.metric.better, distance, proven, small)
    unclear = proven and not small and abs(distance) - test.wide < reach
    found = Comparison(
        metric=scene.metric.name,
        option=option,
        baseline=baseline,
        clients=scene.clients,
        ratio=ratio,
        low=low,
        high=high,
        p_value=test.p_value,
        blocks=len(fitted.layout.blocks),
        margin=margin,
        outcome=outcome,
        warnings=scene.cautions.of(option, baseline),
    )
    if unclear and scene.metric.name in HEADLINES:
        return replace(found, warnings=(_may_be_small(scene.metric, found), *found.warnings))
    return found


def _exp(x: float) -> float:
    return math.exp(x) if x < 700 else math.inf


def _outcome(better: Better, distance: float, proven: bool, small: bool) -> Outcome:
    if small:
        return "equivalent"
    if not proven:
        return "inconclusive"
    if better == "neither":
        return "different"
    return "better" if (distance > 0) == (better == "higher") else "worse"


def _may_be_small(metric: Metric, found: Comparison) -> Notice:
    at = "" if found.clients is None else f" at N = {found.clients}"
    return Notice(
        "may-be-small",
        f"proven to differ from {found.baseline}, but perhaps by less than the"
        f" {100 * found.margin:.3g} % that matters",
        found.option,
        detail=f"{metric.title}{at} {found.low:.3f} to {found.high:.3f} times",
    )


def _refusals(fitted: Fit, metric: Metric, options: Sequence[str], baseline: str) -> tuple[Notice, ...]:
    layout = fitted.layout
    if not layout.blocks:
        return (Notice("not-compared", "no block holds a value of every option", detail=metric.title),)
    if baseline not in layout.options:
        return (Notice("not-compared", "not measured in the baseline", baseline, detail=metric.title),)
    missing = tuple(
        Notice("not-compared", "too few runs have a value", option, detail=metric.title)
        for option in layout.absent
    )
    # of the other metrics nobody awaits a ratio; where they differ by much the reasons tell
    awaited = metric.name in HEADLINES and len(layout.options) > 1
    if awaited and not fitted.comparable(baseline) and _some(layout):
        text = "0 in the baseline, so there is no ratio"
        return (*missing, Notice("not-compared", text, detail=metric.title))
    return missing


def _some(layout: Layout) -> bool:
    """A metric that is 0 everywhere, like errors where none occurred, needs no remark."""
    return bool((layout.values != 0).any())
