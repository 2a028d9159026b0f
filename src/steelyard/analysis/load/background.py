"""What work in the background got done beside the measured work, which it is no part of."""

from __future__ import annotations

from steelyard.analysis.judgement.results import Notice
from steelyard.bundle.evidence.evidence import Evidence
from steelyard.quantities import change, quantity, significant

_REPORTS = """
    select option, {clients} sum(count) / sum(seconds), sum(count * mean_ns) / sum(count)
    from latency join points using (run, point) where statement = 'transaction report'
    group by option {groups} order by min(run) {groups}
"""


def report_notices(evidence: Evidence) -> list[Notice]:
    """reports: one per option; detail: `11.2/s at 9 clients, mean 89 ms (−38.0 % against SAME)`; none
    without reporting clients.
    """
    if not evidence.study.workload.background_clients:
        return []
    rows = evidence.rows(_REPORTS.format(clients="clients,", groups=", clients"))
    baseline = {clients: per_s for option, clients, per_s, _ in rows if option == evidence.baseline}
    details: dict[str, list[str]] = {}
    for option, clients, per_s, mean_ns in rows:
        at = evidence.study.workload.counted(clients)
        part = f"{significant(per_s)}/s at {at}, mean {quantity(mean_ns, 'ns')}"
        if option != evidence.baseline and clients in baseline:
            part += f" ({change(per_s / baseline[clients])} against {evidence.baseline})"
        details.setdefault(option, []).append(part)
    text = "reports beside order entry, whose transactions and latency do not count them"
    return [Notice("reports", text, option, detail="; ".join(parts)) for option, parts in details.items()]


def reports_beside(evidence: Evidence) -> str:
    """`Reports beside it: SAME 3.00/s, NICE+10 1.12/s (−62.5 %).`, over all load points; '' without any."""
    if not evidence.study.workload.background_clients:
        return ""
    found = evidence.in_order(_REPORTS.format(clients="", groups=""))
    rates = {option: per_s for option, per_s, _ in found}
    baseline = rates.get(evidence.baseline, 0.0)
    parts = [
        f"{option} {significant(rate)}/s"
        + (f" ({change(rate / baseline)})" if baseline and option != evidence.baseline else "")
        for option, rate in rates.items()
    ]
    return f"Reports beside it: {', '.join(parts)}."
