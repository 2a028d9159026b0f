"""The verdict where fewer than two options have finished runs in common."""

from __future__ import annotations

from steelyard.analysis.judgement.results import Verdict
from steelyard.analysis.verdict.findings import Findings


def nothing_to_compare(findings: Findings) -> Verdict:
    """That there is no comparison, and why."""
    alone = len(findings.evidence.options) == 1
    why = "the study has one option" if alone else "no block holds a finished run of two options"
    return Verdict(
        outcome="nothing to compare",
        winner=None,
        sentence=f"There is nothing to compare: {why}.",
        reasons=findings.further_reasons(None),
    )
