"""The verdict of a study: the question is chosen by subject and workload, and one module answers it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from steelyard.analysis.judgement.verdict import Verdict
from steelyard.analysis.validity.servers import unlike_servers
from steelyard.analysis.verdict.findings import Findings
from steelyard.analysis.verdict.harness_overhead import harness_overhead
from steelyard.analysis.verdict.measurement import measurement
from steelyard.analysis.verdict.nothing_to_compare import nothing_to_compare
from steelyard.analysis.verdict.options_compared import options_compared
from steelyard.analysis.verdict.unequal_work import unequal_work
from steelyard.analysis.verdict.win_map import win_map

Strategy = Callable[[Findings], Verdict]


def verdict(findings: Findings) -> Verdict:
    """The answer with its reasons; first what makes it doubtful."""
    found, unlike = _strategy(findings)(findings), unlike_servers(findings.evidence)
    doubts = (
        "The load engine was at its limit of CPU: throughput is the engine's and names no winner."
        * findings.run_metrics.engine_bound,
        findings.disturbed.sentence,
        f"Servers differ beside the factor: {unlike}." if unlike else "",
    )
    return replace(found, reasons=(*filter(None, doubts), *found.reasons))


def _strategy(findings: Findings) -> Strategy:
    study = findings.evidence.study
    if findings.work.differences:
        return unequal_work
    if findings.win_map and len(study.factors) > 1:
        return win_map
    if study.subject.kind == "null":
        return harness_overhead
    if len(findings.evidence.options) == 1:
        return measurement
    return options_compared if findings.pairwise.options else nothing_to_compare
