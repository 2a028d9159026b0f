"""Notices of a comparison; each quotes the number that triggered it."""

from __future__ import annotations

import numpy as np

from steelyard.analysis.comparison.fit import Fit
from steelyard.analysis.judgement.outcome import FEWEST_BLOCKS
from steelyard.analysis.judgement.results import Metric, Notice
from steelyard.analysis.metrics.run_metrics import FAILED, HEADLINES, RunMetrics
from steelyard.analysis.statistics import distributions
from steelyard.quantities import p_value, percent

_SIGNIFICANT = 0.01  # of notices: they are many, and each false one costs attention
# for the other metrics they would only repeat these, or state that nothing was written
_OF_HEADLINES = ("drift", "unequal-variances", "zeros")


class PairNotices:
    """The notices of one metric at one point: those of all its pairs, and those of one pair."""

    def __init__(self, run_metrics: RunMetrics, metric: Metric, fitted: Fit) -> None:
        self._shared = tuple(
            Notice(code, text)
            for code, text in (
                _few_blocks(fitted),
                _incomplete(fitted),
                _zeros(fitted, metric),
                _drift(fitted, metric),
                _unequal(fitted, metric),
            )
            if text and (metric.name in HEADLINES or code not in _OF_HEADLINES)
        )
        self._failed = error_rates(run_metrics)

    def of(self, option: str, baseline: str) -> tuple[Notice, ...]:
        """The notices of this pair."""
        errors = tuple(
            Notice(
                "errors",
                "the CPU that failed transactions used is counted in the cost of those that succeeded",
                label,
                detail=f"{percent(self._failed[label])} failed",
            )
            for label in (option, baseline)
            if self._failed.get(label, 0.0) > 0
        )
        return (*self._shared, *errors)


def error_rates(run_metrics: RunMetrics) -> dict[str, float]:
    """Share of the transactions that failed, by option: the mean over its runs and points."""
    share = run_metrics.values.get(FAILED)
    if share is None:
        return {}
    labels = dict.fromkeys(map(str, run_metrics.option.tolist()))
    found = {label: share[(run_metrics.option == label) & np.isfinite(share)] for label in labels}
    return {label: float(known.mean()) for label, known in found.items() if len(known)}


def _few_blocks(fitted: Fit) -> tuple[str, str]:
    n = len(fitted.table.blocks)
    text = f"only {n} complete block{'s' * (n != 1)}: {FEWEST_BLOCKS} or more are needed to be sure"
    return "few-blocks", text if 1 < n < FEWEST_BLOCKS else ""


def _incomplete(fitted: Fit) -> tuple[str, str]:
    blocks = fitted.table.incomplete
    listed = ", ".join(map(str, blocks))
    text = f"block{'s' * (len(blocks) != 1)} {listed} left out: not every option has a value there"
    return "incomplete-blocks", text if blocks else ""


def _zeros(fitted: Fit, metric: Metric) -> tuple[str, str]:
    count = int((fitted.table.values <= 0).sum())
    text = f"{metric.title} is 0 in {count} runs: compared by differences instead of log ratios"
    # the mean over points hides the zeros of some: there is no run to name
    return "zeros", "" if fitted.logs or not count else text


def _drift(fitted: Fit, metric: Metric) -> tuple[str, str]:
    """Residuals against the order of runs, within blocks."""
    code = "drift"
    runs = fitted.table.runs.astype(np.float64)
    if fitted.scatter.pooled_df < 3:
        return code, ""
    # what options and blocks explain is taken from the order as well (Frisch & Waugh 1933)
    time = runs - runs.mean(axis=1, keepdims=True) - runs.mean(axis=0) + runs.mean()
    spread = float((time**2).sum())
    if spread < 1e-9:
        return code, ""
    slope = float((time * fitted.residuals).sum()) / spread
    left = float(((fitted.residuals - slope * time) ** 2).sum())
    se = float(np.sqrt(left / (fitted.scatter.pooled_df - 1) / spread))
    p = float(distributions.t_two_sided(slope / se, fitted.scatter.pooled_df - 1)) if se > 0 else 1.0
    change = f"{100 * np.expm1(slope):+.2g} %" if fitted.logs else f"{slope:+.3g} {metric.unit}"
    text = f"{metric.title} drifts within blocks, {change} from one run to the next ({p_value(p)})"
    return code, text if p < _SIGNIFICANT else ""


def _unequal(fitted: Fit, metric: Metric) -> tuple[str, str]:
    """That options scatter unequally: the intervals allow for it, a user may want to know why."""
    code = "unequal-variances"
    found = fitted.scatter
    if found.pooled_df <= 0 or found.alike >= _SIGNIFICANT or not fitted.logs:
        return code, ""
    worst, best = int(found.own.argmax()), int(found.own.argmin())
    text = (
        f"{metric.title} scatters unequally: without what all runs of a block share, runs of an option have a"
        f" standard deviation of {percent(float(found.own[worst]) ** 0.5)} under"
        f" {fitted.table.options[worst]}, {percent(float(found.own[best]) ** 0.5)} under"
        f" {fitted.table.options[best]}; each pair's interval has the scatter of its own two"
    )
    return code, text
