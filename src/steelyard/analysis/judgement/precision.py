"""What a study could tell apart, and where its scatter comes from."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.quantities import significant


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

    None: unknown. unknown: why, of a study that compares. levels: of a study in turns.
    """

    resolution_percent: float | None = None
    unknown: str = ""
    levels: Levels | None = None

    def resolution(self, title: str) -> str:
        """What a study could tell apart by the metric of this title, or why that is not known; '' of none."""
        percent = self.resolution_percent
        if percent is None:
            return (
                f"the smallest difference in {title} that this study could see is not known: {self.unknown}"
            )
        times = significant(1 + percent / 100, 2)
        size = f"{significant(percent, 2)} %" if percent < 100 else f"a factor of {times}"
        return f"could see differences in {title} of {size} and more (in 9 of 10 such studies)"
