"""What a study could tell apart, and where its scatter comes from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Levels:
    """Scatter of the log ratio of work to the baseline, in a block in turns; standard deviations in percent.

    Of the options the one that scatters most. round_percent: of the rounds of a deal; deal_percent: of deals
    (new connections) beyond what their rounds explain; block_percent: of blocks (new servers) beyond what
    their deals explain. rounds, deals: per block. of_blocks: share of the variance of the estimate that more
    blocks alone would reduce; the rest also longer ones.
    """

    option: str
    round_percent: float
    deal_percent: float
    block_percent: float
    rounds: int
    deals: int
    of_blocks: float


@dataclass(frozen=True)
class Precision:
    """resolution_percent: the smallest true difference in work that 9 of 10 such studies would show.

    None: unknown. levels: of a study in turns.
    """

    resolution_percent: float | None = None
    levels: Levels | None = None
