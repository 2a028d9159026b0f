"""What a study could tell apart, and when it may stop: on the width of its intervals, never on p-values.

Looking at p-values after every block gives 17 % false findings at a nominal 5 %; a rule on width
does not look at the winner. Yet it stops sooner where the scatter is small by luck, so that intervals of
95 % miss in up to 8 % of studies. Studies with such a rule have intervals of 97 %, by which they stop
and by which they are judged: those miss in at most 5 % (benches/truth.py). At least five blocks.
The intervals are those of throughput; in an open loop, which gives the throughput, of p99 latency.

More blocks reduce all of the scatter; longer blocks only what comes from within them, but spare the set-up of
further servers. Which is shorter follows from the share of the variance that is between blocks.

The unit of all intervals is the block: it has new servers, new data and new processes. What differs between
starts stays the same for all rounds of a block, so no number of rounds averages it out; order within rounds
is random, so what neighbours of the machine do does average out. The variance of a block's log ratio is
therefore split by levels as by Kalibera & Jones (2013), "Rigorous benchmarking in reasonable time": rounds
within a deal of connections, deals within a block, blocks.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.analysis.comparison.block_table import estimates, points_of
from steelyard.analysis.comparison.compare import STRICTER, PairTests
from steelyard.analysis.comparison.pairwise import metrics_that_count
from steelyard.analysis.judgement import FEWEST_BLOCKS, Comparison, Metric, Notice
from steelyard.analysis.judgement.verdict import Levels, Precision
from steelyard.analysis.metrics.run_metrics import RunMetrics, compute_run_metrics, foremost
from steelyard.analysis.statistics import distributions
from steelyard.analysis.statistics.distributions import ALPHA
from steelyard.bundle.evidence import Evidence
from steelyard.quantities import count, duration, says_nothing, significant
from steelyard.study.study import Study

# by option, of each block and deal the log ratios to the baseline of rounds in which both did work
_LOG_RATIOS = """
    with done as (select * from turns join runs using (run) where transactions > 0),
    deals as (
        select d.option, d.block, min(d.start_ns) as start_ns,
            list(ln(d.transactions / b.transactions) order by d.start_ns, d.run) as logs
        from done d join done b using (block, point, deal, round)
        where b.option = $baseline and d.option <> $baseline group by d.option, d.block, d.point, d.deal
    ), blocks as (
        select option, min(start_ns) as start_ns, list(logs order by start_ns) as deals
        from deals group by option, block
    )
    select option, list(deals order by start_ns) from blocks group by option order by min(start_ns), option
"""
# the share of studies that would show the difference
_POWER = 0.9
_ALPHA_OF_WIDTH = 0.03
# beyond this many the machine or the question is at fault, not the number
_BLOCKS_MAX = 1000
# how many times longer a block may become
_LENGTHS = (1, 2, 4, 8)


def precision(evidence: Evidence, foremost: Metric | None, comparisons: Sequence[Comparison]) -> Precision:
    """Of the comparisons with the baseline by the foremost metric, over all load points."""
    if foremost is None:
        return Precision()
    mine = [c for c in comparisons if c.metric == foremost.name and c.clients is None]
    resolution_percent = _resolution_percent(mine)
    # that there is one block stands in the first sentence
    known = resolution_percent is not None or not mine or any(c.blocks == 1 for c in mine)
    unknown = "" if known else "the runs give no interval that says anything"
    return Precision(resolution_percent, unknown, levels(evidence))


def _resolution_percent(comparisons: Sequence[Comparison]) -> float | None:
    """Of the widest interval; None where one is unknown or says nothing.

    A difference of t(95 %) + t(90 %) standard errors is shown in 9 of 10 studies; one that is too small to
    matter needs t(99 %).
    """
    found: list[float] = []
    for one in comparisons:
        df = one.blocks - 1
        if (
            df < 1
            or not one.ratio > 0
            or not one.ratio < one.high < math.inf
            or says_nothing(one.low, one.high)
        ):
            return None
        half = math.log(one.high / one.ratio)
        t_power = distributions.t_critical(df, 2 * (1 - _POWER))
        # without allowance for several options, so that the result errs on the large side
        se, margin = half / distributions.t_critical(df, ALPHA), math.log1p(one.margin)
        shown, small = (
            se * (t_power + distributions.t_critical(df, alpha)) for alpha in (ALPHA, ALPHA / STRICTER)
        )
        found.append(max(shown, min(small, margin)))
    return 100 * math.expm1(max(found)) if found else None


def levels(evidence: Evidence) -> Levels | None:
    """Of the option whose ratio to the baseline scatters most; None without turns or with one block."""
    found = [
        _levels(label, logs)
        for label, logs in evidence.rows(_LOG_RATIOS, baseline=evidence.baseline)
        if len(logs) > 1 and len(logs[0]) > 1 and len(logs[0][0]) > 1
    ]
    return max(found, key=lambda one: one.block_percent + one.deal_percent + one.round_percent, default=None)


def _levels(label: str, logs: Sequence[Sequence[Sequence[float]]]) -> Levels:
    """logs[block][deal]: log ratios of the rounds."""
    rounds = np.mean([len(deal) for block in logs for deal in block])
    deals = np.mean([len(block) for block in logs])
    of_rounds = _pooled([deal for block in logs for deal in block])
    means = [[float(np.mean(deal)) for deal in block] for block in logs]
    of_deals = _pooled(means)
    of_blocks = float(np.var([np.mean(block) for block in means], ddof=1))
    beyond_rounds = max(0.0, of_deals - of_rounds / rounds)
    beyond_deals = max(0.0, of_blocks - of_deals / deals)
    return Levels(
        label,
        *(100 * math.sqrt(variance) for variance in (of_rounds, beyond_rounds, beyond_deals)),
        rounds=round(rounds * deals),
        deals=round(deals),
        of_blocks=float(beyond_deals / of_blocks) if of_blocks else 0.0,
    )


def _pooled(groups: Sequence[Sequence[float]]) -> float:
    """Variance within groups."""
    df = sum(len(group) - 1 for group in groups)
    return sum(float(np.var(group)) * len(group) for group in groups) / df if df else 0.0


def level(study: Study) -> float:
    """1 - confidence of the intervals that a study is judged by."""
    return _ALPHA_OF_WIDTH if study.plan.stop else ALPHA


def stopping_notices(evidence: Evidence) -> list[Notice]:
    """study-stopped: that and when the rule ended the study before its last block; half-width: that intervals
    are wider than it wants, and how long that would take."""
    study, whole = evidence.study, whole_blocks(evidence)
    plan, stop = study.plan, study.plan.stop
    if stop is None:
        return []
    target = f"±{stop.half_width_percent:g} %"
    if stopped(evidence):
        text = (
            f"the study stopped after {whole} of {plan.blocks} planned blocks: every interval was narrower"
            f" than {target} (plan.stop). Intervals are computed at 97 %, because early stopping makes"
            " intervals of 95 % miss more often"
        )
        return [Notice("study-stopped", text)] * (whole < plan.blocks)
    if evidence.recorded:
        return []
    if whole < FEWEST_BLOCKS:
        text = f"{count(whole, 'block')} cannot show how long intervals of {target} would take (plan.stop)"
        text = f"{text}: begin with {FEWEST_BLOCKS}"
    elif not math.isfinite(widest := widest_half_width_percent(evidence)):
        text = f"an interval is unknown, so none of {target} is shown (plan.stop)"
    else:
        found = levels(evidence)
        sampling = Sampling(
            widest,
            level(study),
            whole,
            block_s=evidence.column("select sum(seconds) from runs")[0] / whole,
            measured_s=plan.measure_s * len(plan.clients) * len(evidence.options),
            of_blocks=1.0 if found is None else found.of_blocks,
        )
        advice = f"{_BLOCKS_MAX} blocks would not do; make the machine quieter (steelyard doctor)"
        if enough := shortest(sampling, stop.half_width_percent):
            longer = f" of {duration(enough.times * plan.measure_s)} (plan.measure_s)" * (enough.times > 1)
            advice = f"about {enough.blocks} blocks{longer} would do, {duration(enough.seconds)} in all"
        text = f"the widest interval is ±{significant(widest, 2)} %, not {target} (plan.stop)"
        text = f"{text}: at this scatter {advice}"
    return [Notice("half-width", text)]


def stopped(evidence: Evidence) -> bool:
    """Whether the study's own rule has ended it."""
    stop = evidence.study.plan.stop
    return stop is not None and narrow_enough(evidence, stop.half_width_percent, stop.after_blocks)


def whole_blocks(evidence: Evidence) -> int:
    """Blocks in which every option has a run."""
    blocks = evidence.column("select count(*) from runs group by block")
    return sum(runs >= len(evidence.options) for runs in blocks)


def widest_half_width_percent(evidence: Evidence) -> float:
    """Half-width, in percent, of the widest interval of a ratio so far; inf if unknown.

    Intervals are those that the report will show: simultaneous over options and load points.
    """
    run_metrics = compute_run_metrics(evidence)
    metric = foremost(evidence.study, run_metrics)
    points = points_of(run_metrics)
    # of one point the report shows the verdict's intervals; the first step of Holm's procedure is the widest
    chances = len(points) if len(points) > 1 else len(metrics_that_count(evidence.study, run_metrics))
    alpha = level(evidence.study) / max(chances, 1)
    return max(
        (_half_width_percent(run_metrics, metric, evidence.labels, point, alpha) for point in points),
        default=math.inf,
    )


def narrow_enough(evidence: Evidence, half_width_percent: float, after_blocks: int = FEWEST_BLOCKS) -> bool:
    """Whether the study may stop: every interval is this narrow, after enough whole blocks."""
    if whole_blocks(evidence) < max(after_blocks, FEWEST_BLOCKS):
        return False
    return widest_half_width_percent(evidence) <= half_width_percent


def _half_width_percent(
    run_metrics: RunMetrics, metric: Metric, options: list[str], point: int, alpha: float
) -> float:
    if len(options) == 1:
        alone = estimates(run_metrics, metric, options, point)
        return max((100 * (e.high / e.value - 1) for e in alone), default=math.inf)
    tests = PairTests(run_metrics, metric, options, 0.0, point)
    # an option that is too rarely there has no interval at all, hence none that is narrow
    if len(tests.options) < len(options) or not tests.logs:
        return math.inf
    pairs = [(option, options[0]) for option in options[1:]]
    half = max(tests.half_widths(pairs, alpha))
    return 100 * math.expm1(half) if half < 100 else math.inf


@dataclass(frozen=True)
class Sampling:
    """What the blocks so far show.

    half_width_percent: of the widest interval; alpha: its level. block_s: length of a block, measured_s of it
    is under load and counted. of_blocks: share of the variance that longer blocks leave; 1: unknown.
    """

    half_width_percent: float
    alpha: float
    blocks: int
    block_s: float
    measured_s: float
    of_blocks: float = 1.0


@dataclass(frozen=True)
class Extension:
    """A study that is long enough: blocks, each `times` as long under load; seconds: in all."""

    blocks: int
    times: int
    seconds: float


def shortest(sampling: Sampling, half_width_percent: float) -> Extension | None:
    """The shortest study with intervals of that half-width; None beyond 1000 blocks.

    The half-width of n blocks is t(n - 1) / sqrt(n) times the scatter of one.
    """
    now = _of_scatter(sampling.blocks, sampling.alpha)
    ratio = math.log1p(half_width_percent / 100) / math.log1p(sampling.half_width_percent / 100)
    found: list[Extension] = []
    for times in _LENGTHS if sampling.of_blocks < 1 else (1,):
        scatter = math.sqrt(sampling.of_blocks + (1 - sampling.of_blocks) / times)
        enough = range(FEWEST_BLOCKS, _BLOCKS_MAX + 1)
        wanted = (n for n in enough if _of_scatter(n, sampling.alpha) * scatter <= ratio * now)
        if (blocks := next(wanted, None)) is not None:
            block_s = sampling.block_s + (times - 1) * sampling.measured_s
            found.append(Extension(blocks, times, blocks * block_s))
    return min(found, key=lambda one: one.seconds, default=None)


def _of_scatter(blocks: int, alpha: float) -> float:
    """Half-width of an interval in scatters of a block."""
    return distributions.t_critical(blocks - 1, alpha) / math.sqrt(blocks)
