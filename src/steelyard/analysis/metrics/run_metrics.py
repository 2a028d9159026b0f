"""From evidence to run metrics: one row per run and point, one column per metric.

Everything here is derived from counters: a rate over the measure phase divided by transactions a
second. Nothing is averaged over runs: the run is the unit of all that follows.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.analysis.judgement import Metric
from steelyard.analysis.metrics.dispatcher import simulated_metrics
from steelyard.analysis.metrics.measured import (
    SERVER_CPU,
    Measured,
    Source,
    aligned,
    by_column,
    costs,
    sources,
    time_cost,
)
from steelyard.analysis.metrics.particular import (
    GEOMEAN,
    INSTRUCTION_TIME,
    LATCH_COSTS,
    QUERIES,
    instruction_metrics,
    queries_of,
)
from steelyard.analysis.metrics.programs import SCORE, program_metrics, recorded_metrics
from steelyard.analysis.metrics.storage import without_storage
from steelyard.analysis.statistics.distributions import Floats, Ints
from steelyard.bundle.evidence import Evidence
from steelyard.study.host_settings import cpus_by_role
from steelyard.study.study import Study
from steelyard.study.workloads.transactions import DrivenWorkload
from steelyard.study.workloads.workload import Workload

THROUGHPUT = Metric("throughput_per_s", "throughput", "transactions/s", "higher")
P50 = Metric("p50_ns", "latency p50", "ns", "lower")
P99 = Metric("p99_ns", "latency p99", "ns", "lower")
# work done, the first of them that was measured
WORK = (SCORE, INSTRUCTION_TIME.name, GEOMEAN.name, THROUGHPUT.name)
# what verdicts are made of
HEADLINES = (THROUGHPUT.name, SCORE, INSTRUCTION_TIME.name, GEOMEAN.name, SERVER_CPU.name, P99.name)

WAIT_PREFIX = "wait_"

_LATENCIES = (P50, Metric("p95_ns", "latency p95", "ns", "lower"), P99)
# share of the transactions that failed; not a metric of its own beside ERRORS
FAILED = "failed_share"
# of the CPU that the load engine may use, its part; and 1 where that is all but a little
ENGINE_SHARE, ENGINE_AT_LIMIT = "engine_share", "engine_at_limit"
# a process that is held back in each period of its quota does not use it up: what one CPU was given expires
_AT_LIMIT, _AT_QUOTA = 0.9, 0.75
ERRORS = Metric("errors_per_txn", "errors", "1/txn", "lower")


@dataclass(frozen=True)
class RunMetrics:
    """One row a (run, point), in order of run and point; values are NaN where not measured.

    metrics: those measured, and not 0 throughout; wait types and scores found come last.
    queries: names of those whose times stand among the values as well (queries.time_of).
    costs: names of the costs that monitors declare, measured or not.
    engine_bound: whether throughput is the load engine's, and so neither more nor less of it is better.
    """

    metrics: tuple[Metric, ...]
    run: Ints
    option: NDArray[Any]
    block: Ints
    slot: Ints
    point: Ints
    clients: Ints
    values: Mapping[str, Floats]
    queries: tuple[str, ...] = ()
    costs: tuple[str, ...] = ()
    engine_bound: bool = False

    @property
    def headlines(self) -> tuple[Metric, ...]:
        """What verdicts are made of, as far as measured."""
        return tuple(m for m in self.metrics if m.name in HEADLINES)

    @property
    def work(self) -> Metric:
        """Work done: a program's score, a guest's instructions, how long queries take, else throughput."""
        return next(filter(None, map(self.metric, WORK)), THROUGHPUT)

    def metric(self, name: str) -> Metric | None:
        """The metric of this name, None when it was not measured."""
        return next((m for m in self.metrics if m.name == name), None)

    def where(self, name: str, kept: NDArray[np.bool_]) -> list[tuple[str, int, float]]:
        """Option, run and value of a metric, of some rows."""
        columns = (self.option, self.run, self.values[name])
        return list(zip(*(column[kept].tolist() for column in columns), strict=True))

    def scatter(self, metric: Metric, option: str) -> float:
        """The largest value of a metric over the smallest, among runs of an option at one load point."""
        values = self.values[metric.name]
        known = (self.option == option) & np.isfinite(values) & (values > 0)
        points = (values[known & (self.point == point)] for point in np.unique(self.point[known]))
        return max((float(found.max() / found.min()) for found in points), default=float("nan"))


def foremost(study: Study, run_metrics: RunMetrics) -> Metric:
    """What a study is about first: work done, or latency where an open loop gives the work."""
    return P99 if study.workload.open_loop else run_metrics.work


# of a recording that did not count its work it is not known that none was done
_WORK = """
    select run, point, if($recorded and (run, point) not in (
            select (run, point) from throughput where statement = 'transaction'
        ), null, transactions / seconds) as throughput_per_s,
        ratio(errors, transactions) as errors_per_txn, ratio(errors, transactions + errors) as failed_share
    from points
"""
_LATENCY = "select run, point, p50_ns, p95_ns, p99_ns from latency where statement = 'transaction'"
_ENGINE = """
    with limits as (select unnest($limits, recursive := true))
    select run, point, ratio(rate_per_s / 1e9, may_use) as engine_share,
        coalesce(engine_share > at_limit, false) as engine_at_limit
    from points join limits using (option) left join (from rates where monitor = 'processes'
        and entity = 'engine' and metric = 'cpu_ns_total') using (run, point)
"""


def compute_run_metrics(evidence: Evidence) -> RunMetrics:
    """All metrics of every run and point."""
    query = "select run, point, option, block, slot, clients from points order by run, point"
    run, point, option, block, slot, clients = zip(*evidence.rows(query), strict=True)
    declared, queries = _declared(evidence), queries_of(evidence)
    found = _Columns(evidence, len(run))
    found.add(
        # of a guest the foremost
        *instruction_metrics(evidence),
        Measured([THROUGHPUT], by_column(_WORK), {"recorded": evidence.recorded}),
        Measured(_LATENCIES, by_column(_LATENCY)),
        *costs(declared),
    )
    found.metrics.append(ERRORS)
    found.add(*_waits(evidence), LATCH_COSTS, *program_metrics(evidence))
    found.add(
        *recorded_metrics(evidence, {n for n, column in found.values.items() if np.isfinite(column).any()})
    )
    found.add(
        *simulated_metrics(evidence),
        *[QUERIES] * bool(queries),
        Measured([], by_column(_ENGINE), {"limits": [*_limits(evidence)]}),
    )
    # rounds per second and the slowest of a hundred rounds are of no use; nor are those of a guest, where no
    # client waited and seconds of the clock are no time
    left_out = (THROUGHPUT, *_LATENCIES) if queries or evidence.instruction_time else ()
    metrics = RunMetrics(
        metrics=tuple(
            _in_words_of(m, evidence.workload)
            for m in dict.fromkeys(found.metrics)
            if np.nan_to_num(found.values[m.name]).any() and m not in left_out
        ),
        run=np.array(run),
        option=np.array(option, dtype=object),
        block=np.array(block),
        slot=np.array(slot),
        point=np.array(point),
        clients=np.array(clients),
        values=found.values,
        queries=tuple(queries),
        costs=tuple(dict.fromkeys(source.metric.name for source in declared)),
    )
    if not _engine_bound(evidence.study, metrics):
        return metrics
    judged = (replace(m, better="neither") if m.name == THROUGHPUT.name else m for m in metrics.metrics)
    return replace(metrics, metrics=tuple(judged), engine_bound=True)


class _Columns:
    """Values by metric, one per run and load point; and the metrics, in their order."""

    def __init__(self, evidence: Evidence, rows: int) -> None:
        self._evidence, self._unknown = evidence, np.full(rows, np.nan)
        self.metrics: list[Metric] = []
        self.values: dict[str, Floats] = {}

    def add(self, *groups: Measured) -> None:
        for group in groups:
            self.metrics += group.metrics
            self.values |= dict.fromkeys((metric.name for metric in group.metrics), self._unknown)
            self.values |= aligned(self._evidence, group.query, **group.given)


def _engine_bound(study: Study, found: RunMetrics) -> bool:
    """Whether in most runs and points of an option the load engine was at its limit of CPU.

    The throughput of the null subject is the engine's by design.
    """
    at_limit = found.values[ENGINE_AT_LIMIT]
    by_work = foremost(study, found).name == THROUGHPUT.name and study.subject.kind != "null"
    return by_work and any(at_limit[found.option == one].mean() > 0.5 for one in np.unique(found.option))


def _declared(evidence: Evidence) -> list[Source]:
    """Costs that monitors declare; none where the server also works in the background, for no transaction."""
    if evidence.workload.background_clients:
        return []
    disregarded = without_storage(evidence)
    return [source for source in sources(evidence.declared) if source.metric.name not in disregarded]


def _limits(evidence: Evidence) -> Iterator[dict[str, Any]]:
    """By option, the CPUs that the load engine may use (its threads, CPUs and quota, whichever is least)."""
    placed = evidence.placement.get("engine", frozenset[int]())
    for option in evidence.options:
        quota = float(option.host.get("engine.cpu_quota", np.inf))
        cpus = len(cpus_by_role(option.host, placed, placed)["engine"]) or np.inf
        # under a driver each client has a thread
        driven = isinstance(option.workload, DrivenWorkload) and option.workload.driver
        free = float(min(np.inf if driven else option.workload.engine_threads, cpus))
        at_limit = _AT_QUOTA if quota < free else _AT_LIMIT
        yield {"option": option.label, "may_use": min(quota, free), "at_limit": at_limit}


# a mean of 0.5 sessions waiting at 1,000 transactions per second is 500 us per transaction; a type that was
# never seen in a run has no counter there: it waited for nothing
_WAITS = """
    with seen as (
        select run, point, split_part(entity, ':', 1) as type, sum(rate_per_s) as per_s from rates
        where monitor = 'postgres-waits' and metric = 'samples_total' group by all
    ), readings as (
        select run, point, sum(rate_per_s) as per_s from rates where monitor = 'postgres-waits'
            and entity = 'sessions' and metric = 'readings_total' group by all
    )
    select 'wait_' || lower(type) || '_us_per_txn' as name, run, point,
        ratio(ratio(coalesce(s.per_s, 0), r.per_s) * 1e6 * seconds, transactions) as value
    from readings r join points using (run, point) cross join (select unnest($types) as type)
        left join seen s using (run, point, type)
"""
# CPU, sampled as running, is counted exactly elsewhere; so is LWLock, where sleeps for latches were seen
_TYPES = """
    select distinct split_part(entity, ':', 1) as type from rates
    where monitor = 'postgres-waits' and metric = 'samples_total' and type <> 'CPU'
        and (type <> 'LWLock' or not exists (from latches where wait_ns is not null)) order by type
"""


def _waits(evidence: Evidence) -> list[Measured]:
    """Time waited per transaction by type: sessions seen waiting, over readings, over transactions."""
    types = evidence.column(_TYPES)
    if evidence.workload.background_clients or not types:
        return []
    metrics = [
        time_cost(f"{WAIT_PREFIX}{kind.lower()}_us_per_txn", f"waits of type {kind}", better="neither")
        for kind in types
    ]
    return [Measured(metrics, _WAITS, {"types": types})]


def _in_words_of(metric: Metric, workload: Workload) -> Metric:
    """The metric as it is called where lookups are counted, or where no server spends the CPU."""
    title, unit = metric.title, metric.unit
    if workload.WHO != "server":
        title = title.replace("of the server", f"of the {workload.WHO}")
        title = re.sub("^server CPU", f"CPU of the {workload.WHO}", title)
    if unit == "transactions/s":
        unit = workload.rate_is
    if workload.work_is != "transaction":
        unit = unit.replace("/txn", f"/{workload.work_is}")
    return replace(metric, title=title, unit=unit)
