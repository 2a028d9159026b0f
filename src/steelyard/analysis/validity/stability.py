"""What was not steady in the runs; each notice quotes the number that triggered it.

Drift within runs is judged by runs; drift over the study, and what turns leave behind, by blocks.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.analysis.comparison.block_table import block_table
from steelyard.analysis.judgement import Notice
from steelyard.analysis.metrics.run_metrics import FAILED, RunMetrics
from steelyard.analysis.statistics.distributions import Floats, t_test, trend
from steelyard.bundle.evidence import Evidence, grouped
from steelyard.quantities import change, p_value, percent, span_of

_SIGNIFICANT = 0.01
_LEAST_DRIFT = 0.03  # of throughput: below it no action follows
_LEAST_BLOCKS = 5  # a line through fewer block means fits whatever they are
_LEAST_SECONDS = 5
_LEAST_BATCHES = 6
_LEAST_BIAS = 0.01
_LEAST_OUTLIER = 0.05
_OUTLIER_MADS = 5.0


Found = Iterable[tuple[Any, ...]]
"""Option, run, the number that triggered a notice, and what its text names."""


def merged(
    code: str, found: Found, text: str, say: Callable[[float], str] = percent, detail: str = "{}"
) -> list[Notice]:
    """One notice per option, with the runs in which it was seen; detail: with the span of its numbers."""
    alike = grouped(((text.format(*names), option), (run, value)) for option, run, value, *names in found)
    return [
        Notice(code, text, option, tuple(sorted({run for run, _ in seen})), detail.format(span))
        for (text, option), seen in alike.items()
        for span in [span_of([value for _, value in seen], say)]
    ]


def stability_notices(evidence: Evidence, run_metrics: RunMetrics) -> list[Notice]:
    """Drift within runs and over the study, outlier runs, errors."""
    steady = evidence.workload.steady
    failed = run_metrics.where(FAILED, run_metrics.values[FAILED] > 0)
    text = "transactions failed: throughput, costs and latencies are of those that succeeded"
    return [
        *merged("errors", failed, text),
        *(_drift_within(evidence) if steady else ()),
        *(_warm_up(evidence, run_metrics) if steady else ()),
        *_drift_over(evidence, run_metrics),
        *_outliers(evidence, run_metrics),
    ]


# the last second of a phase of 7.5 s holds half a second of work: that is no drift
_WHOLE = "seconds s join points p using (run, point) where second + 1 <= round(p.seconds, 2)"
# transactions in each whole second of a run and point
_SECONDS = f"""
    select option, run, list(count order by second) from {_WHOLE}
    group by option, run, point order by run, point
"""
# relative change from the start of measure to its end by option and run, a line through log counts
_DRIFTS = f"""
    with of_points as (
        select option, run,
            exp(regr_slope(ln(nullif(count, 0)), second) * (max(second) - min(second))) - 1 as change
        from {_WHOLE} group by option, run, point having count(*) >= $least and min(count) > 0
    ), of_runs as (select option, run, avg(change) as change from of_points group by option, run)
    select option, list(run order by run), list(change order by run) from of_runs
    group by option order by min(run)
"""


def _drift_within(evidence: Evidence) -> Iterator[Notice]:
    for option, runs, changes in evidence.rows(_DRIFTS, least=_LEAST_SECONDS):
        values = np.array(changes)
        mean, n = float(values.mean()), len(values)
        if abs(mean) < _LEAST_DRIFT or n < 3:
            continue
        if (p := float(t_test(values))) < _SIGNIFICANT:
            word = "rises" if mean > 0 else "falls"
            pace = "the pace" if evidence.instruction_time else "throughput"
            text = (
                f"{pace} {word} from the start of measure to its end: what was compared is not a"
                " steady state; a longer warm_up_s may help"
            )
            detail = f"by {percent(abs(mean))}, mean of {n} runs, {p_value(p)}"
            yield Notice("drift-within-runs", text, option, tuple(runs), detail)


def _warm_up(evidence: Evidence, run_metrics: RunMetrics) -> Iterator[Notice]:
    """An alarm only, when at least half of an option's runs raise it: phases stay as declared."""
    worst: dict[tuple[str, int], tuple[float, float]] = {}
    for option, run, seconds in evidence.rows(_SECONDS):
        counts = np.array(seconds)
        cut = warm_up_left(counts)
        bias = float(counts.mean() / counts[cut:].mean() - 1) if cut else 0.0
        if abs(bias) > _LEAST_BIAS and abs(bias) > abs(worst.get((option, run), (0.0, 0.0))[1]):
            worst[option, run] = cut, bias
    found = [(*key, bias) for key, (_, bias) in worst.items()]
    text = "the first seconds of measure still look like warm-up (MSER-5): a longer warm_up_s may help"
    for notice in merged("warm-up", found, text, _change):
        if 2 * len(notice.runs) < len(set(run_metrics.run[run_metrics.option == notice.subject].tolist())):
            continue
        cuts = span_of([worst[notice.subject, run][0] for run in notice.runs], lambda cut: f"{cut:.0f}")
        pace = "the pace" if evidence.instruction_time else "throughput"
        yield replace(notice, detail=f"{cuts} s, which shift {pace} by {notice.detail}")


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


def order_doubts(evidence: Evidence, run_metrics: RunMetrics) -> list[str]:
    """How a recording drifted whose options did not take turns: a sentence each."""
    if not evidence.rows("from notices where code = 'not-in-turn'"):
        return []
    drifts = _drift_over(evidence, run_metrics)
    return [f"The options did not take turns, and {drift.text}." for drift in drifts]


def _drift_over(evidence: Evidence, run_metrics: RunMetrics) -> list[Notice]:
    """Level of the blocks against their order, options allowed for: a block is one value.

    Runs of a block share its level, so their number is no evidence of a trend over blocks.
    """
    table = block_table(run_metrics, run_metrics.work.name, evidence.labels)
    if len(table.blocks) < _LEAST_BLOCKS or not table.positive:
        return []
    # every block has a run of every option, so that the options cancel out of its mean
    y: Floats = np.log(table.values).mean(axis=1)
    time: Floats = table.runs.mean(axis=1)
    slope, p = trend(time - time.mean(), y - y.mean(), len(table.blocks) - 2)
    change = float(np.expm1(slope * (time.max() - time.min())))
    if p >= _SIGNIFICANT or abs(change) < _LEAST_DRIFT:
        return []
    word = "rose" if change > 0 else "fell"
    text = (
        f"{run_metrics.work.title} {word} by {percent(abs(change))} from the first block to the last"
        f" ({p_value(p)}, {len(table.blocks)} blocks)"
    )
    if len(evidence.options) > 1 and not evidence.recorded:
        text += "; blocks in random order keep that out of the comparisons"
    return [Notice("drift-over-study", text)]


def _outliers(evidence: Evidence, run_metrics: RunMetrics) -> list[Notice]:
    """Runs far from the median of their option, and from what the others did in the same block.

    Far: in units of the runs' usual scatter; the second condition spares blocks of a slower machine.
    """
    table = block_table(run_metrics, run_metrics.work.name, evidence.labels)
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
    return merged(
        "outlier",
        (
            (table.options[j], int(table.runs[i, j]), float(np.expm1(away[i, j])))
            for i, j in np.argwhere(far).tolist()
        ),
        f"{run_metrics.work.title} far from the median of the option, where runs of a block usually differ by"
        f" {percent(usual)}",
        _change,
    )


def _change(relative: float) -> str:
    return change(1 + relative)


_LEAST_EFFECT = 0.01
_LEAST_BLOCKS_OF_TURNS = 3


# the ratio to the baseline in the second half of turns, against that in the first
_HALVES = """
    with halves as (
        select option, block, ln(sum(transactions - first_half) / sum(first_half)) as growth
        from turns join runs using (run) group by option, block
        having sum(first_half) > 0 and sum(transactions - first_half) > 0
    )
    select h.option, list(h.growth - b.growth order by block) from halves h join halves b using (block)
    where b.option = $baseline and h.option <> $baseline group by h.option order by h.option
"""
# each option's rate after the turn of another, against its mean of the same deal
_PREDECESSORS = """
    with dealt as (
        select *, lag(option) over (partition by block, point, deal order by start_ns) as after
        from turns join runs using (run)
    ), relative as (
        select option, after, block, ln(transactions)
            - avg(ln(transactions)) over (partition by option, block, point, deal) as log
        from dealt where transactions > 0
    ), of_block as (
        select option, after, block, avg(log) as log from relative where after <> option
        group by option, after, block
    )
    select option, after, list(log order by block) from of_block group by option, after order by option, after
"""


def turn_notices(evidence: Evidence) -> list[Notice]:
    """carry-over: what a turn leaves behind for the next one, or for its own second half."""
    halves = evidence.rows(_HALVES, baseline=evidence.baseline)
    longer = "longer turns (plan.turn_ms) or more settling would change it"
    text = f"carry-over: the ratio to the baseline differs between the halves of a turn: {longer}"
    found = [
        Notice("carry-over", text, option, detail=f"{ratio} in the second half against the first")
        for option, logs in halves
        if (ratio := _effect(logs, len(halves)))
    ]
    predecessors = evidence.rows(_PREDECESSORS)
    text = "carry-over: the rate depends on which option had the turn before (longer plan.turn_ms)"
    return found + [
        Notice("carry-over", text, option, detail=f"{ratio} after {after}")
        for option, after, logs in predecessors
        if (ratio := _effect(logs, len(predecessors)))
    ]


def _effect(logs: Sequence[float], chances: int) -> str:
    """The mean ratio over blocks, where it is proven and matters; ''."""
    if len(logs) < _LEAST_BLOCKS_OF_TURNS:
        return ""
    values = np.array(logs)
    proven = values.std() and t_test(values) * chances < _SIGNIFICANT
    mean = float(values.mean())
    return change(math.exp(mean)) if proven and abs(mean) >= _LEAST_EFFECT else ""


def growth_notices(evidence: Evidence) -> list[Notice]:
    """data-grew: one per option; detail: `orders by 3.1 % to 4.5 %, history by 2.9 % to 4.4 %`."""
    query = """
        select option, entity, list(now.gone / loaded.gone - 1)
        from gauges now join gauges loaded using (run, monitor, entity) join runs using (run)
        where monitor = 'data' and now.metric = 'rows' and loaded.metric = 'rows_loaded'
        group by option, entity order by option, entity
    """
    found = grouped(
        (option, f"{table} by {span_of(shares, percent)}") for option, table, shares in evidence.rows(query)
    )
    per = "block (options of one server share its data)" if evidence.rows("from turns") else "run"
    text = f"rows were added in each {per}; the data as loaded come again for the next"
    return [Notice("data-grew", text, option, detail=", ".join(parts)) for option, parts in found.items()]
