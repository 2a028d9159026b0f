"""Rates by which programs that derive from a specification are compared; not metrics of the TPC."""

from __future__ import annotations

from steelyard.analysis.judgement.results import Notice
from steelyard.bundle.evidence.evidence import Evidence
from steelyard.quantities import percent, significant
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


def derived_rate_notices(evidence: Evidence) -> list[Notice]:
    """new-orders, trade-results: one per option; detail: `296/s at 8 clients`, means over runs; none of other
    workloads. With keying and think times also the share of the most new orders that they leave room for.
    """
    workload = evidence.study.workload
    counted = next((found for kind, found in _COUNTED.items() if isinstance(workload, kind)), None)
    if counted is None:
        return []
    transaction, code, text = counted
    query = """
        select option, clients, avg(count / seconds) from latency join points using (run, point)
        where statement = $transaction group by option, clients order by min(run), clients
    """
    rates: dict[str, dict[int, float]] = {}
    for option, clients, per_s in evidence.rows(query, transaction=transaction):
        rates.setdefault(option, {})[clients] = per_s
    return [
        Notice(
            code,
            text,
            option,
            detail=", ".join(
                f"{significant(per_s)}/s at {workload.counted(clients)}"
                + _efficiency(evidence.option(option).workload, per_s)
                for clients, per_s in by.items()
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
