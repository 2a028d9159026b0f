"""Beside throughput: retries, transactions that derived workloads count, work in the background; and how
evenly clients were served, against what chance alone would do.
"""

from collections.abc import Sequence

from steelyard.analysis.judgement import Fairness, Notice
from steelyard.analysis.statistics.distributions import chi2_tail
from steelyard.bundle.evidence import Evidence, grouped
from steelyard.quantities import change, percent, quantity, significant
from steelyard.study.workloads.derived import BrokerageWorkload, OrderEntryWorkload
from steelyard.study.workloads.program import ProgramWorkload
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
    """reports, per option: `11.2/s at 9 clients, mean 89 ms (−38.0 % against SAME)`; none without clients."""
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


_ALPHA = 0.001
_CV_THAT_MATTERS = 0.1


# Jain's index, (sum x)^2 / (n sum x^2), is 1 / (1 + CV^2) (Jain, Chiu & Hawe 1984); by chance (Poisson noise)
# CV^2 is (1 - 1/n) / mean. Variance over mean of such counts, summed over runs, is distributed as chi-square
_FAIRNESS = """
    with of_runs as (
        select option, count(*) as n, avg(served) as mean, stddev_pop(served) / mean as cv,
            min(served) / mean as least, coalesce(ratio(max(served), min(served)), 'inf') as most
        from (select run, point, {served}::DOUBLE as served from {table} where {client} >= $apart)
            join points using (run, point)
        group by option, run, point having n > 1 and max(served) > 0
    )
    select option, sum(n * cv * cv * mean), sum(n - 1), n + $apart as clients, median(1 / (1 + cv * cv)),
        median(1 / (1 + {chance} * (1 - 1 / n) / mean)), median(least), median(most), median(cv)
    from of_runs group by option, n order by clients
"""


def fairness(evidence: Evidence) -> tuple[Fairness, ...]:
    """For each option and number of clients: medians over runs; points with one client left out.

    unfair: clients differ clearly more than chance makes them (a dispersion test over all runs,
    p < 0.001) and by enough to matter: CV over 10 %. Jain's index is 1 / (1 + CV^2), so that is 0.99; of 8
    clients the quickest then does about a third more than the slowest (the range of 8 normal values is 2.85
    standard deviations; Tippett 1925). The slices of a scheduler alone make a CV of 2 to 4 % in a run of
    seconds, which users of a server do not notice. A client without a transaction makes max_over_min
    infinite. Clients that execute other transactions than the rest are left out, but counted. Instances of
    a program count as clients with their scores, without the test: how chance changes a score is not known.
    """
    workload = evidence.workload
    query = _FAIRNESS.format(table="clients", client="client", served="transactions", chance=1)
    if of_instances := isinstance(workload, ProgramWorkload):
        query = _FAIRNESS.format(table="scores", client="instance", served="score", chance=0)
    return tuple(
        Fairness(option, *rest, unfair=rest[-1] > _CV_THAT_MATTERS and (of_instances or chance < _ALPHA))
        for option, dispersion, freedom, *rest in evidence.in_order(query, apart=workload.clients_apart)
        for chance in [chi2_tail(dispersion, freedom)]
    )


def fairness_notices(found: Sequence[Fairness], workload: Workload) -> list[Notice]:
    """unfair: per option and number of clients, with their scatter; none of a replay: its sessions vary."""
    if not workload.steady and not workload.in_rounds:
        return []
    points_are = workload.points_are
    work = "did far more work than others in the same time"
    more = "took far longer than others" if workload.lower_is_better else work
    of_chance = "" if isinstance(workload, ProgramWorkload) else ", by more than chance explains"
    text = f"some {points_are} {more}{of_chance}: a mean over {points_are} hides that; the report shows each"
    return [
        Notice("unfair", text, one.option, detail=f"CV {percent(one.cv)} of {one.clients} {points_are}")
        for one in found
        if one.unfair
    ]
