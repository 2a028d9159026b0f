"""The answer: which option wins, by how much, how sure; or that none does, and what is missing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from steelyard.analysis.by_points import answers_by_point
from steelyard.analysis.cautions import FEWEST_BLOCKS
from steelyard.analysis.measures import Measures
from steelyard.analysis.results import Comparison, Effect, Metric, Verdict
from steelyard.analysis.rivals import Duel, Rivals, metrics_that_count, rivals, turned
from steelyard.analysis.why import reasons
from steelyard.analysis.words import digits, listed, percent, titled
from steelyard.bundle.evidence import Evidence

_SIGNIFICANT = 0.05
_MOST_BLOCKS = 100


@dataclass(frozen=True)
class _Case:
    """All that the sentences need. against: comparisons with the baseline, as the tables show them."""

    evidence: Evidence
    measures: Measures
    rivals: Rivals
    against: Mapping[tuple[str, str], Comparison]
    margin: float

    def shown(self, duel: Duel) -> list[tuple[Metric, Comparison]]:
        """The duel with the intervals of the tables, where it is one with the baseline."""
        baseline = self.evidence.baseline
        found: list[tuple[Metric, Comparison]] = []
        for metric, comparison in duel.by_metric:
            table: Comparison | None = None
            if duel.rival == baseline:
                table = self.against.get((metric.name, duel.option))
            elif duel.option == baseline and (met := self.against.get((metric.name, duel.rival))):
                table = turned(met)
            same = table is not None and table.outcome == comparison.outcome
            found.append((metric, table if table and same else comparison))
        return found


def judge_options(
    evidence: Evidence,
    measures: Measures,
    comparisons: Sequence[Comparison],
    effects: Sequence[Effect],
) -> Verdict:
    """One verdict for the study. comparisons: with the baseline, as the report will show them."""
    margin = evidence.study.plan.smallest_effect_percent / 100
    counting = metrics_that_count(evidence.study, measures)
    met = rivals(measures, counting, [o.label for o in evidence.options], margin)
    if met is None:
        return Verdict(
            "nothing to compare",
            None,
            "There is nothing to compare: no block holds a finished run of two options.",
            (),
        )
    against = {(c.metric, c.option): c for c in comparisons if c.clients is None}
    case = _Case(evidence, measures, met, against, margin)
    leader = met.leader
    open_to = met.not_beaten_by(leader)
    said = _two(case, leader) if len(met.options) == 2 else _many(case, leader, open_to)
    reference = _reference(case, leader)
    closed = not evidence.study.workload.open_loop and evidence.study.workload.steady
    extra = (_allocation(effects, counting, measures), answers_by_point(evidence, comparisons, counting))
    return Verdict(
        outcome=said.outcome,
        winner=said.winner,
        sentence=" ".join(part for part in (said.sentence, *extra) if part),
        reasons=reasons(measures, leader, reference, margin, closed),
        ties=() if said.winner else (leader, *open_to),
    )


def _reference(case: _Case, leader: str) -> str:
    """With whom the leader is compared: the baseline, or the next best where it leads itself."""
    if leader != case.evidence.baseline and case.evidence.baseline in case.rivals.options:
        return case.evidence.baseline
    return next(o for o in case.rivals.options if o != leader)


def _two(case: _Case, leader: str) -> Verdict:
    other = _reference(case, leader)
    duel = case.rivals.duels[leader, other]
    if duel.won:
        return Verdict("winner", leader, f"{_named(case, leader)} wins: {_gains(case, duel)}.", ())
    # the option against the baseline reads more naturally than the other way round
    baseline = case.evidence.baseline
    if leader == baseline:
        duel = case.rivals.duels[other, baseline]
    a, b = _named(case, duel.option), _named(case, duel.rival)
    gains = _gains(case, duel)
    if duel.torn:
        return Verdict("inconclusive", None, f"{a} and {b} each win something: {gains}.", ())
    if duel.equal:
        sentence = f"{a} and {b} are equivalent, within the {_margin(case)} that matters: {gains}."
        return Verdict("tie", None, sentence, ())
    sentence = f"No winner between {a} and {b}: {gains}. {_missing(case, duel)}"
    return Verdict("inconclusive", None, sentence, ())


def _many(case: _Case, leader: str, open_to: Sequence[str]) -> Verdict:
    met = case.rivals
    duel = met.duels[leader, _reference(case, leader)]
    count, gains = len(met.options), _gains(case, duel)
    if not open_to:
        sentence = f"{_named(case, leader)} wins over all {count - 1} others: {gains}."
        return Verdict("winner", leader, sentence, ())
    if len(open_to) + 1 < count:
        torn = [o for o in open_to if met.duels[leader, o].torn]
        trade = f" ({listed(torn)}: better by one measure, worse by another)" if torn else ""
        beaten = count - 1 - len(open_to)
        rest = "the other" if beaten == 1 else f"the other {beaten}"
        sentence = (
            f"{leader} leads, but cannot be told from {listed(open_to)}{trade}; it beats {rest}."
            f" {leader}: {gains}."
        )
        return Verdict("tie", None, sentence, ())
    if all(d.equal for d in met.duels.values()):
        sentence = (
            f"All {count} options are equivalent, within the {_margin(case)} that matters: for {leader}"
            f" against {duel.rival}, {gains}."
        )
        return Verdict("tie", None, sentence, ())
    differ = any(met.beaten_by(o) for o in met.options)
    note = " Some of the others do differ from one another: see the table." if differ else ""
    sentence = (
        f"No winner among {count} options: {leader} leads, but cannot be told from any other; against"
        f" {duel.rival}, {gains}. {_missing(case, duel)}{note}"
    )
    return Verdict("inconclusive", None, sentence, ())


def _margin(case: _Case) -> str:
    return f"{100 * case.margin:.3g} %"


def _gains(case: _Case, duel: Duel) -> str:
    """`18.3 % more throughput than B, the baseline (16.9 to 19.8 %), and ...; 95 % intervals, 6 blocks`."""
    shown = case.shown(duel)
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
    margin = "" if duel.equal else _margin(case)
    parts += [_no_difference(m, c, margin) for m, c in others]
    blocks = shown[0][1].blocks
    if blocks == 1:
        return f"{'; '.join(parts)} (one block: no interval)"
    interval = "95 % interval" + "s" * (len(shown) > 1)
    few = f" only: {FEWEST_BLOCKS} or more are needed to be sure" if blocks < FEWEST_BLOCKS else ""
    return f"{'; '.join(parts)} ({interval}, {blocks} blocks{few})"


def _difference(metric: Metric, c: Comparison) -> str:
    title = titled(metric)
    if c.ratio >= 2:
        return f"{digits(c.ratio)} times the {title} [{digits(c.low)} to {digits(c.high)}]"
    if c.ratio > 1:
        word, amount, low, high = "more", c.ratio - 1, c.low - 1, c.high - 1
    else:
        word, amount, low, high = "less", 1 - c.ratio, 1 - c.high, 1 - c.low
    if metric.name.endswith(("_ns", "_ms")):
        word = {"more": "higher", "less": "lower"}[word]
    return f"{percent(amount)} {word} {title} [{digits(100 * low)} to {percent(high)}]"


def _no_difference(metric: Metric, c: Comparison, margin: str) -> str:
    """margin: said where equivalence is news; empty where the sentence has said it."""
    title = titled(metric)
    ratio = f"ratio {c.ratio:.3f} [{c.low:.3f} to {c.high:.3f}]"
    if not math.isfinite(c.high):
        return f"{title} has a ratio of {c.ratio:.3f}"
    if c.outcome == "equivalent":
        return f"{title} is equivalent within {margin}, {ratio}" if margin else f"{title} {ratio}"
    return f"{title} is inconclusive, {ratio}"


def _missing(case: _Case, duel: Duel) -> str:
    """What would settle it: how many blocks at the scatter seen."""
    open_ones = [c for _, c in case.shown(duel) if c.outcome == "inconclusive"]
    blocks = max((c.blocks for c in open_ones), default=0)
    widths = [math.log(c.high / c.low) / 2 for c in open_ones if c.low > 0 and math.isfinite(c.high)]
    known = bool(widths) and blocks >= FEWEST_BLOCKS
    if not known and case.evidence.study.subject.kind == "recording":
        return "A recording cannot be repeated to find out."
    if not widths and blocks >= FEWEST_BLOCKS:
        return "Its interval has no end, so no number of blocks can be told that would settle it."
    if not known:
        # a scatter seen so few times may be ten times too small or too large
        return (
            f"How many blocks would settle it cannot be told from {blocks}: begin with {FEWEST_BLOCKS}"
            " (plan.blocks)."
        )
    # half-widths shrink with the root of the blocks; half the margin leaves room for an estimate
    needed = math.ceil(blocks * (max(widths) / (math.log1p(case.margin) / 2)) ** 2)
    if needed > _MOST_BLOCKS:
        return (
            f"At this scatter more than {_MOST_BLOCKS} blocks would be needed to settle whether"
            f" {_margin(case)} is exceeded: make the machine quieter first (steelyard doctor)."
        )
    if needed <= blocks:
        return f"The difference is near the {_margin(case)} that matters: too close to call."
    return f"At this scatter about {needed} blocks would settle whether {_margin(case)} is exceeded."


def _allocation(effects: Sequence[Effect], counting: Sequence[Metric], measures: Measures) -> str:
    """Which factor matters most; nothing to say of a single factor."""
    factors = {name for e in effects for name in e.factors}
    metric = counting[0] if counting else measures.work
    mine = [e for e in effects if e.metric == metric.name and e.p_value < _SIGNIFICANT]
    mine.sort(key=lambda e: -e.share)
    if len(factors) < 2 or not mine:
        return ""
    parts = [f"{' with '.join(e.factors)} {percent(e.share)}" for e in mine[:3] if e.share >= 0.01]
    if not parts:
        return ""
    return f"What matters most is {mine[0].factors[0]}: of the variation of {metric.title}, {listed(parts)}."


def _named(case: _Case, label: str) -> str:
    """`B (handle = named)`: what a code stands for, where one factor makes the option."""
    factors = case.evidence.study.factors
    levels = next(o.levels for o in case.evidence.options if o.label == label)
    if len(factors) != 1:
        return label
    name, factor = next(iter(factors.items()))
    level = factor.levels.get(levels.get(name, ""))
    settings = level if isinstance(level, dict) else {factor.setting or name: level}
    meaning = ", ".join(f"{key} = {value}" for key, value in settings.items())
    plain = level is None or str(level) == label or len(meaning) > 48
    return label if plain else f"{label} ({meaning})"
