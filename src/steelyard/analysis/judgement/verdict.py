"""The answer of a study, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Answer = Literal[
    "winner",
    "leaning",
    "tie",
    "trade-off",
    "inconclusive",
    "it depends",
    "measured",
    "nothing to compare",
    "unequal work",
]


@dataclass(frozen=True)
class Verdict:
    """The answer. winner is None when no option is shown to be better than all others.

    outcome: "it depends": other factors set the work, and the answer is one for each kind of it; "trade-off":
    the leader is better by one metric and worse by another (failures are one); "leaning": fewer than five
    blocks; "measured": one option; "unequal work": options did other work, which outranks all others.
    headline: the winner and by how much, one sentence of at most 20 words without an interval. interval: that
    of the headline, and the blocks behind it. consequence: what the answer costs or risks, or what is missing
    for one. reasons: why, a sentence each.
    ties: where there is no winner, the leading option and those that are not shown to differ from it.
    """

    outcome: Answer
    winner: str | None
    headline: str
    interval: str = ""
    consequence: str = ""
    reasons: tuple[str, ...] = ()
    ties: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """Headline, interval and consequence, those that there are."""
        return tuple(line for line in (self.headline, self.interval, self.consequence) if line)
