"""Rates by which programs that derive from a specification are compared; not metrics of the TPC."""

from __future__ import annotations

from statistics import fmean

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
    workload, points, latency = evidence.study.workload, evidence.view("points"), evidence.view("latency")
    counted = next((found for kind, found in _COUNTED.items() if isinstance(workload, kind)), None)
    if counted is None:
        return []
    transaction, code, text = counted
    options = dict(
        zip(evidence.view("runs")["run"].tolist(), evidence.view("runs")["option"].tolist(), strict=True)
    )
    places = zip(*(points[name].tolist() for name in ("run", "point", "clients", "seconds")), strict=True)
    place = {(run, point): (clients, seconds) for run, point, clients, seconds in places}
    rates: dict[str, dict[int, list[float]]] = {}
    columns = (latency[name].tolist() for name in ("run", "point", "statement", "count"))
    for run, point, statement, count in zip(*columns, strict=True):
        if statement == transaction:
            clients, seconds = place[run, point]
            rates.setdefault(str(options[run]), {}).setdefault(int(clients), []).append(count / seconds)
    return [
        Notice(
            code,
            text,
            option,
            detail=", ".join(
                f"{significant(fmean(found))}/s at {workload.counted(clients)}"
                + _efficiency(evidence.option(option).workload, fmean(found))
                for clients, found in by.items()
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
