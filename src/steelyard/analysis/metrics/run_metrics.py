"""From evidence to run metrics: one row per run and point, one column per metric.

Everything here is derived from counters: a rate over the measure phase divided by transactions a
second. Nothing is averaged over runs: the run is the unit of all that follows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.analysis.judgement.results import Metric
from steelyard.analysis.metrics.costs import SERVER_CPU, Source, sources, time_cost
from steelyard.analysis.metrics.dispatcher import simulated_metrics
from steelyard.analysis.metrics.guests import INSTRUCTION_TIME, instruction_metrics, meaningful
from steelyard.analysis.metrics.latches import latch_costs
from steelyard.analysis.metrics.programs import SCORE, program_metrics
from steelyard.analysis.metrics.queries import GEOMEAN, query_metrics, query_times, time_of
from steelyard.analysis.metrics.recorded import recorded_metrics
from steelyard.analysis.metrics.storage import without_storage
from steelyard.analysis.statistics.distributions import Floats, Ints
from steelyard.bundle.evidence.evidence import Columns, Evidence
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
_WAITS = "postgres-waits"
_RUNNING = "CPU"  # sampled as running: its time is counted exactly elsewhere
_LATCHES = "LWLock"  # the same, where sleeps for latches were seen

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

    def scatter(self, metric: Metric, option: str) -> float:
        """The largest value of a metric over the smallest, among runs of an option at one load point."""
        values = self.values[metric.name]
        known = (self.option == option) & np.isfinite(values) & (values > 0)
        points = (values[known & (self.point == point)] for point in np.unique(self.point[known]))
        return max((float(found.max() / found.min()) for found in points), default=float("nan"))


def foremost(study: Study, run_metrics: RunMetrics) -> Metric:
    """What a study is about first: work done, or latency where an open loop gives the work."""
    return P99 if study.workload.open_loop else run_metrics.work


def compute_run_metrics(evidence: Evidence) -> RunMetrics:
    """All metrics of every run and point."""
    points = evidence.view("points")
    order = np.lexsort((points["point"], points["run"]))
    run, point = points["run"][order].astype(int), points["point"][order].astype(int)
    row_of = {key: i for i, key in enumerate(zip(run.tolist(), point.tolist(), strict=True))}
    transactions = _floats(points["transactions"])[order]
    seconds = _floats(points["seconds"])[order]
    per_s = _divide(_counted(evidence, transactions), seconds)

    values: dict[str, Floats] = {THROUGHPUT.name: per_s}
    values |= _latencies(evidence.view("latency"), row_of)
    declared = _declared(evidence)
    for source in declared:
        cost = _divide(_rate(evidence, row_of, source), per_s)
        # servers of two kinds may have the same cost, each counted by its own monitor
        known = values.get(source.metric.name, cost)
        values[source.metric.name] = np.where(np.isnan(known), cost, known)
    errors = _floats(points["errors"])[order]
    values[ERRORS.name] = _divide(errors, transactions)
    values[FAILED] = _divide(errors, transactions + errors)
    further = [
        *instruction_metrics(evidence, per_s),
        *_waits(evidence, row_of, per_s),
        *latch_costs(evidence, row_of, transactions),
        *program_metrics(evidence, row_of),
        *recorded_metrics(evidence, row_of, values),
        *simulated_metrics(evidence, row_of, per_s, SERVER_CPU),
        *query_metrics(times := query_times(evidence, row_of), per_s),
    ]
    values |= {metric.name: column for metric, column in further}
    values |= {time_of(name).name: column for name, column in times.items()}
    of_run = {int(r): i for i, r in enumerate(evidence.view("runs")["run"])}
    at = np.array([of_run[int(r)] for r in run], dtype=int)
    labels = np.asarray([str(label) for label in evidence.view("runs")["option"][at]], dtype=object)
    values |= _engine(evidence, row_of, labels)
    # rounds per second and the slowest of a hundred rounds are of no use
    left_out = (THROUGHPUT, *_LATENCIES) if times else ()
    always = (THROUGHPUT, *_LATENCIES, *(source.metric for source in declared), ERRORS)
    candidates = dict.fromkeys(meaningful(evidence, (*always, *(metric for metric, _ in further))))
    found = RunMetrics(
        metrics=tuple(
            _in_words_of(m, evidence.study.workload)
            for m in candidates
            if (values[m.name] > 0).any() and m not in left_out
        ),
        run=run,
        option=labels,
        block=evidence.view("runs")["block"][at].astype(int),
        slot=evidence.view("runs")["slot"][at].astype(int),
        point=point,
        clients=points["clients"][order].astype(int),
        values=values,
        queries=tuple(name for name in times if name != "transaction"),
        costs=tuple(dict.fromkeys(source.metric.name for source in declared)),
    )
    return _no_winner(found) if _engine_bound(evidence.study, found) else found


def _engine_bound(study: Study, found: RunMetrics) -> bool:
    """Whether in most runs and points of an option the load engine was at its limit of CPU.

    The throughput of the null subject is the engine's by design.
    """
    at_limit = found.values[ENGINE_AT_LIMIT]
    by_work = foremost(study, found).name == THROUGHPUT.name and study.subject.kind != "null"
    return by_work and any(at_limit[found.option == one].mean() > 0.5 for one in np.unique(found.option))


def _no_winner(found: RunMetrics) -> RunMetrics:
    metrics = (replace(m, better="neither") if m.name == THROUGHPUT.name else m for m in found.metrics)
    return replace(found, metrics=tuple(metrics), engine_bound=True)


def _declared(evidence: Evidence) -> list[Source]:
    """Costs that monitors declare; none where the server also works in the background, for no transaction."""
    if evidence.study.workload.background_clients:
        return []
    disregarded = without_storage(evidence)
    return [source for source in sources(evidence.declared) if source.metric.name not in disregarded]


def _engine(
    evidence: Evidence, row_of: Mapping[tuple[int, int], int], labels: NDArray[Any]
) -> dict[str, Floats]:
    """What the load engine used of its threads, CPUs and quota, whichever is least."""
    used = _summed(evidence.view("rates"), row_of, "processes", "engine", "cpu_ns_total") / 1e9
    placed = evidence.placement.get("engine", frozenset[int]())
    may_use, limit = np.ones(len(labels)), np.full(len(labels), _AT_LIMIT)
    for option in evidence.options:
        mine, quota = labels == option.label, float(option.host.get("engine.cpu_quota", np.inf))
        cpus = len(cpus_by_role(option.host, placed, placed)["engine"]) or np.inf
        # under a driver each client has a thread
        driven = isinstance(option.workload, DrivenWorkload) and option.workload.driver
        may_use[mine] = free = min(np.inf if driven else option.workload.engine_threads, cpus)
        if quota < free:
            may_use[mine], limit[mine] = quota, _AT_QUOTA
    share = _divide(used, may_use)
    return {ENGINE_SHARE: share, ENGINE_AT_LIMIT: (share > limit).astype(np.float64)}


def _counted(evidence: Evidence, transactions: Floats) -> Floats:
    """Without the points of a recording that counted no work: it is not known that none was done."""
    if evidence.study.subject.kind != "recording":
        return transactions
    return np.where(transactions > 0, transactions, np.nan)


def _floats(column: NDArray[Any]) -> Floats:
    return np.asarray(column, dtype=np.float64)


def _divide(above: Floats, below: Floats) -> Floats:
    """NaN where nothing was done, so that no cost per transaction is invented."""
    safe = np.where(below > 0, below, np.nan)
    return above / safe


def _latencies(latency: Columns, row_of: Mapping[tuple[int, int], int]) -> dict[str, Floats]:
    found = {metric.name: np.full(len(row_of), np.nan) for metric in _LATENCIES}
    for i in np.flatnonzero(latency["statement"] == "transaction"):
        row = row_of.get((int(latency["run"][i]), int(latency["point"][i])))
        if row is not None:
            for name, column in found.items():
                column[row] = latency[name][i]
    return found


def _rate(evidence: Evidence, row_of: Mapping[tuple[int, int], int], source: Source) -> Floats:
    """What grows per second, by row, in the metric's unit."""
    rate = _summed(evidence.view("rates"), row_of, source.monitor, source.entity, source.counter)
    if source.also:
        also = _summed(evidence.view("rates"), row_of, source.monitor, source.also, source.counter)
        rate = rate + np.nan_to_num(also)
    if np.isfinite(rate).any():
        rate = np.where(np.isnan(rate), source.absent, rate)
    return rate * source.scale


def _summed(
    rates: Columns, row_of: Mapping[tuple[int, int], int], monitor: str, entity: str, counter: str
) -> Floats:
    """Sum of a counter's rates by row; NaN where the table has no row of it.

    entity: a name, or the prefix of several when it ends in ':'.
    """
    total = np.full(len(row_of), np.nan)
    for i in np.flatnonzero((rates["monitor"] == monitor) & (rates["metric"] == counter)):
        name = str(rates["entity"][i])
        if name != entity and not (entity.endswith(":") and (name + ":").startswith(entity)):
            continue
        row = row_of.get((int(rates["run"][i]), int(rates["point"][i])))
        rate = float(rates["rate_per_s"][i])
        if row is not None and np.isfinite(rate):
            total[row] = rate if np.isnan(total[row]) else total[row] + rate
    return total


def _waits(
    evidence: Evidence, row_of: Mapping[tuple[int, int], int], per_s: Floats
) -> list[tuple[Metric, Floats]]:
    """Time waited per transaction by type: sessions seen waiting, over readings, over transactions.

    A mean of 0.5 sessions waiting at 1,000 transactions per second is 500 us per transaction.
    """
    rates = evidence.view("rates")
    seen = (rates["monitor"] == _WAITS) & (rates["metric"] == "samples_total")
    exact = {_RUNNING, _LATCHES} if np.isfinite(evidence.view("latches")["wait_ns"]).any() else {_RUNNING}
    types = sorted({str(name).partition(":")[0] for name in rates["entity"][seen]} - exact)
    readings_per_s = _summed(rates, row_of, _WAITS, "sessions", "readings_total")
    found: list[tuple[Metric, Floats]] = []
    if evidence.study.workload.background_clients:
        return found
    for kind in types:
        seen_per_s = _summed(rates, row_of, _WAITS, kind + ":", "samples_total")
        # a type that was never seen in a run has no counter there: it waited for nothing
        seen_per_s[np.isnan(seen_per_s) & np.isfinite(readings_per_s)] = 0.0
        name = f"{WAIT_PREFIX}{kind.lower()}_us_per_txn"
        metric = time_cost(name, f"waits of type {kind}", better="neither")
        found.append((metric, _divide(_divide(seen_per_s, readings_per_s) * 1e6, per_s)))
    return found


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
