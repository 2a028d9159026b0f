"""The nouns that the analysis returns and the report shows. Notices are data and part of them.

Where there are too few blocks for an interval (one block), low is 0 and high is infinite.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from steelyard.analysis.judgement.latches import (
    LatchCosts,
    LatchRow,
    LockRow,
    ProfileRow,
    SchedulingRow,
    WhatIf,
)
from steelyard.analysis.judgement.scaling import Scaling
from steelyard.analysis.judgement.verdict import Claim, Difference, Precision, Verdict
from steelyard.declared_metrics import CostKind

FEWEST_BLOCKS = 5
"""Behind a verdict: the scatter of fewer may be ten times too small or too large, whatever the interval."""

# different: proven, for a metric of which neither more nor less is better (Better "neither")
Outcome = Literal["better", "worse", "equivalent", "inconclusive", "different"]
Standing = Literal[
    Outcome, "leaning better", "leaning worse", "leaning equivalent", "leaning different", "not tested"
]

_LEANING: dict[Outcome, Standing] = {
    "better": "leaning better",
    "worse": "leaning worse",
    "equivalent": "leaning equivalent",
    "different": "leaning different",
}
Better = Literal["higher", "lower", "neither"]


@dataclass(frozen=True)
class Metric:
    """A quantity of equal rank for comparisons. name carries the unit: server_cpu_us_per_txn.

    smallest_effect: the smallest difference, in unit, that is a reason. summary: of runs. kind: of a cost.
    """

    name: str
    title: str
    unit: str
    better: Better
    smallest_effect: float = 0.0
    summary: Literal["mean", "maximum"] = "mean"
    kind: CostKind | Literal[""] = ""

    @property
    def per_txn(self) -> bool:
        """Whether it is a cost of one transaction, by whatever name the workload calls it."""
        return self.name.endswith("_per_txn")

    @property
    def work(self) -> str:
        """Of what a cost is counted: `transaction`, `lookup`, `bops`; '' for what is no cost."""
        per = self.unit.partition("/")[2]
        return "transaction" if per == "txn" else per

    @property
    def each(self) -> str:
        """What a cost is counted for: `per transaction`, `per lookup`; of a gauge `at most`."""
        return f"per {self.work}" if self.work else "at most"

    @property
    def full_title(self) -> str:
        """`server CPU per transaction`, `latency p99`."""
        return f"{self.title} {self.each}" if self.per_txn else self.title


@dataclass(frozen=True)
class Headlines:
    """The metrics that every report shows, by role; None where the study did not measure one.

    work: the rate of work done; of programs their score. Of queries the geometric mean of their times and of
    an emulated guest the instruction time, where lower is better. cpu: CPU time per unit of that work.
    p50, p99: latency. scores: all scores of a program, the compared one first. latency: ranks the options
    where an open loop gives the work; None: the work does.
    """

    work: Metric | None = None
    cpu: Metric | None = None
    p50: Metric | None = None
    p99: Metric | None = None
    scores: tuple[Metric, ...] = ()
    latency: Metric | None = None

    @property
    def foremost(self) -> Metric | None:
        """Ranks the options: what the study is about first."""
        return self.latency or self.work


@dataclass(frozen=True)
class Notice:
    """A fact that the reader must know. subject: option label, or '' for the whole study; runs: where seen.
    text: the same for every option; detail: the numbers of this option that triggered it."""

    code: str
    text: str
    subject: str = ""
    runs: tuple[int, ...] = ()
    detail: str = ""


@dataclass(frozen=True)
class Estimate:
    """The level of one option by one metric: geometric mean over blocks (mean where zeros occur).

    Of a `maximum` the highest of all runs, without an interval. clients: the point; None: all points.
    """

    metric: str
    option: str
    clients: int | None
    value: float
    low: float
    high: float
    blocks: int


@dataclass(frozen=True)
class Comparison:
    """option / baseline for one metric. ratio with its 95 % simultaneous interval [low, high].

    The two metrics of a verdict share the 5 %: the interval of the first step in Holm's procedure is 97.5 %.
    clients: the load point; None: all load points together (mean log ratio, one value per run).
    At one of several load points, interval and p-value allow for the number of load points (Bonferroni).
    p_value: adjusted for the number of options compared; NaN of one block. outcome is in the user's terms:
    `better` for a lower latency or CPU cost. margin: the smallest ratio that matters, as a fraction (0.03).
    settled_at: blocks that would settle an inconclusive one; None: unknown. mean: over points and blocks.
    """

    metric: str
    option: str
    baseline: str
    clients: int | None
    ratio: float
    low: float
    high: float
    p_value: float
    blocks: int
    margin: float
    outcome: Outcome
    notices: tuple[Notice, ...] = ()
    settled_at: int | None = None
    mean: str = "geometric mean"

    @property
    def standing(self) -> Standing:
        """What tables and sentences call the outcome: of few blocks `leaning better`, never `better`."""
        if self.blocks == 1 and self.outcome == "inconclusive":
            return "not tested"
        return self.outcome if self.blocks >= FEWEST_BLOCKS else _LEANING.get(self.outcome, self.outcome)


@dataclass(frozen=True)
class Effect:
    """One main effect or interaction on the log scale. share: of the variation, 0 to 1.

    low, high: 95 % interval of the share; 0 and 1 where there is none (one block). p_value: of the effect
    against the noise within blocks, adjusted over all effects of the metric; 1 where it cannot be tested.
    levels: for each combination of codes, its ratio to the grand geometric mean.
    """

    metric: str
    factors: tuple[str, ...]
    share: float
    low: float
    high: float
    p_value: float
    levels: Mapping[tuple[str, ...], float]


@dataclass(frozen=True)
class Fairness:
    """How evenly clients were served: medians of runs. jain_null: expected by chance (Poisson)."""

    option: str
    clients: int
    jain: float
    jain_null: float
    min_over_mean: float
    max_over_min: float
    cv: float
    unfair: bool


@dataclass(frozen=True)
class CostDifference:
    """A part of the cost of a transaction that differs: option minus baseline, in `unit` per transaction.

    before, after: means of baseline and option; [low, high]: 95 % interval of after - before.
    share: of the whole difference in server CPU per transaction, where that is meaningful.
    """

    metric: str
    option: str
    baseline: str
    unit: str
    before: float
    after: float
    low: float
    high: float
    share: float | None


@dataclass(frozen=True)
class WinMapCell:
    """Throughput under a dispatch table over that under another, all else alike, at one number of threads.

    level, baseline: codes of the factor that sets the table; others: code by the other factors. margin: the
    study's smallest effect, as a fraction. winner: the table whose throughput is higher by more than the
    margin, with the whole 95 % interval [low, high] beyond it; None: no such difference is shown.
    """

    level: str
    baseline: str
    others: Mapping[str, str]
    clients: int
    ratio: float
    low: float
    high: float
    margin: float
    winner: str | None


@dataclass(frozen=True)
class QueryRow:
    """One query of an option at some number of streams. comparison: adjusted for all queries and options."""

    query: str
    option: str
    clients: int
    ns: float
    comparison: Comparison | None


@dataclass(frozen=True)
class StatementLatency:
    """A statement (`transaction`: the whole) at a load point. comparison: of the p50, adjusted for all."""

    statement: str
    option: str
    clients: int
    count: int
    p50_ns: float
    p99_ns: float
    comparison: Comparison | None


@dataclass(frozen=True)
class Judgement:
    """The whole analysis of one bundle. headlines: those of `metrics` that every report shows.

    work: statements that did other work; equal_work: of each other statement, how far its rows were compared.
    """

    question: str
    baseline: str
    options: tuple[str, ...]
    metrics: tuple[Metric, ...]
    verdict: Verdict
    estimates: tuple[Estimate, ...]
    comparisons: tuple[Comparison, ...]
    effects: tuple[Effect, ...]
    fairness: tuple[Fairness, ...]
    costs: tuple[CostDifference, ...]
    notices: tuple[Notice, ...]
    headlines: Headlines = field(default_factory=Headlines)
    precision: Precision = field(default_factory=Precision)
    scaling: tuple[Scaling, ...] = ()
    latches: tuple[LatchRow, ...] = ()
    what_if: tuple[WhatIf, ...] = ()
    latch_costs: LatchCosts | None = None
    win_map: tuple[WinMapCell, ...] = ()
    claims: tuple[Claim, ...] = ()
    queries: tuple[QueryRow, ...] = ()
    statements: tuple[StatementLatency, ...] = ()
    work: tuple[Difference, ...] = ()
    equal_work: Mapping[str, str] = field(default_factory=dict[str, str])
    profile: tuple[ProfileRow, ...] = ()
    locks: tuple[LockRow, ...] = ()
    scheduling: tuple[SchedulingRow, ...] = ()

    @cached_property
    def _levels(self) -> dict[tuple[str, int | None, str], Estimate]:
        return {(e.metric, e.clients, e.option): e for e in self.estimates}

    def level(self, metric: str, option: str, clients: int | None = None) -> Estimate | None:
        """At this number of clients; over all load points if no option has this number, or None is given."""
        of_point = any((metric, clients, one) in self._levels for one in self.options)
        return self._levels.get((metric, clients if of_point else None, option))
