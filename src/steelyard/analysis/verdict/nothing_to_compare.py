"""The verdict where no two of the options have finished runs in common."""

from __future__ import annotations

from steelyard.analysis.judgement.verdict import Verdict
from steelyard.analysis.verdict.findings import Findings
from steelyard.analysis.verdict.gauges import with_severe_gauges


def nothing_to_compare(findings: Findings) -> Verdict:
    """There is no comparison; what options fill and keep is reported all the same."""
    text = "Nothing to compare: no block holds a finished run of two options."
    if findings.evidence.study.subject.kind == "recording":
        text = "Nothing to compare: the options have no figure in common of which more or less is better."
    elif findings.run_metrics.engine_bound:
        text = "No winner by throughput: the load engine was at its limit of CPU."
    found = Verdict("nothing to compare", None, text)
    return with_severe_gauges(findings, found, ())
