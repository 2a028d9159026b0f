"""What a verdict is made of: everything that the analysis has found before an answer is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.analysis.comparison.notices import FEWEST_BLOCKS
from steelyard.analysis.comparison.pairwise import PairResult, Pairwise
from steelyard.analysis.judgement.results import Comparison, Effect, Notice, WinMapCell
from steelyard.analysis.kernel.profile import profile_reasons
from steelyard.analysis.metrics.run_metrics import RunMetrics
from steelyard.analysis.validity.disturbance import Disturbed
from steelyard.analysis.verdict.costs import Costs
from steelyard.analysis.verdict.reasons import reasons
from steelyard.bundle.evidence.evidence import Evidence

_MOST_SEVERE = 3


@dataclass(frozen=True)
class Findings:
    """comparisons: with the baseline, at every load point. win_map: empty unless tables were compared."""

    evidence: Evidence
    run_metrics: RunMetrics
    pairwise: Pairwise
    comparisons: Sequence[Comparison]
    effects: Sequence[Effect]
    costs: Costs
    win_map: Sequence[WinMapCell]
    gauges: Sequence[Notice]
    disturbed: Disturbed

    @property
    def margin(self) -> str:
        """The smallest effect that matters to the study: `3 %`."""
        return f"{self.evidence.study.plan.smallest_effect_percent:.3g} %"

    @property
    def blocks(self) -> int:
        """Blocks behind the comparisons: the fewest of all."""
        return min(c.blocks for pair in self.pairwise.pairs.values() for _, c in pair.by_metric)

    @property
    def over(self) -> str:
        """`1 to 8 clients`: the load points of which one figure is a mean; '' where there is one."""
        clients = sorted(set(self.run_metrics.clients.tolist()))
        points_are = self.evidence.study.workload.points_are
        return f"{clients[0]} to {clients[-1]} {points_are}" if len(clients) > 1 else ""

    @property
    def enough(self) -> bool:
        """Whether there are blocks enough for a verdict."""
        return self.blocks >= FEWEST_BLOCKS

    def named(self, label: str) -> str:
        """`B (handle = named)`: what a code stands for, where one factor makes the option."""
        factors = self.evidence.study.factors
        levels = self.evidence.option(label).levels
        if len(factors) != 1:
            return label
        name, factor = next(iter(factors.items()))
        level = factor.levels.get(levels.get(name, ""))
        settings = level if isinstance(level, dict) else {factor.setting or name: level}
        meaning = ", ".join(f"{key} = {value}" for key, value in settings.items() if value != "")
        plain = not meaning or level is None or str(level) == label or len(meaning) > 48
        return label if plain else f"{label} ({meaning})"

    def reasons(self, pair: PairResult) -> tuple[str, ...]:
        """What goes with the difference between two options, one sentence each."""
        workload = self.evidence.study.workload
        closed_loop = not workload.open_loop and workload.steady
        return reasons(self.costs, pair, closed_loop, f" over {self.over}" if self.over else "")

    def further_reasons(self, winner: str | None) -> tuple[str, ...]:
        """Reasons of any verdict: the profile of the winner, and what an option does not release."""
        severe = [n for n in self.gauges if n.code in ("gauge-full", "gauge-not-reclaimed")]
        held = (f"{notice.subject}: {notice.text}." for notice in severe[:_MOST_SEVERE])
        return (*profile_reasons(self.evidence, winner), *held)
