"""The precision of a study: what it could tell apart, and which level its scatter comes from.

The unit of all intervals is the block: it has new servers, new data and new processes. What differs between
starts stays the same for all rounds of a block, so no number of rounds averages it out; order within rounds
is random, so what neighbours of the machine do does average out. The variance of a block's log ratio is
therefore split by levels as by Kalibera & Jones (2013), "Rigorous benchmarking in reasonable time": rounds
within a deal of connections, deals within a block, blocks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from steelyard.analysis.comparison.compare import ALPHA
from steelyard.analysis.judgement.precision import Levels, Precision
from steelyard.analysis.judgement.results import Comparison, Metric
from steelyard.analysis.statistics import distributions
from steelyard.analysis.statistics.distributions import Floats
from steelyard.bundle.evidence.evidence import Evidence
from steelyard.quantities import says_nothing

_LOG_RATIOS = """
    with done as (select * from turns join runs using (run) where transactions > 0)
    select d.option, d.block, list(ln(d.transactions / b.transactions) order by d.start_ns, d.run)
    from done d join done b using (block, point, deal, round)
    where b.option = $baseline and d.option <> $baseline
    group by d.option, d.block, d.point, d.deal order by min(d.start_ns), d.option
"""
# the share of studies that would show the difference
_POWER = 0.9


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

    A difference of t(95 %) + t(90 %) standard errors is shown in 9 of 10 studies.
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
        found.append(half * (1 + t_power / distributions.t_critical(df, ALPHA)))
    return 100 * math.expm1(max(found)) if found else None


def levels(evidence: Evidence) -> Levels | None:
    """Of the option whose ratio to the baseline scatters most; None without turns or with one block."""
    found = [
        _levels(label, logs)
        for label, logs in _log_ratios(evidence).items()
        if len(logs) > 1 and len(logs[0]) > 1 and len(logs[0][0]) > 1
    ]
    return max(found, key=lambda one: one.block_percent + one.deal_percent + one.round_percent, default=None)


def _levels(label: str, logs: Sequence[Sequence[Floats]]) -> Levels:
    """logs[block][deal]: log ratios of the rounds."""
    rounds = np.mean([len(deal) for block in logs for deal in block])
    deals = np.mean([len(block) for block in logs])
    of_rounds = _pooled([deal for block in logs for deal in block])
    means = [np.asarray([deal.mean() for deal in block]) for block in logs]
    of_deals = _pooled(means)
    of_blocks = float(np.var([float(block.mean()) for block in means], ddof=1))
    beyond_rounds = max(0.0, of_deals - of_rounds / rounds)
    beyond_deals = max(0.0, of_blocks - of_deals / deals)
    return Levels(
        label,
        *(100 * math.sqrt(variance) for variance in (of_rounds, beyond_rounds, beyond_deals)),
        rounds=round(rounds * deals),
        deals=round(deals),
        of_blocks=float(beyond_deals / of_blocks) if of_blocks else 0.0,
    )


def _pooled(groups: Sequence[Floats]) -> float:
    """Variance within groups."""
    df = sum(len(group) - 1 for group in groups)
    return sum(float(np.var(group)) * len(group) for group in groups) / df if df else 0.0


def _log_ratios(evidence: Evidence) -> dict[str, list[list[Floats]]]:
    """By option, of each block and deal the log ratios to the baseline of rounds in which both did work."""
    logs: dict[str, dict[int, list[Floats]]] = {}
    for option, block, deal in evidence.rows(_LOG_RATIOS, baseline=evidence.baseline):
        logs.setdefault(option, {}).setdefault(block, []).append(np.asarray(deal))
    return {option: [*blocks.values()] for option, blocks in logs.items()}
