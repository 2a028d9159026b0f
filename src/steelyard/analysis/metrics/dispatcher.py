"""Run metrics of a simulated machine, counted by the simulation for the group of threads that is weighed."""

from collections.abc import Sequence

from steelyard.analysis.judgement import Metric, Notice
from steelyard.analysis.metrics.measured import SERVER_CPU, Measured, Source, costs, time_cost
from steelyard.bundle.evidence import Evidence
from steelyard.quantities import listed, significant, span_of
from steelyard.study.workloads.threads import ThreadsWorkload

LONGEST_WAIT = Metric("longest_wait_ns", "longest wait for a CPU", "ns", "lower", summary="maximum")
_EVENTS = 0.0005  # one in two thousand transactions: a reload of a large working set is milliseconds
_US = 1e-3  # from ns


# the numbers of threads without any, and how many were runnable at most
_WITHOUT_QUANTUM = """
    select clients, list(p.highest) from points join peaks p using (run, point) left join rates r
        on r.run = points.run and r.point = points.point and r.monitor = 'engine' and r.entity = 'total'
            and r.metric = 'quantum_switches_total'
    where p.monitor = 'engine' and p.entity = 'total' and p.metric = 'runnable_threads'
    group by clients having coalesce(max(r.rate_per_s), 0) <= 0 order by clients
"""


def _events(name: str, title: str) -> Metric:
    return Metric(name, title, "1/txn", "lower", _EVENTS)


# by counter
_COSTS = {
    "reload_ns_total": time_cost("reload_us_per_txn", "reloading of caches"),
    "switch_ns_total": time_cost("switch_us_per_txn", "direct cost of switches"),
    "wait_ns_total": time_cost("runqueue_wait_us_per_txn", "run-queue wait"),
    "voluntary_switches_total": _events("switches_voluntary_per_txn", "voluntary switches"),
    "involuntary_switches_total": _events("switches_involuntary_per_txn", "involuntary switches"),
    "quantum_switches_total": _events("switches_quantum_per_txn", "switches at the end of a quantum"),
    "quantum_expiries_total": _events("quantum_expiries_per_txn", "quanta used up"),
    "migrations_total": _events("migrations_per_txn", "migrations to another CPU"),
    "steals_total": _events("steals_per_txn", "steals by idle CPUs"),
}
COSTS = tuple(metric.name for metric in _COSTS.values())


def simulated_metrics(evidence: Evidence) -> list[Measured]:
    """Costs, and the longest wait; none where no machine was simulated."""
    workload = evidence.workload
    if not isinstance(workload, ThreadsWorkload):
        return []
    query = """
        select 'longest_wait_ns' as name, run, point, highest as value from peaks
        where monitor = 'engine' and entity = $scaled and metric = 'longest_wait_ns'
    """
    counted = [
        Source(metric, "engine", workload.scaled, counter, _US if metric.unit == SERVER_CPU.unit else 1.0)
        for counter, metric in {"cpu_ns_total": SERVER_CPU, **_COSTS}.items()
    ]
    return [*costs(counted), Measured([LONGEST_WAIT], query, {"scaled": workload.scaled})]


def simulation_notices(evidence: Evidence) -> list[Notice]:
    """simulation, what it can claim; and table-cannot-matter, where no quantum ended in a switch."""
    workload = evidence.workload
    if not isinstance(workload, ThreadsWorkload):
        return []
    scope = Notice(
        "simulation",
        "a simulated machine: how often threads are switched, how long they wait and where they run follows"
        " the dispatcher's rules one by one; what a switch costs is a model (latency, cache, overlap of"
        " misses, working sets that share nothing), and locks, garbage collection, buses and TLBs are not in"
        " it: trust the direction of a difference and where it changes sign more than its size",
    )
    return [scope, *_cannot_matter(evidence, workload.scaled)]


def _cannot_matter(evidence: Evidence, scaled: str) -> list[Notice]:
    """The points at which no run of any option had a switch at the end of a quantum."""
    if not any("table" in option.server for option in evidence.options[1:]):
        return []
    idle = evidence.rows(_WITHOUT_QUANTUM)
    if not idle:
        return []
    numbers, most = [str(number) for number, _ in idle], [one for _, highest in idle for one in highest]
    cpus = sorted({float(o.server.get("cpus", 0)) for o in evidence.options})
    was = "was" if max(most) == 1 else "were"
    return [
        Notice(
            "table-cannot-matter",
            f"with {listed(numbers)} thread{'s' * (numbers != ['1'])} of {scaled} no thread lost"
            f" its CPU at the end of a quantum ({_counted(most, 'thread')} at most {was} runnable on"
            f" {_counted(cpus, 'CPU')}):"
            " with no more runnable threads than CPUs the tables cannot differ by their quanta, and no"
            " difference there shows nothing about memory latency",
        )
    ]


def _counted(values: Sequence[float], noun: str) -> str:
    return f"{span_of(values, _whole)} {noun}{'s' * (max(values) != 1)}"


def _whole(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else significant(value)
