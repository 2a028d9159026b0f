"""Notices of a comparison; each quotes the number that triggered it."""

from collections.abc import Iterator, Mapping

import numpy as np

from steelyard.analysis.comparison.scatter import Fit
from steelyard.analysis.judgement import FEWEST_BLOCKS, Metric, Notice
from steelyard.analysis.metrics.run_metrics import FAILED, HEADLINES, RunMetrics
from steelyard.analysis.statistics.distributions import trend
from steelyard.quantities import count, p_value, percent

_SIGNIFICANT = 0.01  # of notices: they are many, and each false one costs attention
# for the other metrics they would only repeat these, or state that nothing was written
_OF_HEADLINES = ("drift", "unequal-variances", "zeros")


def shared_notices(metric: Metric, fit: Fit) -> list[Notice]:
    """Those of all pairs, by one metric at one point."""
    texts = {
        "few-blocks": _few_blocks(fit),
        "incomplete-blocks": _incomplete(fit),
        "zeros": _zeros(fit, metric),
        "drift": _drift(fit, metric),
        "unequal-variances": _unequal(fit, metric),
    }
    left_out = () if metric.name in HEADLINES else _OF_HEADLINES
    return [Notice(code, text) for code, text in texts.items() if text and code not in left_out]


def error_notices(failed: Mapping[str, float], pair: tuple[str, str]) -> Iterator[Notice]:
    """The options of a pair of which transactions failed. failed: their share, by option."""
    text = "failed transactions count as cost, not as work"
    for label in pair:
        if share := failed.get(label):
            yield Notice("errors", text, label, detail=f"{percent(share)} failed")


def error_rates(run_metrics: RunMetrics) -> dict[str, float]:
    """Share of the transactions that failed, by option: the mean over its runs and points."""
    share = run_metrics.values.get(FAILED)
    if share is None:
        return {}
    labels = dict.fromkeys(map(str, run_metrics.option.tolist()))
    found = {label: share[(run_metrics.option == label) & np.isfinite(share)] for label in labels}
    return {label: float(known.mean()) for label, known in found.items() if len(known)}


def _few_blocks(fit: Fit) -> str:
    n = len(fit.table.blocks)
    text = f"only {count(n, 'complete block')}: {FEWEST_BLOCKS} or more are needed to be sure"
    return text if 1 < n < FEWEST_BLOCKS else ""


def _incomplete(fit: Fit) -> str:
    blocks = fit.table.incomplete
    listed = ", ".join(map(str, blocks))
    text = f"block{'s' * (len(blocks) != 1)} {listed} left out: not every option has a value there"
    return text if blocks else ""


def _zeros(fit: Fit, metric: Metric) -> str:
    zeros = int((fit.table.values == 0).sum())
    # the mean over points hides the zeros of some: there is no run to name
    if fit.logs or not zeros:
        return ""
    return f"{metric.title} is 0 in {count(zeros, 'run')}: compared by differences instead of log ratios"


def _drift(fit: Fit, metric: Metric) -> str:
    """Residuals against the order of runs, within blocks."""
    df = fit.scatter.pooled_df - 1
    runs = fit.table.runs.astype(np.float64)
    if df < 2:
        return ""
    # what options and blocks explain is taken from the order as well (Frisch & Waugh 1933)
    time = runs - runs.mean(axis=1, keepdims=True) - runs.mean(axis=0) + runs.mean()
    if (time**2).sum() < 1e-9:
        return ""
    slope, p = trend(time, fit.residuals, df)
    change = f"{100 * np.expm1(slope):+.2g} %" if fit.logs else f"{slope:+.3g} {metric.unit}"
    text = f"{metric.title} drifts within blocks, {change} from one run to the next ({p_value(p)})"
    return text if p < _SIGNIFICANT else ""


def _unequal(fit: Fit, metric: Metric) -> str:
    """That options scatter unequally: the intervals allow for it, a user may want to know why."""
    found = fit.scatter
    if found.pooled_df <= 0 or found.alike >= _SIGNIFICANT or not fit.logs:
        return ""
    worst, best = (
        f"{percent(float(found.own[at]) ** 0.5)} under {fit.options[at]}"
        for at in (int(found.own.argmax()), int(found.own.argmin()))
    )
    return (
        f"{metric.title} scatters unequally: without what all runs of a block share, runs of an option have a"
        f" standard deviation of {worst}, {best}; each pair's interval has the scatter of its own two"
    )
