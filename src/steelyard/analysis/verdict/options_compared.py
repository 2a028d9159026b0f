"""The verdict on options: which one wins, by how much, how sure; or that none does, and what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from steelyard.analysis.comparison.pairwise import PairResult
from steelyard.analysis.judgement.verdict import Verdict
from steelyard.analysis.kernel.profile import profile_reasons
from steelyard.analysis.load.background import reports_beside
from steelyard.analysis.verdict.crash import lost_in_a_crash
from steelyard.analysis.verdict.factors import most_important_factor
from steelyard.analysis.verdict.findings import Findings
from steelyard.analysis.verdict.gauges import with_severe_gauges
from steelyard.analysis.verdict.headline import fitting, joined
from steelyard.analysis.verdict.load_points import answers_by_point
from steelyard.analysis.verdict.memory_costs import memory_costs
from steelyard.analysis.verdict.pair_sentences import PairSentences, missing
from steelyard.analysis.verdict.schema_costs import schema_costs
from steelyard.analysis.verdict.unequal_work import difference
from steelyard.analysis.verdict.win_map import win_map_sentences
from steelyard.quantities import count, listed, percent


def options_compared(findings: Findings) -> Verdict:
    """One verdict on all options over all load points, and what differs by load point or by factor."""
    pairwise = findings.pairwise
    leader, pair = pairwise.leader, pairwise.leading(findings.evidence.baseline)
    open_to, seen = pairwise.not_beaten_by(leader), pairwise.toward(findings.evidence.baseline, pair)
    answer = _two(findings, pair) if len(pairwise.options) == 2 else _many(findings, pair, open_to)
    won = answer.outcome == "winner"
    alike = all(pair.equal for pair in pairwise.pairs.values())
    found = replace(
        answer,
        consequence=joined(
            _failures(findings),
            schema_costs(findings, seen),
            memory_costs(findings, seen),
            answer.consequence,
        ),
        reasons=(
            *answer.reasons,
            reports_beside(findings.evidence),
            answers_by_point(findings.evidence, findings.comparisons, pairwise.metrics),
            "" if alike else most_important_factor(findings.effects, pairwise.metrics[0], findings.enough),
            *win_map_sentences(findings.win_map),
            *findings.reasons(pair),
            *profile_reasons(findings.evidence, leader if won and findings.enough else None),
        ),
        ties=() if won else (leader, *open_to),
    )
    found = with_severe_gauges(findings, found, (leader, *(open_to or [pair.other])))
    return _finished(findings, found, (leader, pair.other))


def _finished(findings: Findings, found: Verdict, compared: Sequence[str]) -> Verdict:
    """With codes explained that the headline has no room for; a leaning where blocks are few."""
    explained = findings.explained(found.headline, compared)
    reasons = [reason for reason in found.reasons if reason and reason not in found.consequence]
    values = [f"Under some options {name} returns other values." for name in findings.work.texts]
    found = replace(found, reasons=(*values, *explained, *reasons))
    # so few blocks give a poor estimate of the scatter
    leads = any(p.won for (option, _), p in findings.pairwise.pairs.items() if option == compared[0])
    if findings.proves or (found.outcome == "inconclusive" and not leads):
        return found
    ties = found.ties or (found.winner or "",)
    doubts = [f"Rows may differ, as the study says: {difference(one)}." for one in findings.work.meant]
    if not findings.enough:
        blocks = count(findings.blocks, "block")
        doubts.append(f"Nothing is proven by {blocks}: the differences are as measured.")
    return replace(
        found,
        outcome="leaning",
        winner=None,
        headline=f"Leaning: {found.headline}",
        reasons=(*doubts, *found.reasons),
        ties=ties,
    )


def _two(findings: Findings, pair: PairResult) -> Verdict:
    if pair.won:
        return _won(findings, pair, "wins", "is ahead")
    pair = findings.pairwise.toward(findings.evidence.baseline, pair)
    said = PairSentences(findings, pair)
    a, b = findings.named(pair.option), findings.named(pair.other)
    both = f"{pair.option} and {pair.other}"
    if pair.mixed:
        headline = fitting(
            f"{a} trades off against {b}: {said.trade()}.",
            f"{pair.option} trades off against {pair.other}: {said.trade()}.",
            f"{both} are a trade-off.",
        )
        return Verdict("trade-off", None, headline, said.differences())
    if pair.equal:
        within = f"are equivalent, within the {findings.margin} that matters"
        headline = fitting(f"{a} and {b} {within}.", f"{both} {within}.")
        return Verdict("tie", None, headline, said.differences())
    by_point = answers_by_point(findings.evidence, findings.comparisons, findings.pairwise.metrics)
    none, over = "No winner between", f" over {findings.over} together" if by_point else ""
    headline = fitting(
        f"{none} {a} and {b}: no difference is shown{over}.", f"{none} {both}: no difference is shown{over}."
    )
    if findings.blocks == 1:
        once = "Measured once: cannot tell which is faster,"
        headline = fitting(f"{once} {a} or {b}.", f"{once} {pair.option} or {pair.other}.")
    ratios = said.differences(headline_says_none=True)
    return Verdict("inconclusive", None, headline, ratios, missing(findings, pair))


def _won(findings: Findings, pair: PairResult, wins: str, ahead: str) -> Verdict:
    """A winner; costs and risks are the metrics that the headline leaves out, and latency that is worse.

    Sizes and intervals are those of the tables, against the baseline, even where the baseline wins.
    """
    option, other, lead = pair.option, pair.other, wins if findings.proves else ahead
    said = PairSentences(findings, findings.pairwise.toward(findings.evidence.baseline, pair))
    next_best = ", the next best" if len(findings.pairwise.options) > 2 else ""
    if option == findings.evidence.baseline:
        who, lead, role = f"{option}, the baseline,", f"{lead}: {said.worse()}", next_best
        named = f"{findings.named(option)}, the baseline,"
    else:
        who, lead, role = option, f"{lead}: {said.better()}", next_best
        named = findings.named(option)
    role = ", the baseline" if other == findings.evidence.baseline else role
    return Verdict(
        outcome="winner",
        winner=option,
        headline=fitting(
            f"{named} {lead} {findings.named(other)}{role}.",
            f"{named} {lead} {findings.named(other)}.",
            f"{named} {lead} {other}.",
            f"{who} {lead} {other}.",
            f"{option} {lead} {other}.",
            f"{option} {lead.partition(':')[0]}.",
        ),
        interval=said.interval(),
        consequence=joined(
            said.beside(),
            findings.slower_tail(pair),
            lost_in_a_crash(*map(findings.evidence.option, (option, other))),
        ),
    )


def _many(findings: Findings, pair: PairResult, open_to: Sequence[str]) -> Verdict:
    pairs, leader = findings.pairwise.pairs, pair.option
    number = len(findings.pairwise.options)
    against = _against(findings, pair)
    if not open_to:
        return _won(
            findings, pair, f"wins over all {number - 1} others", f"is ahead of all {number - 1} others"
        )
    if all(p.equal for p in pairs.values()):
        headline = f"All {number} options are equivalent, within the {findings.margin} that matters."
        return Verdict("tie", None, headline, against)
    left = [pairs[leader, o] for o in open_to]
    beaten = number - 1 - len(open_to)
    placed = _placed(left, beaten)
    headline = fitting(
        f"{findings.named(leader)} leads: {placed}.",
        f"{leader} leads: {placed}.",
        f"{leader} leads {number} options, and is shown to beat {beaten} of them.",
    )
    full = () if placed in headline else (f"{leader} leads: {placed}.",)
    unknown = [p for p in left if p.open]
    if not unknown:
        outcome = "trade-off" if any(p.mixed for p in left) else "tie"
        return Verdict(outcome, None, headline, against, reasons=full)
    nearest = pair if pair.open else unknown[0]
    more = missing(findings, nearest)
    if beaten:
        beside = _against(findings, nearest)
        other = () if beside == against else (beside,)
        return Verdict("inconclusive", None, headline, against, more, (*full, *other))
    headline = fitting(
        f"No winner among {number} options: {leader} leads, and {placed}.",
        f"No winner among {number} options: {leader} leads, but is not shown to beat any other.",
    )
    full = () if placed in headline else (f"{leader} leads: {placed}.",)
    if findings.blocks == 1:
        headline = f"Measured once: cannot tell which of {number} options is fastest; {leader} leads."
        full = ()
    return Verdict("inconclusive", None, headline, against, joined(more, _others_differ(findings)), full)


def _against(findings: Findings, pair: PairResult) -> str:
    """`B against A: throughput ...`, the baseline second where it is one of the two."""
    seen = findings.pairwise.toward(findings.evidence.baseline, pair)
    return f"{seen.option} against {seen.other}: {PairSentences(findings, seen).differences()}"


def _others_differ(findings: Findings) -> str:
    """That options behind the leader do differ from the baseline; '' where none is known to."""
    leader, baseline = findings.pairwise.leader, findings.evidence.baseline
    others = [p for p in findings.pairwise.with_baseline(baseline) if p.option != leader]
    differ = any(not p.open and not p.equal for p in others)
    return "Some of the others do differ from the baseline: see the table." if differ else ""


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
