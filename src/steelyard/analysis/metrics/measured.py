"""Metrics and the query that measures them: what a metric is in SQL stands beside its name.

What a transaction costs: each cost that a monitor declares, and the counter that it comes from.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from steelyard.analysis.judgement import Better, Metric
from steelyard.analysis.statistics.distributions import Floats
from steelyard.bundle.evidence import Evidence
from steelyard.declared_metrics import COST_KINDS, SERVER_CPU_COST, Cost, CostKind, Declared, DeclaredMetric


@dataclass(frozen=True)
class Measured:
    """query: name, run, point, value; NULL where not measured. given: its parameters."""

    metrics: Sequence[Metric]
    query: str
    given: Mapping[str, Any] = field(default_factory=dict[str, Any])


def by_column(query: str) -> str:
    """The same of a query that has run, point and a column for each metric."""
    of_doubles = f"select run, point, columns(* exclude (run, point))::DOUBLE from ({query})"
    return f"from ({of_doubles}) unpivot include nulls (value for name in (columns(* exclude (run, point))))"


def aligned(evidence: Evidence, query: str, **given: Any) -> dict[str, Floats]:
    """Values by name, one per run and load point in their order; NaN where there is none."""
    lists = f"""
        with measured as ({query})
        select name, list(value order by run, point) from (select distinct name from measured)
            cross join points left join measured using (name, run, point) group by name
    """
    return {name: np.array(found, dtype=np.float64) for name, found in evidence.rows(lists, **given)}


@dataclass(frozen=True)
class Source:
    """Where a metric per transaction comes from: a counter. scale: to the metric's unit.

    also: an entity whose counter is added where it is there. absent: its value in runs without that counter,
    where others have it.
    """

    metric: Metric
    monitor: str
    entity: str
    counter: str
    scale: float = 1.0
    absent: float | None = None
    also: str = ""


# Smallest effects: a smaller difference is never a reason, however sure. Each is about a tenth of a
# microsecond of CPU time; differences of time must also matter beside the server's CPU (verdict/costs.py).
_TIME_US = 0.1  # one system call entered and left: no smaller thing can be left undone
_EVENTS = 0.1  # a switch costs 1 to 4 us (Li, Ding & Shen 2007): one transaction in ten has it
_FLOORS: dict[CostKind, float] = {
    "server CPU": 0.0,  # the verdict judges it: only its share of the whole counts
    "mode of server CPU": _TIME_US,
    "CPU": _TIME_US,
    "switches": _EVENTS,
    "run-queue wait": _TIME_US,
    "log": 24.0,  # the header of a WAL record: less is not a record more, but housekeeping's
    "lock wait": _TIME_US,
    "storage": 82.0,  # a page of 8 KiB in a hundred transactions
    "buffers": _EVENTS,
    "events": _EVENTS,
}
_US_PER = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}
_UNITS = {**{unit: ("us/txn", us) for unit, us in _US_PER.items()}, "bytes": ("B/txn", 1.0)}


def _metric(cost: Cost, unit: str) -> Metric:
    return Metric(cost.name, cost.title, unit, cost.better, _FLOORS[cost.kind], kind=cost.kind)


SERVER_CPU = _metric(SERVER_CPU_COST, _UNITS["ns"][0])


def time_cost(name: str, title: str, better: Better = "lower") -> Metric:
    """Time a transaction, of which less than a tenth of a microsecond is no reason."""
    return Metric(name, title, "us/txn", better, _TIME_US)


def sources(declared: Declared) -> tuple[Source, ...]:
    """Every declared cost, in the order of kinds."""
    found = (
        _source(monitor, metric, cost)
        for monitor, metrics in declared.items()
        for metric in metrics
        for cost in metric.costs
    )
    return tuple(sorted(found, key=lambda source: COST_KINDS.index(source.metric.kind)))


def _source(monitor: str, metric: DeclaredMetric, cost: Cost) -> Source:
    unit, scale = _UNITS.get(metric.unit, ("1/txn", 1.0))
    return Source(
        _metric(cost, unit),
        monitor,
        cost.entity or metric.entity,
        metric.name,
        scale,
        absent=0.0 if cost.zero_if_absent else None,
        also=cost.also,
    )


_GROWN = """
    with sources as (select unnest($sources, recursive := true)),
    grown as (
        select place, run, point, sum(rate_per_s) filter (of_entity(r.entity, s.entity)) as rate,
            coalesce(sum(rate_per_s) filter (of_entity(r.entity, s.also)), 0) as added
        from rates r join sources s on r.monitor = s.monitor and r.metric = s.counter
        group by place, run, point
    )
    -- servers of two kinds may have the same cost, each counted by its own monitor
    select name, run, point,
        arg_min(ratio(coalesce(rate + added, absent) * scale * seconds, transactions), place) as value
    from points cross join sources left join grown using (place, run, point)
    where place in (select place from grown where rate is not null)
    group by name, run, point
"""


def as_rows(found: Sequence[Source]) -> list[dict[str, Any]]:
    """Sources as a parameter of a query, each with its place and its metric's own fields."""
    return [
        {**vars(source), **vars(source.metric), "metric": source.metric.name, "place": place}
        for place, source in enumerate(found)
    ]


def costs(found: Sequence[Source]) -> list[Measured]:
    """Each cost, from the growth of its counter."""
    metrics = [source.metric for source in found]
    return [Measured(metrics, _GROWN, {"sources": as_rows(found)})] if found else []
