"""How long a study takes until its intervals are as narrow as plan.stop wants.

More blocks reduce all of the scatter; longer blocks only what comes from within them, but spare the set-up of
further servers. Which is shorter follows from the share of the variance that is between blocks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from steelyard import quantities as fmt
from steelyard.analysis.comparison.notices import FEWEST_BLOCKS
from steelyard.analysis.comparison.precision import levels
from steelyard.analysis.comparison.stopping import (
    level,
    stopped,
    whole_blocks,
    widest_half_width_percent,
)
from steelyard.analysis.judgement.results import Notice
from steelyard.analysis.statistics import distributions
from steelyard.bundle.evidence.evidence import Evidence

# beyond this many the machine or the question is at fault, not the number
_BLOCKS_MAX = 1000
# how many times longer a block may become
_LENGTHS = (1, 2, 4, 8)


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


def remaining_notices(evidence: Evidence) -> list[Notice]:
    """half-width: that the intervals are wider than plan.stop wants, and how long that would take."""
    plan = evidence.study.plan
    if plan.stop is None or stopped(evidence) or evidence.study.subject.kind == "recording":
        return []
    blocks, target = whole_blocks(evidence), plan.stop.half_width_percent
    if blocks < FEWEST_BLOCKS:
        text = f"{fmt.count(blocks, 'block')} cannot show how long intervals of ±{target:g} % would take"
        return [Notice("half-width", f"{text} (plan.stop): begin with {FEWEST_BLOCKS}")]
    widest = widest_half_width_percent(evidence)
    if not math.isfinite(widest):
        return [
            Notice("half-width", f"an interval is unknown, so none of ±{target:g} % is shown (plan.stop)")
        ]
    wide = f"the widest interval is ±{fmt.significant(widest, 2)} %, not ±{target:g} % (plan.stop)"
    found = levels(evidence)
    sampling = Sampling(
        widest,
        level(evidence.study),
        blocks,
        block_s=evidence.rows("select sum(seconds) from runs")[0][0] / blocks,
        measured_s=plan.measure_s * len(plan.clients) * len(evidence.options),
        of_blocks=1.0 if found is None else found.of_blocks,
    )
    return [Notice("half-width", f"{wide}: {_advice(shortest(sampling, target), plan.measure_s)}")]


def _advice(found: Extension | None, measure_s: float) -> str:
    if found is None:
        return (
            f"at this scatter {_BLOCKS_MAX} blocks would not do; make the machine quieter (steelyard doctor)"
        )
    longer = f" of {fmt.duration(found.times * measure_s)} (plan.measure_s)" if found.times > 1 else ""
    return (
        f"at this scatter about {found.blocks} blocks{longer} would do, {fmt.duration(found.seconds)} in all"
    )


def _of_scatter(blocks: int, alpha: float) -> float:
    """Half-width of an interval in scatters of a block."""
    return distributions.t_critical(blocks - 1, alpha) / math.sqrt(blocks)
