"""What an option fills and does not release, where the answer of a study needs it.

Of the options that the headline compares it is a risk of the answer. Where no option wins it tells apart the
ones that are left, and leads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from steelyard.analysis.judgement.verdict import Verdict
from steelyard.analysis.validity.gauges import GaugeFinding
from steelyard.analysis.verdict.findings import Findings
from steelyard.analysis.verdict.headline import capitalised, fitting, joined
from steelyard.quantities import count

_MOST = 3


def with_severe_gauges(findings: Findings, found: Verdict, compared: Sequence[str]) -> Verdict:
    """The verdict with the severe gauges of all options; compared: the options that the headline is about.

    A gauge leads where no option wins and some of the compared options have it, but not all of them. A limit
    that all of them reached is no reason for one of them: only its notice says so.
    """
    severe = [g for g in findings.gauges if g.severe and not _of_all(findings, g, compared)]
    mine = [gauge for gauge in severe if gauge.notice.subject in compared]
    reasons = tuple(f"{gauge.notice.subject}: {gauge.notice.text}." for gauge in severe[:_MOST])
    found = replace(found, reasons=(*found.reasons, *reasons))
    if not mine:
        return found
    gravest = next((gauge for gauge in mine if gauge.notice.subject == found.winner), mine[0])
    apart = {gauge.notice.subject for gauge in mine} < set(compared)
    if found.winner or not apart:
        text = f"{gravest.notice.subject}: {gravest.brief}."
        return replace(found, consequence=joined(text, found.consequence))
    return _led_by(findings, gravest, found)


def _of_all(findings: Findings, gauge: GaugeFinding, compared: Sequence[str]) -> bool:
    """Whether all compared options reached the same limit."""
    alike = {g.notice.subject for g in findings.gauges if g.brief == gauge.brief}
    return gauge.notice.code == "gauge-full" and len(compared) > 1 and set(compared) <= alike


def _led_by(findings: Findings, gauge: GaugeFinding, found: Verdict) -> Verdict:
    notice = gauge.notice
    named = findings.named(notice.subject)
    reasons = (reason for reason in found.reasons if notice.text not in reason)
    return replace(
        found,
        headline=fitting(f"{named}: {gauge.brief}.", f"{notice.subject}: {gauge.brief}."),
        interval=f"{capitalised(notice.text)} ({count(len(notice.runs), 'run')}).",
        consequence=found.headline,
        reasons=(joined(found.interval, found.consequence), *reasons),
    )
