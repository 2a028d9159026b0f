"""The verdict of a study: its question is chosen by subject and workload, decided once, then put in words."""

import numpy as np

from steelyard.analysis.comparison.block_table import block_table, estimates, points_of
from steelyard.analysis.judgement import FEWEST_BLOCKS
from steelyard.analysis.judgement.verdict import Verdict
from steelyard.analysis.metrics.measured import SERVER_CPU
from steelyard.analysis.metrics.run_metrics import P50, THROUGHPUT, foremost
from steelyard.analysis.validity.gauges import GaugeFinding
from steelyard.analysis.validity.pace import unlike_servers
from steelyard.analysis.verdict.decision import Decision, Words, capitalised, fitting, joined, unequal_work
from steelyard.analysis.verdict.findings import Findings
from steelyard.analysis.verdict.options_compared import options_compared
from steelyard.analysis.verdict.win_map import win_map
from steelyard.quantities import count, interval, listed, percent, quantity, span_of

_MOST_GAUGES = 3
_ENGINE = "engine_cpu_us_per_txn"


def verdict(findings: Findings) -> Verdict:
    """The answer with its reasons; first what makes it doubtful."""
    unlike = unlike_servers(findings.evidence)
    if findings.work.differences:
        decision, words = Decision("unequal work"), unequal_work(findings.evidence, findings.work.differences)
    else:
        decision, words = _complete(findings, *_answer(findings))
        if findings.evidence.study.subject.kind == "null":
            words = _harness_overhead(findings, words)
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
    study = findings.evidence.study
    if findings.win_map and len(study.factors) > 1:
        return win_map(findings)
    if len(findings.evidence.options) == 1 and study.subject.kind != "null":
        return _measurement(findings)
    if findings.pairwise.options:
        return options_compared(findings)
    text = "Nothing to compare: no block holds a finished run of two options."
    if findings.evidence.recorded:
        text = "Nothing to compare: no block has a positive figure, better high or low, of two options."
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
        if evidence.recorded:
            text = f"No work was counted in the recording of {label}."
        return Decision("nothing to compare"), Words(text)
    blocks = min(estimate.blocks for estimate in levels)
    best = (min if metric.better == "lower" else max)(levels, key=lambda estimate: estimate.value)
    at = f" with {evidence.workload.counted(best.clients)}" if best.clients else ""
    few = "" if blocks >= FEWEST_BLOCKS else ": too few for a safe interval"
    range_ = f"{interval(best.value, best.low, best.high, metric.unit)}, 95 % interval,"
    words = Words(
        f"{capitalised(metric.title)} of {findings.named(label)}: {quantity(best.value, metric.unit)}{at}.",
        f"{range_} {count(blocks, 'block')}{few}." if blocks > 1 else "One block: no interval.",
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


def _harness_overhead(findings: Findings, answer: Words) -> Words:
    """The cost of the harness and the noise of the machine; the answer on the options is its first reason."""
    engine, server = _levels(findings, _ENGINE, "us"), _levels(findings, SERVER_CPU.name, "us")
    if not (engine or server):
        return answer
    of_server = f"A server that only answers takes {server} of CPU per transaction."
    return Words(
        f"The load engine takes {engine} of CPU per transaction." if engine else of_server,
        joined(of_server if engine and server else "", _latency(findings)),
        _noise(findings),
        (joined(*answer[:3]), *answer.reasons),
    )


def _latency(findings: Findings) -> str:
    """`Half of the transactions are answered within 700 µs, with 8 clients.`; '' at several load points."""
    # a median over several load points is no latency
    study = findings.evidence.study
    first, *more = study.plan.clients
    half = "" if more else _levels(findings, P50.name, "ns")
    with_ = study.workload.counted(first)
    return f"Half of the transactions are answered within {half}, with {with_}." if half else ""


def _levels(findings: Findings, name: str, unit: str) -> str:
    """From the least to the most that an option takes, as the table of options has it."""
    metric = findings.run_metrics.metric(name)
    found = estimates(findings.run_metrics, metric, findings.evidence.labels) if metric else ()
    return span_of([one.value for one in found], lambda value: quantity(value, unit)) if found else ""


def _noise(findings: Findings) -> str:
    """How much runs of the same option scatter; '' of a single block."""
    parts: list[str] = []
    for name, title in ((THROUGHPUT.name, "throughput"), (SERVER_CPU.name, "CPU per transaction")):
        table = block_table(findings.run_metrics, name, findings.evidence.labels)
        if len(table.blocks) > 1 and table.positive:
            variance = np.log(table.values).var(axis=0, ddof=1).mean()
            parts.append(f"{percent(float(np.expm1(variance**0.5)))} in {title}")
    if not parts:
        return ""
    length = f"{findings.evidence.study.plan.measure_s:g} s"
    return (
        f"A repeated run differs by {listed(parts)} (standard deviation of runs of {length}): this is the"
        " noise of this machine now; steelyard doctor reports its causes."
    )
