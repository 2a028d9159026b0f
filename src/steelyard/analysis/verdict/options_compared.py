"""The verdict on options: which one wins, by how much, how sure; or that none does, and what is missing."""

from collections.abc import Sequence

from steelyard.analysis.comparison.pairwise import PairResult
from steelyard.analysis.kernel import profile_reasons
from steelyard.analysis.load.served import reports_beside
from steelyard.analysis.verdict.crash import lost_in_a_crash, memory_costs, schema_costs
from steelyard.analysis.verdict.decision import Decision, Words, difference, fitting, joined
from steelyard.analysis.verdict.findings import Findings
from steelyard.analysis.verdict.pair_sentences import PairSentences, answers_by_point, missing
from steelyard.analysis.verdict.win_map import win_map_sentences
from steelyard.quantities import count, listed, percent, significant

_SIGNIFICANT = 0.05
_MOST_EFFECTS = 3


def options_compared(findings: Findings) -> tuple[Decision, Words]:
    """One answer on all options over all load points, and what differs by load point or by factor."""
    pairwise, evidence = findings.pairwise, findings.evidence
    pair = pairwise.leading
    others = (pairwise.pairs[pair.option, one] for one in pairwise.options if one != pair.option)
    left = [other for other in others if not other.won]
    decision = _decision(findings, pair, left)
    by_point = answers_by_point(evidence, findings.comparisons, pairwise.metrics)
    over = f" over {findings.over} together" if by_point else ""
    if not left:
        at_points = (
            c for c in findings.comparisons if c.clients is not None and c.option in (pair.option, pair.other)
        )
        outcomes = {c.outcome for c in at_points if c.metric == pairwise.metrics[0].name}
        words = _won(findings, pair, over if {"better", "worse"} <= outcomes else "")
    elif len(pairwise.options) == 2:
        words = _two(findings, pair, over)
    else:
        words = _many(findings, pair, left, over)
    seen = pairwise.toward(pair)
    alike = all(one.equal for one in pairwise.pairs.values())
    winner = decision.winner if findings.enough else None
    return decision, Words(
        words.headline,
        words.interval,
        joined(
            _failures(findings), schema_costs(findings, seen), memory_costs(findings, seen), words.consequence
        ),
        (
            *words.reasons,
            reports_beside(evidence),
            by_point,
            "" if alike else _most_important_factor(findings),
            *win_map_sentences(findings.win_map),
            *findings.reasons(pair),
            *profile_reasons(evidence, winner),
        ),
    )


def _decision(findings: Findings, pair: PairResult, left: Sequence[PairResult]) -> Decision:
    """left: the leader against each of the others over which it is not shown to win."""
    open_to = [one.other for one in left]
    unproven = not findings.proves
    if not left:
        outcome = "winner"
    elif any(one.open for one in left):
        # it claims nothing, unless the leader beats some
        outcome, unproven = "inconclusive", unproven and len(left) < len(findings.pairwise.options) - 1
    else:
        outcome = "trade-off" if any(one.mixed for one in left) else "tie"
    doubts = [f"Rows may differ, as the study says: {difference(one)}." for one in findings.work.meant]
    if not findings.enough:
        # so few blocks give a poor estimate of the scatter
        blocks = count(findings.blocks, "block")
        doubts.append(f"Nothing is proven by {blocks}: the differences are as measured.")
    if findings.too_few_values:
        doubts.append(f"{listed(findings.too_few_values)} could not be compared: too few runs have a value.")
    doubts += findings.order_doubts
    values = [f"Under some options {name} returns other values." for name in findings.work.texts]
    return Decision(
        outcome,
        None if left else pair.option,
        ties=(pair.option, *open_to) if left or unproven else (),
        compared=(pair.option, *(open_to or [pair.other])),
        explained=(pair.option, pair.other),
        doubts=(*(doubts if unproven else ()), *values),
        leaning=unproven,
    )


def _two(findings: Findings, pair: PairResult, over: str) -> Words:
    """Of which none is shown to win. over: the load points, where the answer differs between them."""
    said = PairSentences(findings, pair)
    pair = said.pair
    a, b, both = findings.named(pair.option), findings.named(pair.other), f"{pair.option} and {pair.other}"
    if pair.mixed:
        headline = fitting(
            f"{a} trades off against {b}: {said.trade()}.",
            f"{pair.option} trades off against {pair.other}: {said.trade()}.",
            f"{both} are a trade-off.",
        )
        return Words(headline, said.differences())
    if pair.equal:
        within = f"are equivalent{over}, within the {findings.margin} that matters"
        return Words(fitting(f"{a} and {b} {within}.", f"{both} {within}."), said.differences())
    none, once = "No winner between", "Measured once: cannot tell which is faster,"
    headline = fitting(
        f"{none} {a} and {b}: no difference is shown{over}.", f"{none} {both}: no difference is shown{over}."
    )
    if findings.blocks == 1:
        headline = fitting(f"{once} {a} or {b}.", f"{once} {pair.option} or {pair.other}.")
    return Words(headline, said.differences(headline_says_none=True), missing(findings, pair))


def _won(findings: Findings, pair: PairResult, over: str) -> Words:
    """A winner, over load points that do not agree; costs and risks are the metrics that the headline leaves
    out, and latency that is worse.

    Sizes and intervals are those of the tables, against the baseline, even where the baseline wins.
    """
    option, other, baseline = pair.option, pair.other, findings.evidence.baseline
    said, others = PairSentences(findings, pair), len(findings.pairwise.options) - 1
    lead = "wins" if findings.proves else "is ahead"
    if others > 1:
        lead = f"wins over all {others} others" if findings.proves else f"is ahead of all {others} others"
    alone, role = lead, ", the baseline" if other == baseline else ", the next best" * (others > 1)
    mine = ", the baseline," * (option == baseline)
    lead = f"{lead}{over}: {said.worse() if option == baseline else said.better()}"
    named = f"{findings.named(option)}{mine}"
    return Words(
        fitting(
            f"{named} {lead} {findings.named(other)}{role}.",
            f"{named} {lead} {findings.named(other)}.",
            f"{named} {lead} {other}.",
            f"{option}{mine} {lead} {other}.",
            f"{option} {lead} {other}.",
            f"{option} {alone}.",
        ),
        said.interval(),
        joined(
            said.beside(),
            findings.slower_tail(pair),
            lost_in_a_crash(*map(findings.evidence.option, (option, other))),
        ),
    )


def _many(findings: Findings, pair: PairResult, left: Sequence[PairResult], over: str) -> Words:
    """More than two, of which none is shown to win over all others."""
    leader, number = pair.option, len(findings.pairwise.options)
    against = _against(findings, pair)
    if all(one.equal for one in findings.pairwise.pairs.values()):
        headline = f"All {number} options are equivalent{over}, within the {findings.margin} that matters."
        return Words(headline, against)
    open_to = {leader, *(one.other for one in left)}
    beaten = [option for option in findings.pairwise.options if option not in open_to]
    placed = _placed(left, beaten)
    headline = fitting(
        f"{findings.named(leader)} leads: {placed}.",
        f"{leader} leads: {placed}.",
        f"{leader} leads {number} options, and is shown to beat {len(beaten)} of them.",
    )
    more = further = ""
    if unknown := [one for one in left if one.open]:
        nearest = pair if pair.open else unknown[0]
        more = missing(findings, nearest)
        further = _against(findings, nearest)
    if unknown and not beaten:
        headline = fitting(
            f"No winner among {number} options: {leader} leads, and {placed}.",
            f"No winner among {number} options: {leader} leads, but is not shown to beat any other.",
        )
        more, further = joined(more, _others_differ(findings)), ""
        if findings.blocks == 1:
            headline = f"Measured once: cannot tell which of {number} options is fastest; {leader} leads."
            placed = ""
    full = "" if placed in headline else f"{leader} leads: {placed}."
    return Words(headline, against, more, (full, "" if further == against else further))


def _against(findings: Findings, pair: PairResult) -> str:
    """`B against A: throughput ...`, the baseline second where it is one of the two."""
    said = PairSentences(findings, pair)
    return f"{said.pair.option} against {said.pair.other}: {said.differences()}"


def _others_differ(findings: Findings) -> str:
    """That options behind the leader do differ from the baseline; '' where none is known to."""
    pairwise = findings.pairwise
    others = [one for one in pairwise.with_baseline if one.option != pairwise.leader]
    differ = any(not one.open and not one.equal for one in others)
    return "Some of the others do differ from the baseline: see the table." if differ else ""


def _placed(pairs: Sequence[PairResult], beaten: Sequence[str]) -> str:
    """The leader against each of the others: `it beats A and C, and no difference from B is shown`."""
    parts = [f"it beats {listed(beaten) if len(beaten) < 3 else f'{len(beaten)} others'}"] if beaten else []
    for text, others in (
        ("it is equivalent to {}", [p.other for p in pairs if p.equal]),
        (
            "it trades off against {} (better by one metric, worse by another)",
            [p.other for p in pairs if p.mixed],
        ),
        ("it loses to {}", [p.other for p in pairs if p.lost]),
        ("no difference from {} is shown", [p.other for p in pairs if p.open]),
    ):
        parts += [text.format(listed(others))] if others else []
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


def _most_important_factor(findings: Findings) -> str:
    """Which factor matters most; '' of a single factor, or where no effect is proven."""
    metric = findings.pairwise.metrics[0]
    mine = [e for e in findings.effects if e.metric == metric.name]
    proven = [e for e in mine if e.p_value < _SIGNIFICANT and e.share >= 0.01]
    if not proven or len({name for e in mine for name in e.factors}) < 2:
        return ""
    parts = [
        f"{' with '.join(e.factors)} {percent(e.share)} [{significant(100 * e.low)} to {percent(e.high)}]"
        for e in proven[:_MOST_EFFECTS]
    ]
    first = proven[0].factors
    most = first[0] if len(first) == 1 else f"the interaction of {' and '.join(first)}"
    matters = "What matters most is" if findings.enough else "What seems to matter most is"
    return f"{matters} {most}. Explained of the variation in {metric.title}: {listed(parts)}."
