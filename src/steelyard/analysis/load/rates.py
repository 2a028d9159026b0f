"""Rates beside throughput: retries, the transactions that derived workloads count, work in the background."""

from steelyard.analysis.judgement import Notice
from steelyard.bundle.evidence import Evidence, grouped
from steelyard.quantities import change, percent, quantity, significant
from steelyard.study.workloads.brokerage import BrokerageWorkload
from steelyard.study.workloads.order_entry import OrderEntryWorkload
from steelyard.study.workloads.transactions import DerivedWorkload
from steelyard.study.workloads.workload import Workload

# ten clients of a warehouse, each with 20.99 s of keying and think times per transaction; 45 % are new orders
MOST_PER_MINUTE = 12.86
# by workload: the transaction that counts, the notice's code and text
_COUNTED: dict[type[DerivedWorkload], tuple[str, str, str]] = {
    OrderEntryWorkload: (
        "transaction new-order",
        "new-orders",
        "new orders, with those that are rolled back as the specification wants",
    ),
    BrokerageWorkload: (
        "transaction trade-result",
        "trade-results",
        "trade results: orders that the market has executed, which follow the customers' orders",
    ),
}
_REPORTS = """
    select option, {clients} sum(count) / sum(seconds), sum(count * mean_ns) / sum(count)
    from latency join points using (run, point) where statement = 'transaction report'
    group by option {groups} order by min(run) {groups}
"""


def retry_notices(evidence: Evidence) -> list[Notice]:
    """retries: one per option; detail: `payment 2.65, delivery 0.41`, over all its runs and load points."""
    query = """
        with rates as (
            select option, transaction, sum(retries) / sum(count) as rate, min(run) as run
            from kinds join runs using (run) group by option, transaction
        )
        select option, list(transaction order by rate desc, run), list(rate order by rate desc, run)
        from rates where rate > 0 and isfinite(rate) group by option order by min(run)
    """
    text = (
        "retries per transaction, after serialization failures and deadlocks: latency counts from the first"
        " time, and statements count each time"
    )
    return [
        Notice(
            "retries",
            text,
            option,
            detail=", ".join(f"{kind} {significant(rate)}" for kind, rate in zip(kinds, rates, strict=True)),
        )
        for option, kinds, rates in evidence.rows(query)
    ]


def derived_rate_notices(evidence: Evidence) -> list[Notice]:
    """new-orders, trade-results: one per option; detail: `296/s at 8 clients`, means over runs; none of other
    workloads. With keying and think times also the share of the most new orders that they leave room for.
    """
    workload = evidence.workload
    counted = next((found for kind, found in _COUNTED.items() if isinstance(workload, kind)), None)
    if counted is None:
        return []
    transaction, code, text = counted
    query = """
        select option, clients, avg(count / seconds) from latency join points using (run, point)
        where statement = $transaction group by option, clients order by min(run), clients
    """
    rates = grouped((option, at) for option, *at in evidence.rows(query, transaction=transaction))
    return [
        Notice(
            code,
            text,
            option,
            detail=", ".join(
                f"{significant(per_s)}/s at {workload.counted(clients)}"
                + _efficiency(evidence.option(option).workload, per_s)
                for clients, per_s in by
            ),
        )
        for option, by in rates.items()
    ]


def _efficiency(workload: Workload, per_s: float) -> str:
    """`, efficiency 97.3 % of 12.86 per minute and warehouse`; '' without the specification's waits."""
    if not isinstance(workload, OrderEntryWorkload) or not workload.waits:
        return ""
    share = per_s * 60 / (MOST_PER_MINUTE * workload.warehouses)
    return f", efficiency {percent(share)} of {MOST_PER_MINUTE} per minute and warehouse"


def report_notices(evidence: Evidence) -> list[Notice]:
    """reports: one per option; detail: `11.2/s at 9 clients, mean 89 ms (−38.0 % against SAME)`; none
    without reporting clients.
    """
    if not evidence.workload.background_clients:
        return []
    rows = evidence.rows(_REPORTS.format(clients="clients,", groups=", clients"))
    baseline = {clients: per_s for option, clients, per_s, _ in rows if option == evidence.baseline}
    details: dict[str, list[str]] = {}
    for option, clients, per_s, mean_ns in rows:
        at = evidence.workload.counted(clients)
        part = f"{significant(per_s)}/s at {at}, mean {quantity(mean_ns, 'ns')}"
        if option != evidence.baseline and clients in baseline:
            part += f" ({change(per_s / baseline[clients])} against {evidence.baseline})"
        details.setdefault(option, []).append(part)
    text = "reports beside order entry, whose transactions and latency do not count them"
    return [Notice("reports", text, option, detail="; ".join(parts)) for option, parts in details.items()]


def reports_beside(evidence: Evidence) -> str:
    """`Reports beside it: SAME 3.00/s, NICE+10 1.12/s (−62.5 %).`, over all load points; '' without any."""
    if not evidence.workload.background_clients:
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
