"""The verdict of a study: its question is chosen by subject and workload, decided once, then put in words."""

from __future__ import annotations

from steelyard.analysis.comparison.block_table import points_of
from steelyard.analysis.comparison.estimates import estimates
from steelyard.analysis.judgement.outcome import FEWEST_BLOCKS
from steelyard.analysis.judgement.verdict import Verdict
from steelyard.analysis.metrics.run_metrics import foremost
from steelyard.analysis.validity.gauges import GaugeFinding
from steelyard.analysis.validity.servers import unlike_servers
from steelyard.analysis.verdict.decision import Decision, Words, capitalised, fitting, joined
from steelyard.analysis.verdict.findings import Findings
from steelyard.analysis.verdict.harness_overhead import harness_overhead
from steelyard.analysis.verdict.options_compared import options_compared
from steelyard.analysis.verdict.unequal_work import unequal_work
from steelyard.analysis.verdict.win_map import win_map
from steelyard.quantities import count, interval, quantity

_MOST_GAUGES = 3


def verdict(findings: Findings) -> Verdict:
    """The answer with its reasons; first what makes it doubtful."""
    study, unlike = findings.evidence.study, unlike_servers(findings.evidence)
    if findings.work.differences:
        decision, words = Decision("unequal work"), unequal_work(findings.work)
    else:
        decision, words = _complete(findings, *_answer(findings))
        if study.subject.kind == "null":
            words = harness_overhead(findings, words)
    doubts = (
        "The load engine was at its limit of CPU: throughput is the engine's and names no winner."
        * findings.run_metrics.engine_bound,
        findings.disturbed.sentence,
        f"Servers differ beside the factor: {unlike}." if unlike else "",
    )
    return Verdict(
        outcome="leaning" if decision.leaning else decision.outcome,
        winner=None if decision.leaning else decision.winner,
        headline=words.headline,
        interval=words.interval,
        consequence=words.consequence,
        reasons=(*filter(None, doubts), *words.reasons),
        ties=decision.ties,
    )


def _answer(findings: Findings) -> tuple[Decision, Words]:
    """To the study's question, where all options did the same work."""
    study = findings.evidence.study
    if findings.win_map and len(study.factors) > 1:
        return win_map(findings)
    if len(findings.evidence.options) == 1 and study.subject.kind != "null":
        return _measurement(findings)
    if findings.pairwise.options:
        return options_compared(findings)
    text = "Nothing to compare: no block holds a finished run of two options."
    if study.subject.kind == "recording":
        text = "Nothing to compare: the options have no figure in common of which more or less is better."
    elif findings.run_metrics.engine_bound:
        text = "No winner by throughput: the load engine was at its limit of CPU."
    return Decision("nothing to compare"), Words(text)


def _measurement(findings: Findings) -> tuple[Decision, Words]:
    """One option alone, the foremost metric at its best load point; `compare` sets it against a bundle."""
    evidence, run_metrics = findings.evidence, findings.run_metrics
    metric, label = foremost(evidence.study, run_metrics), evidence.options[0].label
    points = points_of(run_metrics)
    levels = [estimate for point in points for estimate in estimates(run_metrics, metric, [label], point)]
    if not levels:
        text = f"Nothing was measured of {label}."
        if evidence.study.subject.kind == "recording":
            text = f"No work was counted in the recording of {label}."
        return Decision("nothing to compare"), Words(text)
    blocks = min(estimate.blocks for estimate in levels)
    best = (min if metric.better == "lower" else max)(levels, key=lambda estimate: estimate.value)
    at = f" with {evidence.study.workload.counted(best.clients)}" if best.clients else ""
    few = "" if blocks >= FEWEST_BLOCKS else ": too few for a safe interval"
    words = Words(
        f"{capitalised(metric.title)} of {findings.named(label)}: {quantity(best.value, metric.unit)}{at}.",
        f"{interval(best.value, best.low, best.high, metric.unit)}, 95 % interval,"
        f" {count(blocks, 'block')}{few}.",
    )
    return Decision("measured", compared=[label]), words


def _complete(findings: Findings, decision: Decision, words: Words) -> tuple[Decision, Words]:
    """With what options fill and do not release, with codes explained and doubts.

    Such a gauge is a risk of the answer. Where no option wins, and some of those that the headline is about
    have it, but not all of them, it tells these apart, and leads. A limit that all of them reached is no
    reason for one of them: only its notice says so.
    """
    compared = set(decision.compared)

    def of_all(gauge: GaugeFinding) -> bool:
        alike = {one.notice.subject for one in findings.gauges if one.brief == gauge.brief}
        return gauge.notice.code == "gauge-full" and len(compared) > 1 and compared <= alike

    severe = [gauge for gauge in findings.gauges if gauge.severe and not of_all(gauge)]
    told = [f"{gauge.notice.subject}: {gauge.notice.text}." for gauge in severe[:_MOST_GAUGES]]
    headline, range_, consequence, reasons = words
    reasons = [*reasons, *told]
    if mine := [gauge for gauge in severe if gauge.notice.subject in compared]:
        gauge = next((one for one in mine if one.notice.subject == decision.winner), mine[0])
        notice = gauge.notice
        brief = f"{notice.subject}: {gauge.brief}."
        if decision.winner or {one.notice.subject for one in mine} == compared:
            consequence = joined(brief, consequence)
        else:
            first = joined(range_, consequence)
            reasons = [first, *(reason for reason in reasons if notice.text not in reason)]
            range_ = f"{capitalised(notice.text)} ({count(len(notice.runs), 'run')})."
            consequence = headline
            headline = fitting(f"{findings.named(notice.subject)}: {gauge.brief}.", brief)
    explained = findings.explained(headline, decision.explained)
    reasons = [reason for reason in reasons if reason and reason not in consequence]
    headline = f"Leaning: {headline}" if decision.leaning else headline
    return decision, Words(headline, range_, consequence, [*decision.doubts, *explained, *reasons])
