"""What a verdict is made of: everything that the analysis has found before an answer is chosen.

Reasons state what was counted and no more: which costs differ, by how much, how sure. There is one per cost
that is proven, material and large enough.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from steelyard.analysis.comparison.block_table import shared_points, values_of
from steelyard.analysis.comparison.pairwise import PairResult, Pairwise
from steelyard.analysis.judgement import FEWEST_BLOCKS, Comparison, Effect, Outcome, WinMapCell
from steelyard.analysis.metrics.measured import SERVER_CPU
from steelyard.analysis.metrics.run_metrics import P99, THROUGHPUT, RunMetrics
from steelyard.analysis.validity.disturbance import Disturbed
from steelyard.analysis.validity.equal_work import WorkCheck
from steelyard.analysis.validity.gauges import GaugeFinding
from steelyard.analysis.validity.pace import unlike_pace
from steelyard.analysis.validity.stability import order_doubts
from steelyard.analysis.verdict.costs import PARTS, SYSTEM, USER, Cost, Costs
from steelyard.analysis.verdict.decision import capitalised
from steelyard.bundle.evidence import Evidence
from steelyard.quantities import count, decrease, percent, significant
from steelyard.study.plan import differences

Sentences = tuple[str, ...]
_MEANING_MAX = 48  # characters: of more, the headline has the code alone
_EXPLANATION_MAX = 160  # a longer one, as of SQL, is no shorter than the study
_LEAST_CHANGE = 0.05  # relative change of a cost
_MOST_SENTENCES = 7
_COUNTED = 2  # sentences kept for what is counted: blocks read or log written cause the times


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
        clients = sorted(shared_points(self.run_metrics).values())
        points_are = self.evidence.workload.points_are
        return f"{clients[0]} to {clients[-1]} {points_are}" if len(clients) > 1 else ""

    @property
    def enough(self) -> bool:
        """Whether there are blocks enough for a verdict."""
        return self.blocks >= FEWEST_BLOCKS

    @property
    def proves(self) -> bool:
        """Whether an option can win: enough blocks, the same rows, all options compared, a known order."""
        return not (not self.enough or self.work.meant or self.too_few_values or self.order_doubts)

    @cached_property
    def order_doubts(self) -> list[str]:
        """What makes the order of a recording's runs doubtful: a sentence each."""
        return order_doubts(self.evidence, self.run_metrics)

    @cached_property
    def too_few_values(self) -> list[str]:
        """Options with too few values of the first metric to be compared."""
        first, compared = self.pairwise.metrics[0].name, self.pairwise.options
        found = values_of(self.run_metrics, first, self.evidence.labels)
        return [label for label in found if label not in compared]

    def named(self, label: str) -> str:
        """`B (handle = named)`: a code with what it stands for, unless that is long or the code says it."""
        meaning = self._meaning(label)
        return f"{label} ({meaning})" if 0 < len(meaning) <= _MEANING_MAX else label

    def explained(self, headline: str, labels: Sequence[str]) -> Sentences:
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

    def reasons(self, pair: PairResult) -> Sentences:
        """What goes with the difference between two options, one sentence each; baseline second."""
        workload = self.evidence.workload
        closed_loop = not workload.open_loop and workload.steady
        pair = self.pairwise.toward(pair)
        return reasons(self.costs, pair, closed_loop, self._over, self.unlike_pace(pair))

    def unlike_pace(self, pair: PairResult) -> bool:
        """Whether the pace of one of two options is much above or below that of the baseline."""
        found = unlike_pace(self.evidence, self.comparisons)
        return any(c.option in (pair.option, pair.other) for c in found)

    def slower_tail(self, pair: PairResult) -> str:
        """Latency p99 of the option where it is worse; '' where it is not, or a metric of the verdict."""
        seen = self.pairwise.toward(pair)
        if any(metric.name == P99.name for metric, _ in seen.by_metric):
            return ""
        # worse for the option is lower under the other where the pair is turned
        return "".join(_p99(self.costs, seen, self._over, worse=1 if seen is pair else -1))

    @property
    def _over(self) -> str:
        return f" over {self.over}" if self.over else ""


def names(text: str, label: str) -> bool:
    """Whether a text names an option, as a word by itself, hyphens included."""
    return re.search(rf"(?<![\w-]){re.escape(label)}(?![\w-])", text) is not None


def reasons(
    costs: Costs, pair: PairResult, closed_loop: bool = True, over: str = "", other_pace: bool = False
) -> Sentences:
    """One sentence per cost, CPU first; what the tables call equivalent or leave open is no reason.

    closed_loop: clients send as soon as they are answered, so that throughput can follow from CPU. over: the
    load points of which each figure is a mean, ` over 1 to 8 clients`. other_pace: bytes of a log, which a
    server writes per time and per page as well, explain nothing.
    """
    by_name = {cost.metric.name: cost for cost in costs.of(pair)}
    found: list[str] = []
    if cpu := by_name.get(SERVER_CPU.name):
        found.append(_cpu(by_name, pair, costs.outcome(cpu.metric, pair), over))
        few = pair.by_metric[0][1].blocks < FEWEST_BLOCKS
        found += _pace(cpu, costs.by(THROUGHPUT.name, pair), pair) if closed_loop and not few else ()
    found += _p99(costs, pair, over) if closed_loop else ()
    rest = [
        cost
        for name, cost in by_name.items()
        if name not in (SERVER_CPU.name, *PARTS)
        and not (other_pace and cost.metric.kind == "log")
        and cost.material
        and cost.relative >= _LEAST_CHANGE
        and costs.outcome(cost.metric, pair) not in ("equivalent", "inconclusive")
    ]
    # times first, the longest before the others; of what is counted first what the option costs more
    times = sorted((c for c in rest if c.unit == "us"), key=lambda c: -abs(c.change))
    counted = sorted((c for c in rest if c.unit != "us"), key=lambda c: (c.change < 0, -c.relative))
    room = _MOST_SENTENCES - len(found)
    first = times[: room - min(_COUNTED, len(counted))]
    found += [_other(cost, pair, over) for cost in [*first, *counted][:room]]
    return tuple(found)


def _pace(cpu: Cost, work: Cost | None, pair: PairResult) -> Sentences:
    """How far server CPU goes as an explanation of throughput; nothing where that hardly differs."""
    if work is None or work.before <= 0 or cpu.after <= 0 or not cpu.material:
        return ()
    return (
        f"Were server CPU the only limit, throughput would be {significant(cpu.before / cpu.after)} times"
        f" that of {pair.other}; {significant(work.after / work.before)} times was measured.",
    )


def _p99(costs: Costs, pair: PairResult, over: str, worse: int = 0) -> Sentences:
    """The slowest transactions, which the verdict on a closed loop does not count, as far as tables call them
    better or worse. worse: of the change that counts, its sign; 0: both.
    """
    cost = costs.by(P99.name, pair)
    if cost is None or cost.relative < _LEAST_CHANGE or cost.change * worse < 0:
        return ()
    if costs.outcome(cost.metric, pair) not in ("better", "worse"):
        return ()
    return (
        f"Latency p99{over}: {_both(cost, pair)}"
        f" ({percent(abs(cost.change) / cost.before)} {'lower' if cost.change < 0 else 'higher'}).",
    )


def _both(cost: Cost, pair: PairResult, each: str = "") -> str:
    """`1.20 ms under B, 1.00 ms under A`."""
    return f"{cost.text(cost.after)}{each} under {pair.option}, {cost.text(cost.before)} under {pair.other}"


def _cpu(costs: dict[str, Cost], pair: PairResult, outcome: Outcome | None, over: str) -> str:
    """In the words of the tables: outcome is what they call it."""
    cost = costs[SERVER_CPU.name]
    title = cost.metric.full_title
    whole, both = capitalised(title) + over, _both(cost, pair)
    if (blocks := pair.by_metric[0][1].blocks) < FEWEST_BLOCKS:
        seen = "one block" if blocks == 1 else count(blocks, "block")
        return f"{whole}: {both}, in {seen}."
    if not cost.proven:
        alike = "equivalent, " if outcome == "equivalent" else ""
        ends = f"{cost.text(cost.low)} to {cost.text(cost.high)}"
        return f"{whole}: {both}; {alike}no difference is shown ({ends})."
    sign = "−" if cost.change < 0 else "+"
    signed = f"{sign}{percent(abs(cost.change) / cost.before)}" if cost.before else "from none"
    if outcome == "equivalent":
        return f"{whole} differs too little to matter: {both} ({signed})."
    least, most = sorted((abs(cost.low), abs(cost.high)))
    verb, more = ("saves", "of") if cost.change < 0 else ("costs", "more")
    modes = [
        f"{part.text(abs(part.change))} {'less' if part.change < 0 else 'more'} in {mode} mode"
        for name, mode in ((USER, "user"), (SYSTEM, "system"))
        if (part := costs.get(name)) and part.material
    ]
    return (
        f"{pair.option} {verb} {cost.text(abs(cost.change))} {more} {title} against {pair.other}{over}"
        f" ({signed}, from {cost.text(cost.before)} to {cost.text(cost.after)}; 95 % interval of the"
        f" difference {cost.text(least)} to {cost.text(most)}){': ' * bool(modes)}{' and '.join(modes)}."
    )


def _other(cost: Cost, pair: PairResult, over: str) -> str:
    less = "more" if cost.change > 0 else "fewer" if cost.unit == "1" else "less"
    share = abs(cost.change) / cost.before if cost.before > 0 else 0.0
    how_much = f"{(decrease if cost.change < 0 else percent)(share)} {less}" if share else less
    each = f" {cost.metric.each}"
    return f"{capitalised(cost.metric.title)}{over}: {_both(cost, pair, each)} ({how_much})."
