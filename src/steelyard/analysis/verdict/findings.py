"""What a verdict is made of: everything that the analysis has found before an answer is chosen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.analysis.comparison.pairwise import PairResult, Pairwise
from steelyard.analysis.judgement.outcome import FEWEST_BLOCKS
from steelyard.analysis.judgement.results import Comparison, Effect, WinMapCell
from steelyard.analysis.metrics.run_metrics import RunMetrics
from steelyard.analysis.validity.disturbance import Disturbed
from steelyard.analysis.validity.equal_work import WorkCheck
from steelyard.analysis.validity.gauges import GaugeFinding
from steelyard.analysis.validity.pace import logs_of, unlike_pace
from steelyard.analysis.verdict.costs import Costs
from steelyard.analysis.verdict.reasons import reasons, slower_tail
from steelyard.bundle.evidence.evidence import Evidence
from steelyard.study.plan import differences

_MEANING_MAX = 48  # characters: of more, the headline has the code alone
_EXPLANATION_MAX = 160  # a longer one, as of SQL, is no shorter than the study


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
    gauges: Sequence[GaugeFinding]
    disturbed: Disturbed
    work: WorkCheck

    @property
    def labels(self) -> list[str]:
        """Of the options, in the order of the study."""
        return [option.label for option in self.evidence.options]

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

    @property
    def proves(self) -> bool:
        """Whether an option can win: blocks enough, and the same rows under all options."""
        return self.enough and not self.work.meant

    @property
    def too_few(self) -> str:
        """Beside a number of blocks that makes no verdict; '' where there are enough."""
        return "" if self.enough else f"; a verdict needs {FEWEST_BLOCKS}"

    def named(self, label: str) -> str:
        """`B (handle = named)`: a code with what it stands for, unless that is long or the code says it."""
        meaning = self._meaning(label)
        return f"{label} ({meaning})" if 0 < len(meaning) <= _MEANING_MAX else label

    def explained(self, headline: str, labels: Sequence[str]) -> tuple[str, ...]:
        """What those codes stand for that the headline names without room for it: a sentence each."""
        said = ((label, self._meaning(label)) for label in dict.fromkeys(labels))
        return tuple(
            f"{label}: {meaning}."
            for label, meaning in said
            if meaning and f"({meaning})" not in headline and names(headline, label)
        )

    def _meaning(self, label: str) -> str:
        """`handle = named, text = id`; '' where the code says it itself."""
        settings: dict[str, object] = {}
        levels = self.evidence.option(label).levels
        for name, factor in self.evidence.study.factors.items():
            versions = self.evidence.versions
            # a version says more than the folder of its programs
            if factor.scope == "version" and label in versions and len(set(versions.values())) > 1:
                settings["version"] = versions[label]
            else:
                settings |= differences(name, factor).get(levels.get(name, ""), {})
        plain = all(str(value) == label for value in settings.values())
        # SQL of a file has lines, and a semicolon where the sentence ends
        texts = {key: " ".join(str(value).split()).rstrip("; ") for key, value in settings.items()}
        said = [f"{key} = {text}" for key, text in texts.items() if text]
        shown = list(said)
        while len(", ".join(shown)) > _EXPLANATION_MAX:
            shown.pop()
        more = [f"{len(said) - len(shown)} more"] if len(shown) < len(said) else []
        return "" if plain or not shown else ", ".join([*shown, *more])

    def reasons(self, pair: PairResult) -> tuple[str, ...]:
        """What goes with the difference between two options, one sentence each; baseline second."""
        workload = self.evidence.study.workload
        closed_loop = not workload.open_loop and workload.steady
        pair = self.pairwise.toward(pair)
        left_out = logs_of(self.evidence) if self.unlike_pace(pair) else set[str]()
        return reasons(self.costs, pair, closed_loop, self._over, left_out)

    def unlike_pace(self, pair: PairResult) -> bool:
        """Whether the pace of one of two options is much above or below that of the baseline."""
        found = unlike_pace(self.evidence, self.comparisons)
        return any(c.option in (pair.option, pair.other) for c in found)

    def slower_tail(self, pair: PairResult) -> str:
        """Latency p99 of the option where it is worse; '' where it is not, or a metric of the verdict."""
        seen = self.pairwise.toward(pair)
        return slower_tail(self.costs, seen, self._over, worse=1 if seen is pair else -1)

    @property
    def _over(self) -> str:
        return f" over {self.over}" if self.over else ""


def names(text: str, label: str) -> bool:
    """Whether a text names an option, as a word by itself, hyphens included."""
    return re.search(rf"(?<![\w-]){re.escape(label)}(?![\w-])", text) is not None
