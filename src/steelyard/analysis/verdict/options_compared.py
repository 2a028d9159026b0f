"""The verdict on options: which one wins, by how much, how sure; or that none does, and what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from steelyard.analysis.comparison.notices import FEWEST_BLOCKS
from steelyard.analysis.comparison.pairwise import PairResult
from steelyard.analysis.judgement.results import Verdict
from steelyard.analysis.verdict.factors import most_important_factor
from steelyard.analysis.verdict.findings import Findings
from steelyard.analysis.verdict.load_points import answers_by_point
from steelyard.analysis.verdict.pair_sentences import gains, missing
from steelyard.analysis.verdict.win_map import win_map_sentences
from steelyard.quantities import listed, percent


@dataclass(frozen=True)
class _Answer:
    outcome: Literal["winner", "leaning", "tie", "trade-off", "inconclusive"]
    sentence: str


def options_compared(findings: Findings) -> Verdict:
    """One verdict on all options over all load points, and what differs by load point or by factor."""
    pairwise = findings.pairwise
    leader, pair = pairwise.leader, pairwise.leading(findings.evidence.baseline)
    open_to = pairwise.not_beaten_by(leader)
    answer = _two(findings, pair) if len(pairwise.options) == 2 else _many(findings, pair, open_to)
    answer = _leaning(findings, answer)
    winner = leader if answer.outcome == "winner" else None
    alike = all(pair.equal for pair in pairwise.pairs.values())
    return Verdict(
        outcome=answer.outcome,
        winner=winner,
        sentence=_joined(
            _failures(findings),
            answer.sentence,
            "" if alike else most_important_factor(findings.effects, pairwise.metrics[0]),
            answers_by_point(findings.evidence, findings.comparisons, pairwise.metrics),
        ),
        reasons=(
            *win_map_sentences(findings.win_map),
            *findings.reasons(pair),
            *findings.further_reasons(winner),
        ),
        ties=() if winner else (leader, *open_to),
    )


def _two(findings: Findings, pair: PairResult) -> _Answer:
    leader = pair.option
    if pair.won:
        wins = "wins" if findings.enough else "is ahead"
        return _Answer("winner", f"{findings.named(leader)} {wins}: {gains(findings, pair)}.")
    # the option against the baseline reads more naturally than the other way round
    if leader == findings.evidence.baseline:
        pair = findings.pairwise.pairs[pair.other, leader]
    a, b = findings.named(pair.option), findings.named(pair.other)
    text = gains(findings, pair)
    if pair.mixed:
        return _Answer("trade-off", f"{a} and {b} are a trade-off: {text}.")
    if pair.equal:
        return _Answer(
            "tie", f"{a} and {b} are equivalent, within the {findings.margin} that matters: {text}."
        )
    return _Answer(
        "inconclusive", _joined(f"No winner between {a} and {b}: {text}.", missing(findings, pair))
    )


def _many(findings: Findings, pair: PairResult, open_to: Sequence[str]) -> _Answer:
    pairs, leader = findings.pairwise.pairs, pair.option
    count, text = len(findings.pairwise.options), gains(findings, pair)
    if not open_to:
        wins = "wins over" if findings.enough else "is ahead of"
        return _Answer("winner", f"{findings.named(leader)} {wins} all {count - 1} others: {text}.")
    if all(p.equal for p in pairs.values()):
        sentence = (
            f"All {count} options are equivalent, within the {findings.margin} that matters: for {leader}"
            f" against {pair.other}, {text}."
        )
        return _Answer("tie", sentence)
    left = [pairs[leader, o] for o in open_to]
    beaten = count - 1 - len(open_to)
    leads = f"{leader} leads: {_placed(left, beaten)}."
    unknown = [p for p in left if p.open]
    if not unknown:
        outcome = "trade-off" if any(p.mixed for p in left) else "tie"
        return _Answer(outcome, f"{leads} {leader}: {text}.")
    more = missing(findings, pair if pair.open else unknown[0])
    if beaten:
        return _Answer("tie", _joined(f"{leads} {leader}: {text}.", more))
    first = f"No winner among {count} options. {leads} Against {pair.other}: {text}."
    return _Answer("inconclusive", _joined(first, more, _others_differ(findings)))


def _others_differ(findings: Findings) -> str:
    """That options behind the leader do differ from the baseline; '' where none is known to."""
    leader, baseline = findings.pairwise.leader, findings.evidence.baseline
    others = [p for p in findings.pairwise.with_baseline(baseline) if p.option != leader]
    differ = any(not p.open and not p.equal for p in others)
    return "Some of the others do differ from the baseline: see the table." if differ else ""


def _joined(*sentences: str) -> str:
    return " ".join(sentence for sentence in sentences if sentence)


def _placed(pairs: Sequence[PairResult], beaten: int) -> str:
    """The leader against each of the others: `it beats 2 others and no difference from B is shown`."""
    mixed = [p.other for p in pairs if p.mixed]
    equal = [p.other for p in pairs if p.equal]
    lost = [p.other for p in pairs if p.lost]
    unknown = [p.other for p in pairs if p.open]
    parts = [
        *([f"it beats {beaten} other{'s' * (beaten > 1)}"] if beaten else []),
        *([f"it is equivalent to {listed(equal)}"] if equal else []),
        *(
            [f"it trades off against {listed(mixed)} (better by one metric, worse by another)"]
            if mixed
            else []
        ),
        *([f"it loses to {listed(lost)}"] if lost else []),
        *([f"no difference from {listed(unknown)} is shown"] if unknown else []),
    ]
    return listed(parts)


def _leaning(findings: Findings, answer: _Answer) -> _Answer:
    """An answer from fewer than five blocks is no verdict: so few give a poor estimate of the scatter."""
    if answer.outcome == "inconclusive" or findings.enough:
        return answer
    few = f"only {findings.blocks} blocks; a verdict needs {FEWEST_BLOCKS}"
    return replace(answer, outcome="leaning", sentence=f"Leaning ({few}): {answer.sentence}")


def _failures(findings: Findings) -> str:
    """Error rates come first where one is beyond the limit: failed transactions are no throughput."""
    limit = findings.evidence.study.plan.error_rate_limit_percent / 100
    pairwise = findings.pairwise
    rates = pairwise.error_rates
    if not any(rates.get(o, 0.0) > limit for o in pairwise.options):
        return ""
    worst_first = sorted(pairwise.options, key=lambda o: -rates.get(o, 0.0))
    parts = [f"{o} {percent(rates.get(o, 0.0))}" for o in worst_first]
    more = {p.option for p in pairwise.pairs.values() if p.failures > 0}
    barred = [o for o in worst_first if o in more]
    cannot = f" {listed(barred)} cannot win over an option that fails less." if barred else ""
    return f"Failed transactions: {listed(parts)}.{cannot} All other figures are of those that succeeded."
