"""The answer of a study, in words; what it could tell apart; statements that did other work."""

from dataclasses import dataclass
from typing import Literal

from steelyard.quantities import significant

Answer = Literal[
    "winner", "leaning", "tie", "trade-off", "inconclusive", "it depends", "measured",
    "nothing to compare", "unequal work", "published",
]  # fmt: skip
How = Literal["rows", "writes", "value", "error", "ran out"]


@dataclass(frozen=True)
class Verdict:
    """The answer. winner is None when no option is shown to be better than all others.

    outcome: "it depends": other factors set the work, and the answer is one for each kind of it; "trade-off":
    the leader is better by one metric and worse by another (failures are one); "leaning": fewer than five
    blocks; "measured": one option; "unequal work": options did other work, which outranks all others;
    "published": the sentences of a recording that says what its tables answer.
    headline: the winner and by how much, one sentence of at most 20 words without an interval. interval: that
    of the headline, and the blocks behind it. consequence: what the answer costs or risks, or what is missing
    for one. reasons: why, a sentence each.
    ties: where there is no winner, the leading option and those that are not shown to differ from it.
    """

    outcome: Answer
    winner: str | None
    headline: str
    interval: str
    consequence: str
    reasons: tuple[str, ...] = ()
    ties: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """Headline, interval and consequence, those that there are."""
        return tuple(filter(None, (self.headline, self.interval, self.consequence)))


@dataclass(frozen=True)
class Claim:
    """A figure of a source, and the same from its own tables, with unit; '' where it cannot be computed.

    remark: what else the tables tell of it, or why it cannot be checked.
    """

    says: str
    published: str
    computed: str
    check: Literal["agrees", "does not follow", "cannot be checked"]
    remark: str


@dataclass(frozen=True)
class Difference:
    """One statement that did other work under an option than under the baseline.

    how: `writes` is of a transaction, by the rows that its server counts. rows, baseline_rows: per execution;
    of `ran out` executions until the last row. seen: where, as a clause.
    meant: the study says that its rows may differ.
    """

    statement: str
    option: str
    baseline: str
    how: How
    rows: float
    baseline_rows: float
    seen: str
    meant: bool = False


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
            return f"the smallest difference in {title} that this study could see is unknown: {self.unknown}"
        times = significant(1 + percent / 100, 2)
        # what copies leave is rounding noise
        size = f"{significant(max(percent, 0.01), 2)} %" if percent < 100 else f"a factor of {times}"
        return f"could see differences in {title} of {size} and more (in 9 of 10 such studies)"
