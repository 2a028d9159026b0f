"""The verdict where no two of the options have finished runs in common."""

from __future__ import annotations

from steelyard.analysis.judgement.results import Verdict
from steelyard.analysis.verdict.findings import Findings
from steelyard.analysis.verdict.gauges import with_severe_gauges


def nothing_to_compare(findings: Findings) -> Verdict:
    """There is no comparison; what options fill and keep is reported all the same."""
    found = Verdict(
        "nothing to compare", None, "Nothing to compare: no block holds a finished run of two options."
    )
    return with_severe_gauges(findings, found, ())
