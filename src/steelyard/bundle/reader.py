"""Reads a bundle: every table as an SQL view, and the evidence for the analysis."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from steelyard import _core
from steelyard.bundle.evidence import Columns, Evidence, Option, Topology, counts_instructions
from steelyard.bundle.holds import holds
from steelyard.bundle.probed import probed
from steelyard.bundle.schema import FORMAT_VERSION, TABLES, Table
from steelyard.study.errors import InputError
from steelyard.study.reading import parse_study
from steelyard.study.spec import Study

_QUANTILES = {"p50_ns": 0.5, "p95_ns": 0.95, "p99_ns": 0.99, "p999_ns": 0.999}
_CURVE = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9999, 1.0)

# a block that was redone counts by its last attempt
# without the factors' columns, which may be called anything, and are in `runs`
_USED_RUNS = """
    select run, option, block, slot, started_at, seconds from runs where status = 'done'
    and (block, attempt) in (select (block, max(attempt)) from runs group by block)
"""

_POINTS = """
    select p.run, p.point, any_value(p.clients) as clients,
        any_value(p.end_ns - p.start_ns) / 1e9 as seconds,
        coalesce(sum(t.count), 0)::DOUBLE as transactions, coalesce(sum(t.errors), 0)::DOUBLE as errors
    from phases p join used_runs using (run)
    left join throughput t on t.run = p.run and t.point = p.point
        and t.statement = 'transaction' and coalesce(t.second, 0) >= 0
    where p.phase = 'measure' group by p.run, p.point order by p.run, p.point
"""

_SECONDS = """
    select run, point, second, count::DOUBLE as count from throughput join used_runs using (run)
    where statement = 'transaction' and second >= 0 order by run, point, second
"""

# A counter's value at the edges of a phase lies on the line between the readings around it. Monitors list
# only what exists: a counter that the monitor's earlier readings (zero_ns to zeroed_ns) lack was 0 in them.
_RATES = """
    with edges as (
        select s.run, p.point, s.monitor, s.entity, s.metric, p.start_ns, p.end_ns,
            max(t_ns) filter (t_ns <= start_ns) as b0, arg_max(value, t_ns) filter (t_ns <= start_ns) as v0,
            min(t_ns) filter (t_ns > start_ns) as b1, arg_min(value, t_ns) filter (t_ns > start_ns) as v1,
            max(t_ns) filter (t_ns <= end_ns) as e0, arg_max(value, t_ns) filter (t_ns <= end_ns) as w0,
            min(t_ns) filter (t_ns > end_ns) as e1, arg_min(value, t_ns) filter (t_ns > end_ns) as w1
        from samples s join measures p using (run)
        where suffix(s.metric, '_total')
        group by s.run, p.point, s.monitor, s.entity, s.metric, p.start_ns, p.end_ns
    ), late as (
        select l.run, l.monitor, l.b1, min(t_ns) as zero_ns, max(t_ns) as zeroed_ns
        from (select distinct run, monitor, b1 from edges where b0 is null) l
        join readings r on r.run = l.run and r.monitor = l.monitor and r.t_ns < l.b1
        group by l.run, l.monitor, l.b1
    ), begun as (
        select edges.*, greatest(start_ns, zero_ns) as zero_start_ns, zeroed_ns,
            v1 / (edges.b1 - zeroed_ns) as rise_per_ns
        from edges left join late on b0 is null and late.run = edges.run
            and late.monitor = edges.monitor and late.b1 = edges.b1
    ), ends as (
        select *,
            case when zeroed_ns is not null then rise_per_ns * greatest(0, zero_start_ns - zeroed_ns)
                when b0 is null then v1 when b1 is null then v0
                else v0 + (v1 - v0) * (start_ns - b0) / (b1 - b0) end as first,
            case when zeroed_ns is not null then zero_start_ns
                when b0 is null then b1 else start_ns end as first_ns,
            case when e0 is null then rise_per_ns * greatest(0, end_ns - zeroed_ns)
                when e1 is null then w0 else w0 + (w1 - w0) * (end_ns - e0) / (e1 - e0) end as last,
            case when e0 is not null and e1 is null then e0 else end_ns end as last_ns
        from begun
    )
    select run, point, monitor, entity, metric, (last - first) / ((last_ns - first_ns) / 1e9) as rate_per_s
    from ends where last_ns > first_ns order by run, point, monitor, entity, metric
"""

# a gauge's highest reading at each point, of what tells all of itself and need not be watched
_PEAKS = """
    select s.run, m.point, s.monitor, s.entity, s.metric, max(s.value) as highest
    from samples s join measures m on m.run = s.run and s.t_ns > m.start_ns and s.t_ns <= m.end_ns
    where s.monitor = 'engine' and not suffix(s.metric, '_total')
    group by s.run, m.point, s.monitor, s.entity, s.metric order by s.run, m.point
"""

_GAUGES = """
    with spans as (
        select run, min(start_ns) filter (phase = 'measure') as measure_ns,
            max(end_ns) filter (phase = 'measure') as measured_ns,
            max(end_ns) filter (phase = 'cool-down') as cooled_ns,
            min(start_ns) filter (phase = 'after') as after_ns
        from phases join used_runs using (run) group by run
    ), series as (
        select s.run, monitor, entity, metric,
            arg_min(value, t_ns) filter (t_ns >= measure_ns and t_ns <= measured_ns) as start,
            arg_max(value, t_ns) filter (t_ns >= measure_ns and t_ns <= measured_ns) as end,
            arg_max(value, t_ns) filter (t_ns > measured_ns and t_ns <= cooled_ns) as cooled,
            arg_max(value, t_ns) filter (t_ns >= after_ns) as gone,
            min(value) filter (t_ns >= measure_ns and t_ns <= measured_ns) as lowest,
            max(value) filter (t_ns >= measure_ns and t_ns <= measured_ns) as highest,
            avg(value) filter (t_ns >= measure_ns and t_ns <= measured_ns) as mean
        from samples s join spans using (run) where not suffix(metric, '_total')
        group by s.run, monitor, entity, metric
    )
    select g.run, g.monitor, g.entity, g.metric, g.start, g.end, g.cooled, g.gone, g.lowest, g.highest,
        g.mean, l.end as "limit"
    from series g left join series l on l.run = g.run and l.monitor = g.monitor
        and l.entity = g.entity and l.metric = g.metric || '_limit'
    where not suffix(g.metric, '_limit') order by g.run, g.monitor, g.entity, g.metric
"""

_SILENCE = """
    with ends as (select run, max(end_ns) as measure_end_ns from measures group by run),
    gaps as (
        select run, monitor, t_ns, t_ns - lag(t_ns) over (partition by run, monitor order by t_ns) as gap
        from readings
    )
    select run, monitor, max(t_ns) as last_ns, any_value(measure_end_ns) as measure_end_ns,
        median(gap) as interval_ns
    from gaps join ends using (run) group by run, monitor order by run, monitor
"""

_LATCHES = """
    select l.run, l.point, l.latch, l.gets::DOUBLE as gets, l.misses::DOUBLE as misses,
        l.spin_gets::DOUBLE as spin_gets, l.sleeps::DOUBLE as sleeps, l.wait_ns::DOUBLE as wait_ns,
        l.get_ns::DOUBLE as get_ns,
        l.hand_overs::DOUBLE as hand_overs, coalesce(l.children, 1) as children, l.spin::DOUBLE as spin
    from latches l semi join used_runs using (run) order by l.run, l.point, l.latch
"""

_LATCH_GETS = """
    select g.run, g.point, g.latch, g.gets / g.transactions as gets_per_txn
    from latch_gets g semi join used_runs using (run) where g.transactions > 0
    order by g.run, g.point, g.latch
"""


class Bundle:
    """A bundle opened for reading. Raises InputError when path holds none, or a newer format."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.head: dict[str, Any] = json.loads((path / "bundle.json").read_text(encoding="utf-8"))
            self.environment: dict[str, Any] = json.loads(
                (path / "environment.json").read_text(encoding="utf-8")
            )
            self.study_text = (path / "study.toml").read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise InputError(
                f"{path}: not a bundle: {error}", "give the folder that `steelyard run` named"
            ) from None
        if self.head["format"] > FORMAT_VERSION:
            raise InputError(
                f"{path}: written by steelyard {self.head['steelyard']}, in a newer format",
                "use that version or a later one",
            )

    @cached_property
    def study(self) -> Study:
        """The study that was run."""
        return parse_study(self.study_text, str(self.path / "study.toml"))

    @cached_property
    def duckdb(self) -> duckdb.DuckDBPyConnection:
        """A connection in which every table of the bundle is a view."""
        connection = duckdb.connect()
        connection.execute("set enable_progress_bar = false")
        for table in TABLES:
            # read once, since a view opens every run's file again at each query; but samples are many
            kind = "view" if table.name == "samples" else "table"
            connection.execute(f"create {kind} {table.name} as {self._source(table)}")
        connection.execute(f"create table used_runs as {_USED_RUNS}")
        connection.execute(
            "create table measures as select run, point, clients, start_ns, end_ns"
            " from phases join used_runs using (run) where phase = 'measure'"
        )
        return connection

    def columns(self, query: str) -> Columns:
        """The result of a query, as numpy arrays by column."""
        cursor: Any = self.duckdb.execute(query)
        result: dict[str, Any] = cursor.fetchnumpy()
        return {name: _plain(values) for name, values in result.items()}

    def evidence(self) -> Evidence:
        """What the analysis needs. Raises InputError when no run was finished."""
        runs = self.columns("select run, option, block, slot from used_runs order by run")
        if not len(runs["run"]):
            raise InputError(f"{self.path}: no finished run in it yet", f"steelyard resume {self.path}")
        # samples are many: their times are collected once for both queries that ask for them
        self.duckdb.execute(
            "create or replace table readings as select distinct run, monitor, t_ns from samples"
        )
        return Evidence(
            study=self.study,
            options=tuple(Option(o["label"], o["levels"]) for o in self.head["options"]),
            baseline=self.head["baseline"],
            runs=runs,
            points=self.columns(_POINTS),
            seconds=self.columns(_SECONDS),
            latency=self._latency(),
            clients=self.columns(
                "select c.* from clients c join used_runs using (run) order by run, point, client"
            ),
            rates=self.columns(_RATES),
            gauges=self.columns(_GAUGES),
            peaks=self.columns(_PEAKS),
            silence=self.columns(_SILENCE),
            notices=self.columns("select run, code, text from notices order by run"),
            latches=self.columns(_LATCHES),
            latch_gets=self.columns(_LATCH_GETS),
            holds=holds(self.duckdb),
            claims=self.columns("select claims.* from claims join used_runs using (run) order by run, point"),
            probed=probed(self),
            # of a server at an address nobody knows what it may run on
            topology=Topology() if self.study.subject.dsn else Topology.of(self.environment),
            calibration=self.environment.get("calibration", {}),
            instruction_time=counts_instructions(self.environment),
            scores=self.columns(
                "select scores.* from scores join used_runs using (run) order by run, point, instance"
            ),
        )

    def latency_curves(self) -> Columns:
        """Latency of transactions by quantile: option, clients, quantile, ns (median over runs)."""
        return self._curves(
            ("option", "clients"),
            "select u.option, p.clients, l.histogram from latency l join used_runs u using (run) join"
            " measures p using (run, point) where l.count > 0 and l.statement = 'transaction' order by l.run",
        )

    def latch_curves(self) -> Columns:
        """Times of a latch: option, clients, kind (hold, wait), quantile, ns (median over runs)."""
        return self._curves(
            ("option", "clients", "kind"),
            # waits alone, of a live server's many latches, are no picture of one
            "select u.option, p.clients, h.kind, h.histogram from (unpivot (from latches where"
            " hold_histogram is not null) on hold_histogram as hold, wait_histogram as wait"
            " into name kind value histogram) h join used_runs u using (run) join measures p"
            " using (run, point) order by h.run",
        )

    def _curves(self, keyed_by: Sequence[str], query: str) -> Columns:
        """query: the keys, then a histogram."""
        curves: dict[tuple[Any, ...], list[list[int]]] = {}
        for *key, histogram in self.duckdb.execute(query).fetchall():
            curves.setdefault(tuple(key), []).append(_core.histogram_quantiles(histogram, list(_CURVE)))
        columns: dict[str, Any] = {
            name: np.asarray([key[i] for key in curves for _ in _CURVE], dtype=object)
            for i, name in enumerate(keyed_by)
        }
        columns["quantile"] = np.asarray([q for _ in curves for q in _CURVE])
        columns["ns"] = np.asarray([ns for runs in curves.values() for ns in np.median(runs, axis=0)])
        return columns

    def _latency(self) -> Columns:
        rows = self.duckdb.execute(
            "select run, point, statement, count, histogram from latency join used_runs using (run)"
            " where count > 0 order by run, point, statement"
        ).fetchall()
        columns: dict[str, list[Any]] = {
            name: [] for name in ("run", "point", "statement", "count", "mean_ns", *_QUANTILES, "max_ns")
        }
        for run, point, statement, count, histogram in rows:
            _, _, mean, highest = _core.histogram_summary(histogram)
            quantiles = _core.histogram_quantiles(histogram, list(_QUANTILES.values()))
            values = (run, point, statement, count, mean, *quantiles, highest)
            for name, value in zip(columns, values, strict=True):
                columns[name].append(value)
        return {name: np.asarray(values) for name, values in columns.items()}

    def _source(self, table: Table) -> str:
        empty = ", ".join(f'null::{c.type} as "{c.name}"' for c in table.columns)
        if next((self.path / "runs").glob(f"[0-9]*/{table.name}.parquet"), None) is None:
            return f"select {empty} where false"
        pattern = str(self.path.resolve() / "runs" / "[0-9]*" / f"{table.name}.parquet").replace("'", "''")
        # a bundle of before a column was there lacks it: null, as what is not available always is
        return (
            f"select {empty} where false union all by name"
            f" select * from read_parquet('{pattern}', union_by_name = {table.name == 'runs'})"
        )


def _plain(values: Any) -> np.ndarray[Any, Any]:
    """Masked values (SQL null) become NaN."""
    masked: Any = np.ma.asarray(values)
    if masked.mask is np.ma.nomask:
        return np.asarray(values)
    return masked.astype(np.float64).filled(np.nan) if masked.dtype.kind in "fiu" else masked.filled("")
