"""Synthetic evidence: what a bundle of a study would give, made from a seed, with known truth.

`study_of(...)` describes options, `evidence_of(study, truth, ...)` run_metrics them: each option has a
Truth (its throughput, CPU, latency, gauges ...), runs scatter around it by `noise`. `changed(evidence, ...)`
has other facts, or other rows in some of its views.
"""

# pyright: basic
from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import duckdb
import numpy as np

from declared import DECLARED
from steelyard.analysis.judgement import Metric
from steelyard.analysis.metrics.run_metrics import THROUGHPUT, RunMetrics
from steelyard.bundle.evidence import Columns, Evidence, Topology
from steelyard.bundle.evidence.queries import VIEWS, add_views
from steelyard.bundle.storage.inventory import Inventory
from steelyard.bundle.storage.views import connect
from steelyard.study.plan import baseline, options
from steelyard.study.study import Study
from steelyard.study.workloads.statements import StatementWorkload


@dataclass(frozen=True)
class Gauge:
    """A gauge over the phases of a run. mean: None for half way, as of a straight line."""

    start: float
    end: float
    cooled: float = float("nan")
    gone: float = float("nan")
    limit: float = float("nan")
    mean: float | None = None
    highest: float | None = None


@dataclass(frozen=True)
class Truth:
    """What one option truly does; costs are per transaction. rates: further counters per second.

    counters: value a second by (monitor, entity, metric), as in Evidence.rates, on top of those
    made from the costs. gauges: by (monitor, entity, metric). trend: relative change of throughput
    from the start of measure to its end.
    """

    throughput_per_s: float = 10_000.0
    user_us: float = 30.0
    system_us: float = 15.0
    engine_us: float = 5.0
    switches: float = 1.0
    runqueue_wait_us: float = 4.0
    p50_ns: float = 700_000.0
    p99_ns: float = 2_000_000.0
    error_share: float = 0.0
    client_weights: Sequence[float] = ()
    trend: float = 0.0
    steal_share: float = 0.0
    counters: Mapping[tuple[str, str, str], float] = field(default_factory=dict)
    gauges: Mapping[tuple[str, str, str], Gauge] = field(default_factory=dict)


def study_of(
    factors: Mapping[str, Sequence[str]],
    *,
    clients: Sequence[int] = (8,),
    margin_percent: float = 3.0,
    rate_per_s: float | None = None,
    **more: Any,
) -> Study:
    """A study of a server whose factors have these codes."""
    arrival = {"kind": "open", "rate_per_s": rate_per_s} if rate_per_s else {"kind": "closed"}
    return Study.model_validate(
        {
            "name": "synthetic",
            "question": "Which option is better?",
            "subject": {"kind": "postgres"},
            "workload": {"arrival": arrival},
            "factors": {
                name: {"scope": "server", "levels": {code: f"value {code}" for code in codes}}
                for name, codes in factors.items()
            },
            "plan": {
                "clients": list(clients),
                "smallest_effect_percent": margin_percent,
                "measure_s": 10,
            },
            **more,
        }
    )


def evidence_of(
    study: Study,
    truth: Mapping[str, Truth],
    *,
    blocks: int = 6,
    noise: float = 0.01,
    cpu_noise: float | None = None,
    block_noise: float = 0.03,
    drift_per_run: float = 0.0,
    seed: int = 1,
    void: Sequence[tuple[int, str]] = (),
    silent_after_s: Mapping[str, float] | None = None,
    notices: Sequence[tuple[int, str, str]] = (),
    factor: Callable[[int, str], float] | None = None,
) -> Evidence:
    """Runs of every option that has a truth, in blocks of random order.

    noise: SD of the log of a run's throughput and latencies; cpu_noise: of its costs (default: the
    same); block_noise: what runs of a block have in common. void: (block, option) left out. factor:
    multiplies the throughput of the run of (block, option).
    """
    chance = np.random.default_rng(seed)
    cpu_noise = noise if cpu_noise is None else cpu_noise
    found = [o for o in options(study) if o.label in truth]
    seconds = int(study.plan.measure_s)
    assert isinstance(study.workload, StatementWorkload)
    given_per_s = study.workload.arrival.rate_per_s
    tables: dict[str, list[dict[str, Any]]] = {name: [] for name in _COLUMNS}
    run = 0
    for block in range(1, blocks + 1):
        common = chance.normal(0, block_noise)
        for slot, index in enumerate(chance.permutation(len(found)), start=1):
            label = found[index].label
            own, cost = chance.normal(0, noise), float(np.exp(chance.normal(0, cpu_noise)))
            run += 1
            if (block, label) in void:
                continue
            t = truth[label]
            speed = float(np.exp(common + own + drift_per_run * run))
            speed *= factor(block, label) if factor else 1.0
            tables["runs"].append(
                {"run": run, "option": label, "block": block, "slot": slot, "seconds": 10.0}
            )
            for point, clients in enumerate(study.plan.clients):
                per_s = t.throughput_per_s * speed * clients / study.plan.clients[0]
                per_s = given_per_s or per_s
                at = {"run": run, "point": point}
                done = round(per_s * seconds)
                tables["points"].append(
                    {**at, "option": label, "block": block, "slot": slot, "clients": clients,
                     "seconds": float(seconds), "transactions": done,
                     "errors": round(done * t.error_share / (1 - t.error_share))}
                )  # fmt: skip
                shape = np.linspace(1 - t.trend / 2, 1 + t.trend / 2, seconds) * per_s
                tables["seconds"] += [{**at, "second": s, "count": float(x)} for s, x in enumerate(shape)]
                tables["latency"].append(
                    {**at, "statement": "transaction", "count": done, "mean_ns": t.p50_ns / speed,
                     "p50_ns": t.p50_ns / speed, "p95_ns": (t.p50_ns + t.p99_ns) / 2 / speed,
                     "p99_ns": t.p99_ns / speed, "p999_ns": 2 * t.p99_ns / speed,
                     "max_ns": 5 * t.p99_ns / speed}
                )  # fmt: skip
                weights = np.asarray(t.client_weights or np.ones(clients), dtype=float)
                shares = np.resize(weights, clients) / np.resize(weights, clients).sum()
                tables["clients"] += [
                    {**at, "client": c, "transactions": int(x), "errors": 0, "mean_ns": 1e9 / per_s,
                     "p99_ns": t.p99_ns}
                    for c, x in enumerate(chance.poisson(done * shares))
                ]  # fmt: skip
                tables["rates"] += [
                    {**at, "monitor": m, "entity": e, "metric": k, "rate_per_s": v}
                    for (m, e, k), v in _counters(t, per_s, cost).items()
                ]
            for (m, e, k), g in t.gauges.items():
                tables["gauges"].append(
                    {"run": run, "monitor": m, "entity": e, "metric": k, "start": g.start,
                     "end": g.end, "cooled": g.cooled, "gone": g.gone, "lowest": min(g.start, g.end),
                     "highest": max(g.start, g.end) if g.highest is None else g.highest,
                     "mean": (g.start + g.end) / 2 if g.mean is None else g.mean, "limit": g.limit}
                )  # fmt: skip
            clients = max(study.plan.clients)
            tables["marks"].append(
                {
                    "run": run,
                    "statement": "s",
                    "execution": 1,
                    "clients": clients,
                    "rows": clients,
                    "empty": 0,
                }
            )
            end_ns = round((2 + seconds * len(study.plan.clients)) * 1e9)
            for monitor in ("host", "processes"):
                quiet_s = (silent_after_s or {}).get(monitor, 0.0)
                tables["silence"].append(
                    {"run": run, "monitor": monitor, "last_ns": end_ns - round(quiet_s * 1e9),
                     "measure_end_ns": end_ns, "interval_ns": 1e9}
                )  # fmt: skip
    tables["notices"] = [dict(zip(_COLUMNS["notices"], n, strict=True)) for n in notices]
    columns = {name: _columns(rows, _COLUMNS[name]) for name, rows in tables.items()}
    return Evidence(
        tables=_tables(columns),
        study=study,
        options=tuple(found),
        baseline=baseline(study, found),
        declared=DECLARED,
        probed_cpus=0,
        topology=Topology(),
        calibration={},
        storage={},
        versions={},
        fixed={},
        schemas={},
        placement={},
        data={},
        instruction_time=False,
    )


def changed(evidence: Evidence, **changes: Any) -> Evidence:
    """The evidence with other facts, or other rows in the views of these names (columns)."""
    views = {name: changes.pop(name) for name in VIEWS if name in changes}
    kept = {name: evidence.view(name) for name in VIEWS.keys() - views} if views else {}
    return replace(evidence, **({"tables": _tables(kept | views)} if views else {}), **changes)


_numbers = itertools.count()


@cache
def _empty() -> duckdb.DuckDBPyConnection:
    """The views of a bundle without runs."""
    nowhere: Any = type("Nowhere", (), {"path": "", "close": lambda: None})
    connection = connect(nowhere, Inventory((), (), frozenset(), ()))
    # a second thread costs more than it saves: the tables have few rows
    connection.execute("set threads = 1")
    add_views(connection)
    return connection


@cache
def _types(view: str) -> dict[str, str]:
    described = _empty().execute(f"describe measured.{view}").fetchall()
    return {name: kind for name, kind, *_ in described}


def _tables(views: Mapping[str, Columns]) -> duckdb.DuckDBPyConnection:
    """A connection that finds these rows, and empty views of the other names. NaN: not available."""
    schema, found = f"made{next(_numbers)}", _empty().cursor()
    found.execute(f"create schema {schema}")
    for view, columns in views.items():
        if len(next(iter(columns.values()))):
            types = ", ".join(f'"{name}" {kind}' for name, kind in _types(view).items())
            found.execute(f"create table {schema}.{view} ({types})")
            columns = {name: _objects(column) for name, column in columns.items()}
            numbers = [n for n, column in columns.items() if column.dtype.kind == "f"]
            known = ", ".join(f'if(isnan("{n}"), null, "{n}") as "{n}"' for n in numbers)
            given = f"* replace ({known})" if known else "*"
            found.execute(f"insert into {schema}.{view} by name select {given} from columns")
    found.execute(f"set search_path = '{schema},measured'")
    weakref.finalize(found, _empty().execute, f"drop schema {schema} cascade")
    return found


def _objects(column: Any) -> np.ndarray[Any, Any]:
    """A column as DuckDB reads it: of lists, an array of objects; a masked number is NaN."""
    numbers = np.ma.isMaskedArray(column) and column.dtype.kind in "fiu"
    found = np.ma.filled(column.astype(float), np.nan) if numbers else np.asarray(column)
    if found.ndim == 1:
        return found
    lists = np.empty(len(found), dtype=object)
    lists[:] = found.tolist()
    return lists


def measures_of(
    table: Mapping[str, Sequence[float]], metric: Metric = THROUGHPUT, *, clients: int = 8
) -> RunMetrics:
    """RunMetrics of one metric, one point: a value a block by option; NaN where there is no value."""
    blocks = len(next(iter(table.values())))
    rows = [(block, slot, label) for block in range(blocks) for slot, label in enumerate(table)]
    n = len(rows)
    return RunMetrics(
        metrics=(metric,),
        run=np.arange(1, n + 1),
        option=np.array([label for _, _, label in rows], dtype=object),
        block=np.array([block + 1 for block, _, _ in rows]),
        slot=np.array([slot + 1 for _, slot, _ in rows]),
        point=np.zeros(n, dtype=np.int64),
        clients=np.full(n, clients),
        values={metric.name: np.array([table[label][block] for block, _, label in rows])},
    )


def without_rows(evidence: Columns, keep: np.ndarray[Any, Any]) -> Columns:
    """A table with only the rows of a mask."""
    return {name: column[keep] for name, column in evidence.items()}


def _counters(t: Truth, per_s: float, cost: float) -> dict[tuple[str, str, str], float]:
    us = per_s * cost * 1e3  # ns a second for each us a transaction
    server = {
        "cpu_ns_total": (t.user_us + t.system_us) * us,
        "user_cpu_ns_total": t.user_us * us,
        "system_cpu_ns_total": t.system_us * us,
        "runqueue_wait_ns_total": t.runqueue_wait_us * us,
        "voluntary_switches_total": t.switches * per_s * cost,
        "involuntary_switches_total": 0.1 * t.switches * per_s * cost,
    }
    return {
        **{("processes", "server", name): value for name, value in server.items()},
        ("processes", "engine", "cpu_ns_total"): t.engine_us * us,
        ("host", "cpu", "user_ns_total"): 1e9,
        ("host", "cpu", "idle_ns_total"): 1e9 - 2e9 * t.steal_share,
        ("host", "cpu", "steal_ns_total"): 2e9 * t.steal_share,
        **t.counters,
    }


_COLUMNS: dict[str, tuple[str, ...]] = {
    "runs": ("run", "option", "block", "slot", "seconds"),
    "points": ("run", "point", "option", "block", "slot", "clients", "seconds", "transactions", "errors"),
    "seconds": ("run", "point", "second", "count"),
    "marks": ("run", "statement", "execution", "clients", "rows", "empty"),
    "latency": (
        "run", "point", "statement", "count", "mean_ns", "p50_ns", "p95_ns", "p99_ns", "p999_ns",
        "max_ns",
    ),
    "clients": ("run", "point", "client", "transactions", "errors", "mean_ns", "p99_ns"),
    "rates": ("run", "point", "monitor", "entity", "metric", "rate_per_s"),
    "gauges": (
        "run", "monitor", "entity", "metric", "start", "end", "cooled", "gone", "lowest", "highest",
        "mean", "limit",
    ),
    "silence": ("run", "monitor", "last_ns", "measure_end_ns", "interval_ns"),
    "notices": ("run", "code", "text"),
}  # fmt: skip
_TEXT = ("option", "statement", "monitor", "entity", "metric", "code", "text")


def _columns(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Columns:
    return {
        name: np.array([row[name] for row in rows], dtype=object if name in _TEXT else None) for name in names
    }
