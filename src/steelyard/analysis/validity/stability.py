"""What was not steady in the runs; each notice quotes the number that triggered it.

Drift within runs is judged with the run as the unit, drift over the study with the block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from steelyard.analysis.comparison.block_table import block_table
from steelyard.analysis.judgement.results import Notice
from steelyard.analysis.metrics.run_metrics import FAILED, RunMetrics
from steelyard.analysis.statistics import distributions
from steelyard.analysis.statistics.distributions import Floats
from steelyard.bundle.evidence.evidence import Evidence
from steelyard.quantities import change as as_change
from steelyard.quantities import p_value, percent, span_of

_SIGNIFICANT = 0.01
_LEAST_DRIFT = 0.03  # of throughput: below it no action follows
_LEAST_BLOCKS = 5  # a line through fewer block means fits whatever they are
_LEAST_SECONDS = 5
_LEAST_BATCHES = 6
_LEAST_BIAS = 0.01
_LEAST_OUTLIER = 0.05
_OUTLIER_MADS = 5.0


@dataclass(frozen=True)
class Finding:
    """Something seen in one run, and the number that triggered it."""

    run: int
    value: float


def merged(
    run_metrics: RunMetrics,
    code: str,
    found: Sequence[Finding],
    text: str,
    detail: Callable[[Sequence[float]], str],
) -> list[Notice]:
    """One notice per option, with the runs in which it was seen; detail(values) are its numbers."""
    option_of = dict(zip(run_metrics.run.tolist(), run_metrics.option.tolist(), strict=True))
    by_option: dict[str, list[Finding]] = {}
    for finding in found:
        by_option.setdefault(str(option_of[finding.run]), []).append(finding)
    return [
        Notice(
            code,
            text,
            option,
            runs=tuple(sorted({f.run for f in findings})),
            detail=detail([f.value for f in findings]),
        )
        for option, findings in by_option.items()
    ]


def stability_notices(evidence: Evidence, run_metrics: RunMetrics) -> list[Notice]:
    """Drift within runs and over the study, outlier runs, errors."""
    steady = evidence.study.workload.steady
    return [
        *_errors(run_metrics),
        *(_drift_within(evidence, run_metrics) if steady else ()),
        *(_warm_up(evidence, run_metrics) if steady else ()),
        *_drift_over(evidence, run_metrics),
        *_outliers(evidence, run_metrics),
    ]


def _errors(run_metrics: RunMetrics) -> list[Notice]:
    share = run_metrics.values[FAILED]
    found = [Finding(int(run_metrics.run[i]), float(share[i])) for i in np.flatnonzero(share > 0)]
    text = "transactions failed: throughput, costs and latencies are of those that succeeded"
    return merged(run_metrics, "errors", found, text, lambda shares: span_of(shares, percent))


def _drift_within(evidence: Evidence, run_metrics: RunMetrics) -> list[Notice]:
    """Change of throughput from the start of measure to its end, tested over runs."""
    changes: dict[str, list[Finding]] = {}
    option_of = dict(zip(run_metrics.run.tolist(), run_metrics.option.tolist(), strict=True))
    for run, change in _changes(evidence).items():
        if run in option_of:
            changes.setdefault(str(option_of[run]), []).append(Finding(run, change))
    notices: list[Notice] = []
    for option, found in changes.items():
        values = np.array([f.value for f in found])
        mean, n = float(values.mean()), len(values)
        if abs(mean) < _LEAST_DRIFT or n < 3:
            continue
        se = max(float(values.std(ddof=1)) / n**0.5, 1e-12)
        p = float(distributions.t_two_sided(mean / se, n - 1))
        if p < _SIGNIFICANT:
            word = "rises" if mean > 0 else "falls"
            pace = "the pace" if evidence.instruction_time else "throughput"
            text = (
                f"{pace} {word} from the start of measure to its end: what was compared is not a"
                " steady state; a longer warm_up_s may help"
            )
            detail = f"by {percent(abs(mean))}, mean of {n} runs, {p_value(p)}"
            runs = tuple(sorted(f.run for f in found))
            notices.append(Notice("drift-within-runs", text, option, runs, detail))
    return notices


def _warm_up(evidence: Evidence, run_metrics: RunMetrics) -> list[Notice]:
    """An alarm only, when at least half of an option's runs raise it: phases stay as declared."""
    worst: dict[int, tuple[float, float]] = {}
    for run, _, counts in _spans(evidence):
        cut = warm_up_left(counts)
        bias = float(counts.mean() / counts[cut:].mean() - 1) if cut else 0.0
        if abs(bias) > _LEAST_BIAS and abs(bias) > abs(worst.get(run, (0.0, 0.0))[1]):
            worst[run] = cut, bias
    known = set(run_metrics.run.tolist())
    found = [Finding(run, bias) for run, (_, bias) in worst.items() if run in known]
    notices: list[Notice] = []
    text = "the first seconds of measure still look like warm-up (MSER-5): a longer warm_up_s may help"
    for notice in merged(run_metrics, "warm-up", found, text, lambda values: span_of(values, _change)):
        if 2 * len(notice.runs) < len(set(run_metrics.run[run_metrics.option == notice.subject].tolist())):
            continue
        cuts = span_of([worst[run][0] for run in notice.runs], lambda cut: f"{cut:.0f}")
        pace = "the pace" if evidence.instruction_time else "throughput"
        notices.append(replace(notice, detail=f"{cuts} s, which shift {pace} by {notice.detail}"))
    return notices


def warm_up_left(counts: Floats) -> int:
    """How many leading seconds MSER-5 would drop; 0 for series too short for it.

    White, Cobb & Spratt 2000: batches of five, cut where the standard error of the rest is least.
    """
    batches = counts[: len(counts) // 5 * 5].reshape(-1, 5).mean(axis=1)
    n = len(batches)
    if n < _LEAST_BATCHES:
        return 0
    errors = [float(batches[d:].var()) / (n - d) for d in range(n // 2 + 1)]
    return 5 * int(np.argmin(errors))


def _changes(evidence: Evidence) -> dict[int, float]:
    """Relative change over the measure phase by run: a line through log counts, mean of points."""
    found: dict[int, list[float]] = {}
    for run, second, count in _spans(evidence):
        if len(count) >= _LEAST_SECONDS and (count > 0).all():
            slope = _slope(second, np.log(count))
            found.setdefault(run, []).append(float(np.expm1(slope * (second[-1] - second[0]))))
    return {number: float(np.mean(changes)) for number, changes in found.items()}


def _spans(evidence: Evidence) -> Iterator[tuple[int, Floats, Floats]]:
    """Run, whole seconds and transactions in each of them, for every run and point."""
    points = evidence.view("points")
    length_s = {
        (int(run), int(point)): round(float(seconds), 2)
        for run, point, seconds in zip(points["run"], points["point"], points["seconds"], strict=True)
    }
    table = evidence.view("seconds")
    order = np.lexsort((table["second"], table["point"], table["run"]))
    run, point = table["run"][order].astype(int), table["point"][order].astype(int)
    second = table["second"][order].astype(np.float64)
    count = table["count"][order].astype(np.float64)
    edges = np.flatnonzero((np.diff(run) != 0) | (np.diff(point) != 0)) + 1
    for at in np.split(np.arange(len(run)), edges) if len(run) else ():
        # the last second of a phase of 7.5 s holds half a second of work: that is no drift
        whole = at[second[at] + 1 <= length_s.get((int(run[at[0]]), int(point[at[0]])), np.inf)]
        if len(whole):
            yield int(run[whole[0]]), second[whole], count[whole]


def _slope(x: Floats, y: Floats) -> float:
    x = x - x.mean()
    return float((x * (y - y.mean())).sum() / (x**2).sum())


def _drift_over(evidence: Evidence, run_metrics: RunMetrics) -> list[Notice]:
    """Level of the blocks against the order of runs, options allowed for: a block is one value.

    Runs of a block share its level, so their number is no evidence of a trend over blocks.
    """
    table = block_table(run_metrics, run_metrics.work.name, [o.label for o in evidence.options])
    df = len(table.blocks) - 2
    if len(table.blocks) < _LEAST_BLOCKS or not table.positive:
        return []
    # every block has a run of every option, so that the options cancel out of its mean
    y: Floats = np.log(table.values).mean(axis=1)
    time: Floats = table.runs.mean(axis=1)
    slope = _slope(time, y)
    left = y - y.mean() - slope * (time - time.mean())
    spread = float(((time - time.mean()) ** 2).sum())
    se = max(float(np.sqrt((left**2).sum() / df / spread)), 1e-15)
    p = float(distributions.t_two_sided(slope / se, df))
    change = float(np.expm1(slope * (table.runs.max() - table.runs.min())))
    if p >= _SIGNIFICANT or abs(change) < _LEAST_DRIFT:
        return []
    word = "rose" if change > 0 else "fell"
    text = (
        f"{run_metrics.work.title} {word} by {percent(abs(change))} from the first run of the study to the"
        f" last ({p_value(p)}, {len(table.blocks)} blocks)"
    )
    if len(evidence.options) > 1:
        text += "; blocks in random order keep that out of the comparisons"
    return [Notice("drift-over-study", text)]


def _outliers(evidence: Evidence, run_metrics: RunMetrics) -> list[Notice]:
    """Runs far from the median of their option, and from what the others did in the same block.

    Far is measured in units of what runs usually scatter; the second condition spares blocks in
    which the whole machine was slower.
    """
    table = block_table(run_metrics, run_metrics.work.name, [o.label for o in evidence.options])
    if len(table.blocks) < 4 or len(table.options) < 2 or not table.positive:
        return []
    y = np.log(table.values)
    away: Floats = y - np.median(y, axis=0)
    columns = range(away.shape[1])
    others = np.stack([np.median(np.delete(away, j, axis=1), axis=1) for j in columns], axis=1)
    apart: Floats = away - others
    usual = 1.4826 * float(np.median(np.abs(apart)))
    limit = max(_OUTLIER_MADS * usual, float(np.log1p(_LEAST_OUTLIER)))
    far: NDArray[np.bool_] = (np.abs(away) > limit) & (np.abs(apart) > limit)
    found = [
        Finding(int(table.runs[i, j]), float(np.expm1(away[i, j])))
        for i, j in zip(*np.nonzero(far), strict=True)
    ]
    return merged(
        run_metrics,
        "outlier",
        found,
        f"{run_metrics.work.title} far from the median of the option, where runs of a block usually differ by"
        f" {percent(usual)}",
        lambda values: span_of(values, _change),
    )


def _change(relative: float) -> str:
    return as_change(1 + relative)
