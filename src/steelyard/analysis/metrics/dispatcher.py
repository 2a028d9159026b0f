"""Run metrics of a simulated machine, counted by the simulation for the group of threads that is weighed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from steelyard.analysis.judgement.results import Metric, Notice
from steelyard.analysis.statistics.distributions import Floats
from steelyard.bundle.evidence.evidence import Columns, Evidence
from steelyard.quantities import listed, significant, span_of
from steelyard.study.workloads.threads import ThreadsWorkload

LONGEST_WAIT = Metric("longest_wait_ns", "longest wait for a CPU", "ns", "lower", summary="maximum")
_MONITOR = "engine"
_QUANTUM = "quantum_switches_total"
_EVENTS = 0.0005  # one in two thousand transactions: a reload of a large working set is milliseconds
_TIME_US = 0.1
_US = 1e-3  # from ns


def _time(name: str, title: str) -> Metric:
    return Metric(name, title, "us/txn", "lower", _TIME_US)


def _events(name: str, title: str) -> Metric:
    return Metric(name, title, "1/txn", "lower", _EVENTS)


# counters, and their scale to the metric's unit
_COSTS = (
    (_time("reload_us_per_txn", "reloading of caches"), "reload_ns_total", _US),
    (_time("switch_us_per_txn", "direct cost of switches"), "switch_ns_total", _US),
    (_time("runqueue_wait_us_per_txn", "run-queue wait"), "wait_ns_total", _US),
    (_events("switches_voluntary_per_txn", "voluntary switches"), "voluntary_switches_total", 1.0),
    (_events("switches_involuntary_per_txn", "involuntary switches"), "involuntary_switches_total", 1.0),
    (_events("switches_quantum_per_txn", "switches at the end of a quantum"), _QUANTUM, 1.0),
    (_events("quantum_expiries_per_txn", "quanta used up"), "quantum_expiries_total", 1.0),
    (_events("migrations_per_txn", "migrations to another CPU"), "migrations_total", 1.0),
    (_events("steals_per_txn", "steals by idle CPUs"), "steals_total", 1.0),
)
COSTS = tuple(metric.name for metric, *_ in _COSTS)


def simulated_metrics(
    evidence: Evidence, row_of: Mapping[tuple[int, int], int], per_s: Floats, cpu: Metric
) -> list[tuple[Metric, Floats]]:
    """Each metric with one value per run and load point; none where no machine was simulated.

    per_s: transactions per second by row. cpu: the metric of CPU time per transaction.
    """
    workload = evidence.study.workload
    if not isinstance(workload, ThreadsWorkload):
        return []
    safe = np.where(per_s > 0, per_s, np.nan)
    found = [
        (
            metric,
            _column(evidence.view("rates"), row_of, workload.scaled, counter, "rate_per_s") * scale / safe,
        )
        for metric, counter, scale in ((cpu, "cpu_ns_total", _US), *_COSTS)
    ]
    longest = _column(evidence.view("peaks"), row_of, workload.scaled, "longest_wait_ns", "highest")
    return [*found, (LONGEST_WAIT, longest)]


def simulation_notices(evidence: Evidence) -> list[Notice]:
    """simulation, what it can claim; and table-cannot-matter, where no quantum ended in a switch."""
    workload = evidence.study.workload
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
    points = evidence.view("points")
    row_of = {
        key: i for i, key in enumerate(zip(points["run"].tolist(), points["point"].tolist(), strict=True))
    }
    switches = _column(evidence.view("rates"), row_of, "total", _QUANTUM, "rate_per_s")
    runnable = _column(evidence.view("peaks"), row_of, "total", "runnable_threads", "highest")
    clients = points["clients"].astype(int)
    idle = [n for n in sorted(set(clients.tolist())) if not (switches[clients == n] > 0).any()]
    if not idle:
        return []
    most = runnable[np.isin(clients, idle)].tolist()
    cpus = sorted({float(o.server.get("cpus", 0)) for o in evidence.options})
    was = "was" if max(most) == 1 else "were"
    return [
        Notice(
            "table-cannot-matter",
            f"with {listed([str(n) for n in idle])} thread{'s' * (idle != [1])} of {scaled} no thread lost"
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


def _column(
    table: Columns, row_of: Mapping[tuple[int, int], int], entity: str, metric: str, value: str
) -> Floats:
    """What the simulation counted, by row; NaN where it counted nothing."""
    found = np.full(len(row_of), np.nan)
    mine = (table["monitor"] == _MONITOR) & (table["entity"] == entity) & (table["metric"] == metric)
    for i in np.flatnonzero(mine):
        row = row_of.get((int(table["run"][i]), int(table["point"][i])))
        if row is not None:
            found[row] = table[value][i]
    return found
