"""What turns and runs leave behind: rows added, and whether an option's rate depends on the half of its
turn, or on the turn before.

The block is the unit. A difference is reported from 1 % on: below it no action follows.
"""

import math
from collections.abc import Sequence

import numpy as np

from steelyard.analysis.judgement import Notice
from steelyard.analysis.statistics import distributions
from steelyard.bundle.evidence import Evidence, grouped
from steelyard.quantities import change, percent, span_of

_SIGNIFICANT = 0.01
_LEAST_EFFECT = 0.01
_LEAST_BLOCKS = 3


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
    if len(logs) < _LEAST_BLOCKS:
        return ""
    mean, se = float(np.mean(logs)), float(np.std(logs, ddof=1)) / math.sqrt(len(logs))
    if abs(mean) < _LEAST_EFFECT or not se:
        return ""
    p = float(distributions.t_two_sided(mean / se, len(logs) - 1))
    return change(math.exp(mean)) if p * chances < _SIGNIFICANT else ""


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
