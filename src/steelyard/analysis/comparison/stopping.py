"""When a study may stop before its last block: on the width of its intervals, never on p-values.

Looking at p-values after every block gives 17 % false findings at a nominal 5 %; a rule on width
does not look at the winner. Yet it stops sooner where the scatter is small by luck, so that intervals of
95 % miss in up to 8 % of studies. Studies with such a rule have intervals of 97 %, by which they stop
and by which they are judged: those miss in at most 5 % (benches/truth.py). At least five blocks.
The intervals are those of throughput; in an open loop, which gives the throughput, of p99 latency.
"""

from __future__ import annotations

import math
from collections import Counter

from steelyard.analysis.comparison.block_table import points_of
from steelyard.analysis.comparison.compare import ALPHA, PairTests
from steelyard.analysis.comparison.estimates import estimates
from steelyard.analysis.comparison.pairwise import metrics_that_count
from steelyard.analysis.judgement.outcome import FEWEST_BLOCKS
from steelyard.analysis.judgement.results import Metric, Notice
from steelyard.analysis.metrics.run_metrics import RunMetrics, compute_run_metrics, foremost
from steelyard.bundle.evidence.evidence import Evidence
from steelyard.study.study import Study

_ALPHA_OF_WIDTH = 0.03


def level(study: Study) -> float:
    """1 - confidence of the intervals that a study is judged by."""
    return _ALPHA_OF_WIDTH if study.plan.stop else ALPHA


def stopping_notices(evidence: Evidence) -> list[Notice]:
    """study-stopped: that and when the rule ended the study before its last block."""
    plan = evidence.study.plan
    whole = whole_blocks(evidence)
    if plan.stop is None or whole >= plan.blocks or not stopped(evidence):
        return []
    text = (
        f"the study stopped after {whole} of {plan.blocks} planned blocks: every interval was narrower than"
        f" ±{plan.stop.half_width_percent:g} % (plan.stop). Intervals are computed at 97 %, because early"
        " stopping makes intervals of 95 % miss more often"
    )
    return [Notice("study-stopped", text)]


def stopped(evidence: Evidence) -> bool:
    """Whether the study's own rule has ended it."""
    stop = evidence.study.plan.stop
    return stop is not None and narrow_enough(evidence, stop.half_width_percent, stop.after_blocks)


def whole_blocks(evidence: Evidence) -> int:
    """Blocks in which every option has a run."""
    runs: Counter[int] = Counter(block for (block,) in evidence.rows("select block from runs"))
    return sum(count >= len(evidence.options) for count in runs.values())


def widest_half_width_percent(evidence: Evidence) -> float:
    """Half-width, in percent, of the widest interval of a ratio so far; inf if unknown.

    Intervals are those that the report will show: simultaneous over options and load points.
    """
    run_metrics = compute_run_metrics(evidence)
    metric = foremost(evidence.study, run_metrics)
    options = [option.label for option in evidence.options]
    points = points_of(run_metrics)
    # of one point the report shows the verdict's intervals; the first step of Holm's procedure is the widest
    chances = len(points) if len(points) > 1 else len(metrics_that_count(evidence.study, run_metrics))
    alpha = level(evidence.study) / max(chances, 1)
    return max(
        (_half_width_percent(run_metrics, metric, options, point, alpha) for point in points),
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
