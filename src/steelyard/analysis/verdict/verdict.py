"""The answer: which option wins, by how much, how sure; or that none does, and what is missing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from steelyard.analysis.comparison.notices import FEWEST_BLOCKS
from steelyard.analysis.comparison.pairwise import Duel, Rivals
from steelyard.analysis.judgement.results import Comparison, Effect, Metric, Verdict
from steelyard.analysis.metrics.run_metrics import Measures
from steelyard.analysis.verdict.load_points import answers_by_point
from steelyard.bundle.evidence.tables import Evidence
from steelyard.quantities import listed, percent, significant

_SIGNIFICANT = 0.05
_MOST_BLOCKS = 100
_MOST_EFFECTS = 3


@dataclass(frozen=True)
class _Case:
    """All that the sentences need."""

    evidence: Evidence
    rivals: Rivals

    @property
    def margin(self) -> str:
        """`3 %`."""
        return f"{self.evidence.study.plan.smallest_effect_percent:.3g} %"

    @property
    def blocks(self) -> int:
        """Blocks behind the comparisons: the fewest of all."""
        return min(c.blocks for duel in self.rivals.duels.values() for _, c in duel.by_metric)

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
        meaning = ", ".join(f"{key} = {value}" for key, value in settings.items())
        plain = level is None or str(level) == label or len(meaning) > 48
        return label if plain else f"{label} ({meaning})"


def judge_options(
    evidence: Evidence,
    measures: Measures,
    rivals: Rivals | None,
    comparisons: Sequence[Comparison],
    effects: Sequence[Effect],
) -> Verdict:
    """One verdict for the study, without reasons. comparisons: with the baseline, at every point."""
    if rivals is None:
        alone = len(evidence.options) == 1
        why = "the study has one option" if alone else "no block holds a finished run of two options"
        return Verdict("nothing to compare", None, f"There is nothing to compare: {why}.", ())
    case = _Case(evidence, rivals)
    leader = rivals.leader
    open_to = rivals.not_beaten_by(leader)
    said = _two(case, leader) if len(rivals.options) == 2 else _many(case, leader, open_to)
    said = _leaning(case, said)
    alike = all(duel.equal for duel in rivals.duels.values())
    counting = rivals.metrics[0] if rivals.metrics else measures.work
    extra = (
        "" if alike else _allocation([e for e in effects if e.metric == counting.name], counting),
        answers_by_point(evidence, comparisons, rivals.metrics),
    )
    sentence = _joined(_failures(case), said.sentence, *extra)
    return replace(said, sentence=sentence, ties=() if said.winner else (leader, *open_to))


def reference(evidence: Evidence, rivals: Rivals) -> str:
    """The option that the leader is compared with: the baseline, or the next best where it leads itself."""
    if rivals.leader != evidence.baseline and evidence.baseline in rivals.options:
        return evidence.baseline
    return next(o for o in rivals.options if o != rivals.leader)


def _two(case: _Case, leader: str) -> Verdict:
    duel = case.rivals.duels[leader, reference(case.evidence, case.rivals)]
    if duel.won:
        wins = "wins" if case.enough else "is ahead"
        return Verdict("winner", leader, f"{case.named(leader)} {wins}: {_gains(case, duel)}.", ())
    # the option against the baseline reads more naturally than the other way round
    if leader == case.evidence.baseline:
        duel = case.rivals.duels[duel.rival, leader]
    a, b = case.named(duel.option), case.named(duel.rival)
    gains = _gains(case, duel)
    if duel.torn:
        return Verdict("trade-off", None, f"{a} and {b} are a trade-off: {gains}.", ())
    if duel.equal:
        sentence = f"{a} and {b} are equivalent, within the {case.margin} that matters: {gains}."
        return Verdict("tie", None, sentence, ())
    sentence = _joined(f"No winner between {a} and {b}: {gains}.", _missing(case, duel))
    return Verdict("inconclusive", None, sentence, ())


def _many(case: _Case, leader: str, open_to: Sequence[str]) -> Verdict:
    met = case.rivals
    duel = met.duels[leader, reference(case.evidence, met)]
    count, gains = len(met.options), _gains(case, duel)
    if not open_to:
        wins = "wins over" if case.enough else "is ahead of"
        sentence = f"{case.named(leader)} {wins} all {count - 1} others: {gains}."
        return Verdict("winner", leader, sentence, ())
    if all(d.equal for d in met.duels.values()):
        sentence = (
            f"All {count} options are equivalent, within the {case.margin} that matters: for {leader}"
            f" against {duel.rival}, {gains}."
        )
        return Verdict("tie", None, sentence, ())
    duels = [met.duels[leader, o] for o in open_to]
    unknown = [d for d in duels if d.open]
    beaten = count - 1 - len(open_to)
    placed = _placed(duels, beaten)
    if unknown:
        asked = duel if duel.open else unknown[0]
        missing = _missing(case, asked)
        if beaten:
            sentence = _joined(f"{leader} leads: {placed}. {leader}: {gains}.", missing)
            return Verdict("tie", None, sentence, ())
        differ = any(
            not met.duels[o, case.evidence.baseline].open and not met.duels[o, case.evidence.baseline].equal
            for o in met.options
            if o not in (leader, case.evidence.baseline) and case.evidence.baseline in met.options
        )
        note = "Some of the others do differ from the baseline: see the table." if differ else ""
        first = f"No winner among {count} options. {leader} leads: {placed}. Against {duel.rival}: {gains}."
        sentence = _joined(first, missing, note)
        return Verdict("inconclusive", None, sentence, ())
    outcome = "trade-off" if any(d.torn for d in duels) else "tie"
    return Verdict(outcome, None, f"{leader} leads: {placed}. {leader}: {gains}.", ())


def _joined(*sentences: str) -> str:
    return " ".join(sentence for sentence in sentences if sentence)


def _placed(duels: Sequence[Duel], beaten: int) -> str:
    """What the leader is to each of the others: `it beats 2 others, and no difference from B is shown`."""
    torn = [d.rival for d in duels if d.torn]
    equal = [d.rival for d in duels if d.equal]
    lost = [d.rival for d in duels if d.lost]
    unknown = [d.rival for d in duels if d.open]
    parts = [
        *([f"it beats {beaten} other{'s' * (beaten > 1)}"] if beaten else []),
        *([f"it is equivalent to {listed(equal)}"] if equal else []),
        *(
            [f"it trades off against {listed(torn)} (better by one measure, worse by another)"]
            if torn
            else []
        ),
        *([f"it loses to {listed(lost)}"] if lost else []),
        *([f"no difference from {listed(unknown)} is shown"] if unknown else []),
    ]
    return listed(parts)


def _leaning(case: _Case, said: Verdict) -> Verdict:
    """An answer from fewer than five blocks is no verdict: so few give a poor estimate of their scatter."""
    if said.outcome == "inconclusive" or case.enough:
        return said
    few = f"only {case.blocks} blocks; a verdict needs {FEWEST_BLOCKS}"
    return replace(said, outcome="leaning", winner=None, sentence=f"Leaning ({few}): {said.sentence}")


def _failures(case: _Case) -> str:
    """Error rates come first, where one is beyond the limit: what failed is no throughput."""
    limit = case.evidence.study.plan.error_rate_limit_percent / 100
    rates = case.rivals.error_rates
    if not any(rates.get(o, 0.0) > limit for o in case.rivals.options):
        return ""
    worst_first = sorted(case.rivals.options, key=lambda o: -rates.get(o, 0.0))
    parts = [f"{o} {percent(rates.get(o, 0.0))}" for o in worst_first]
    more = {d.option for d in case.rivals.duels.values() if d.failures > 0}
    barred = [o for o in worst_first if o in more]
    cannot = f" {listed(barred)} cannot win over an option that fails less." if barred else ""
    return f"Failed transactions: {listed(parts)}.{cannot} All other figures are of those that succeeded."


def _gains(case: _Case, duel: Duel) -> str:
    """`18.3 % more throughput than B, the baseline (16.9 to 19.8 %), and ...; 95 % intervals, 6 blocks`."""
    shown = duel.by_metric
    proven = [(m, c) for m, c in shown if c.outcome in ("better", "worse")]
    others = [(m, c) for m, c in shown if c.outcome not in ("better", "worse")]
    good = [(m, c) for m, c in proven if c.outcome == "better"]
    bad = [(m, c) for m, c in proven if c.outcome == "worse"]
    role = "the baseline" if duel.rival == case.evidence.baseline else "the next best"
    alone = len(case.rivals.options) == 2
    than = f" than {duel.rival}" + ("" if alone and role != "the baseline" else f", {role}")
    parts: list[str] = []
    if good or bad:
        first = " and ".join(_difference(m, c) for m, c in good or bad)
        second = " and ".join(_difference(m, c) for m, c in bad) if good else ""
        parts.append(first + than + (f", but {second}" if second else ""))
    margin = "" if duel.equal else case.margin
    if duel.failures:
        less = "fewer" if duel.failures < 0 else "more"
        parts.append(f"{percent(abs(duel.failures))} {less} of its transactions fail")
    parts += [_no_difference(m, c, margin) for m, c in others]
    blocks = shown[0][1].blocks
    if blocks == 1:
        return f"{'; '.join(parts)} (one block: no interval)"
    return f"{'; '.join(parts)} (95 % interval{'s' * (len(shown) > 1)}, {blocks} blocks)"


def _difference(metric: Metric, c: Comparison) -> str:
    title = metric.full_title
    if c.ratio >= 2:
        return f"{significant(c.ratio)} times the {title} [{significant(c.low)} to {significant(c.high)}]"
    if c.ratio > 1:
        word, amount, low, high = "more", c.ratio - 1, c.low - 1, c.high - 1
    else:
        word, amount, low, high = "less", 1 - c.ratio, 1 - c.high, 1 - c.low
    if metric.name.endswith(("_ns", "_ms")):
        word = {"more": "higher", "less": "lower"}[word]
    return f"{percent(amount)} {word} {title} [{significant(100 * low)} to {percent(high)}]"


def _no_difference(metric: Metric, c: Comparison, margin: str) -> str:
    """margin: named where equivalence is news; empty where the sentence has named it."""
    title = metric.full_title
    ratio = f"ratio {c.ratio:.3f} [{c.low:.3f} to {c.high:.3f}]"
    if not math.isfinite(c.high):
        return f"{title} has a ratio of {c.ratio:.3f}"
    if c.outcome == "equivalent":
        return f"{title} is equivalent within {margin}, {ratio}" if margin else f"{title} {ratio}"
    return f"{title} is inconclusive, {ratio}"


def _missing(case: _Case, duel: Duel) -> str:
    """How many blocks would settle it at the scatter seen; '' where runs cannot."""
    undecided = [c for _, c in duel.by_metric if c.outcome == "inconclusive"]
    if not undecided:
        return ""
    if case.evidence.study.subject.kind == "recording":
        return "A recording cannot be repeated to find out."
    blocks = max(c.blocks for c in undecided)
    known = [c.settled_at for c in undecided if c.settled_at is not None]
    if not known:
        seen = f"{blocks} block{'s' * (blocks > 1)}"
        return f"{seen} cannot show how many would settle it: begin with {FEWEST_BLOCKS} (plan.blocks)."
    needed = max(known)
    if needed > _MOST_BLOCKS:
        return (
            f"At this scatter more than {_MOST_BLOCKS} blocks would be needed to settle whether"
            f" {case.margin} is exceeded: make the machine quieter first (steelyard doctor)."
        )
    if needed <= blocks:
        return f"The difference is near the {case.margin} that matters: too close to call."
    return f"At this scatter about {needed} blocks would settle whether {case.margin} is exceeded."


def _allocation(effects: Sequence[Effect], metric: Metric) -> str:
    """Which factor matters most; nothing of a single factor, or where no effect is proven."""
    factors = {name for e in effects for name in e.factors}
    proven = [e for e in effects if e.p_value < _SIGNIFICANT and e.share >= 0.01]
    proven.sort(key=lambda e: -e.share)
    if len(factors) < 2 or not proven:
        return ""
    parts = [
        f"{' with '.join(e.factors)} {percent(e.share)} [{significant(100 * e.low)} to {percent(e.high)}]"
        for e in proven[:_MOST_EFFECTS]
    ]
    first = proven[0].factors
    most = first[0] if len(first) == 1 else f"the interaction of {' and '.join(first)}"
    return f"What matters most is {most}. Explained of the variation in {metric.title}: {listed(parts)}."
