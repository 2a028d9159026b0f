"""The verdict where no two of the options have finished runs in common."""

from __future__ import annotations

from steelyard.analysis.judgement.results import Verdict
from steelyard.analysis.verdict.findings import Findings


def nothing_to_compare(findings: Findings) -> Verdict:
    """There is no comparison; the reasons are those of any verdict."""
    return Verdict(
        outcome="nothing to compare",
        winner=None,
        sentence="There is nothing to compare: no block holds a finished run of two options.",
        reasons=findings.further_reasons(None),
    )
