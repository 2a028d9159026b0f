"""Collects from a bundle what a report draws and tells, reduced by SQL to a few thousand rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from steelyard.analysis.comparison.block_table import estimated_runs
from steelyard.analysis.judgement.scaling import Scaling
from steelyard.bundle.evidence.probes import stacks
from steelyard.bundle.evidence.tables import counts_instructions
from steelyard.bundle.reader import Bundle
from steelyard.report.about.machine import machine_rows
from steelyard.report.presented.about import About, FactorFacts, MonitorCost, Notice, Phases, Series
from steelyard.report.presented.gather_trace import scheduling
from steelyard.study.errors import shown
from steelyard.study.settings import Setting
from steelyard.study.workloads.program import ProgramWorkload
from steelyard.study.workloads.threads import ThreadsWorkload

# more than this many points on a time line are not seen, only loaded
_POINTS = 3000

# the runs one after another on one axis: study time without the pauses between
_CLOCK = """
    select run, option, sum(seconds) over (order by run) - seconds as begin_s from used_runs
"""

_THROUGHPUT = """
    with clock as ({clock}), seconds as (
        select t.run, t.point, t.second, c.option,
            c.begin_s + m.start_ns / 1e9 + t.second as t_s, t.count / m.whole_s as count
        from throughput t join clock c using (run) join (
            -- a second that measuring cut short is left out, unless there is no other
            select *, (end_ns - start_ns) / 1e9 as length_s, least(1, length_s) as whole_s from measures
        ) m using (run, point)
        where t.statement = 'transaction' and t.second >= 0
            and t.second + m.whole_s <= m.length_s + 0.01
    ), numbered as (
        select *, row_number() over (order by run, t_s) as n, count(*) over () as total from seconds
    )
    select option, min(t_s) as t_s, run, avg(count) as tps from numbered
    group by run, option, n // greatest(1, total // {points}) order by t_s
"""

_CPU = """
    with clock as ({clock}), readings as (
        select s.run, s.entity as role, s.t_ns, s.value,
            lag(s.value) over w as before, lag(s.t_ns) over w as before_ns
        from samples s join used_runs using (run)
        where s.monitor = 'processes' and s.metric = 'cpu_ns_total'
        window w as (partition by s.run, s.entity order by s.t_ns)
    ), shares as (
        select r.run, c.option, c.begin_s + r.t_ns / 1e9 as t_s, r.role,
            100 * (r.value - r.before) / (r.t_ns - r.before_ns) as percent
        from readings r join clock c using (run) join measures m using (run)
        where r.t_ns - r.before_ns > 2e8 and r.before_ns >= m.start_ns and r.t_ns <= m.end_ns + 2e8
    ), numbered as (
        select *, row_number() over (partition by role order by t_s) as n,
            count(*) over (partition by role) as total from shares
    )
    select run, option, min(t_s) as t_s, role, avg(percent) as percent from numbered
    group by run, option, role, n // greatest(1, total // {points}) order by t_s
"""

_GAUGES = """
    with chosen as (
        select s.run, u.option, s.monitor, s.entity, s.metric,
            round((s.t_ns - m.start_ns) / 1e9) as t_s, s.value
        from samples s join used_runs u using (run)
            join (select run, min(start_ns) as start_ns from measures group by run) m using (run)
        where (s.monitor, s.entity, s.metric) in (
            select (unnest($monitors), unnest($entities), unnest($metrics)))
    ), medians as (
        select option, t_s, monitor, entity, metric, median(value) as value from chosen
        group by option, t_s, monitor, entity, metric
    )
    select v.option, v.t_s, v.monitor, v.entity, v.metric, v.value, l.value as "limit"
    from medians v left join medians l on l.option = v.option and l.t_s = v.t_s
        and l.monitor = v.monitor and l.entity = v.entity and l.metric = v.metric || '_limit'
    where not suffix(v.metric, '_limit') and v.t_s between -30 and 600 order by v.option, v.t_s
"""

# summarised as the analysis estimates: geometric mean over runs and points, mean where zeros occur
_MEAN = "case when min({x}) > 0 then exp(avg(ln(nullif({x}, 0)))) else avg({x}) end"

_STATEMENTS = f"""
    with chosen as (select * from measures join used_runs using (run) where list_contains($runs, run)),
    counts as (
        select run, point, statement, sum(count) as count from throughput
        where coalesce(second, 0) >= 0 and statement <> 'transaction' group by run, point, statement
    ), known as (select distinct option, statement from counts join chosen using (run, point)
    ), rates as (
        select option, statement, coalesce(count, 0) * 1e9 / (end_ns - start_ns) as rate
        from chosen join known using (option) left join counts using (run, point, statement)
    )
    select option, statement, {_MEAN.format(x="rate")} as per_s
    from rates group by option, statement order by option, statement
"""

_CLIENTS = f"""
    select u.option, p.clients, c.client, {_MEAN.format(x="c.transactions")} as transactions
    from clients c join used_runs u using (run) join phases p
        on p.run = c.run and p.point = c.point and p.phase = 'measure'
    where list_contains($runs, c.run)
    group by u.option, p.clients, c.client order by u.option, p.clients, c.client
"""

_COPIES = f"""
    select u.option, p.clients, s.instance as client, {_MEAN.format(x="s.score")} as transactions
    from scores s join used_runs u using (run) join phases p
        on p.run = s.run and p.point = s.point and p.phase = 'measure'
    where list_contains($runs, s.run)
    group by u.option, p.clients, s.instance order by u.option, p.clients, s.instance
"""

_MONITOR_COST = """
    with readings as (
        select s.run, s.entity as name, s.t_ns, s.value from samples s join measures m using (run)
        where s.monitor = 'monitors' and s.t_ns >= m.start_ns and s.t_ns <= m.end_ns + 2e8
    ), runs_cost as (
        select run, name, max(value) - min(value) as cpu_ns, max(t_ns) - min(t_ns) as span_ns,
            count(*) as n from readings group by run, name having count(*) > 1
    )
    -- the probes collect when there is something; what they used is noted at the edges of phases
    select name, case when name <> 'probes' then median(span_ns / (n - 1)) / 1e9 end as interval_s,
        100 * sum(cpu_ns) / sum(span_ns) as cpu_percent from runs_cost group by name order by name
"""


def series(bundle: Bundle) -> Series:
    """What the charts draw."""
    workload = bundle.study.workload
    profile = stacks(bundle, bundle.study.probes.profile_hz)
    if not workload.steady:
        # of a few rounds there is nothing to see by the second, and each query has its own picture
        return Series(gauges=_gauges(bundle), stacks=profile)
    if counts_instructions(bundle.environment):
        # seconds of a clock that counts instructions are no time line
        return Series(stacks=profile)
    runs = {"runs": _estimated(bundle)}
    return Series(
        throughput=bundle.columns(_THROUGHPUT.format(clock=_CLOCK, points=_POINTS)),
        cpu=bundle.columns(_CPU.format(clock=_CLOCK, points=_POINTS)),
        gauges=_gauges(bundle),
        statements=bundle.columns(_STATEMENTS, runs),
        clients=bundle.columns(_COPIES if isinstance(workload, ProgramWorkload) else _CLIENTS, runs),
        latency=bundle.latency_curves(runs["runs"]),
        latch_times=bundle.latch_curves(),
        stacks=profile,
        **(scheduling(bundle, workload.scaled) if isinstance(workload, ThreadsWorkload) else {}),
    )


def _gauges(bundle: Bundle) -> Mapping[str, Any]:
    """Gauges that their monitors declare worth a chart, with their units."""
    units = {
        (monitor, metric.chart, metric.name): metric.unit
        for monitor, metrics in bundle.declared.items()
        for metric in metrics
        if metric.chart
    }
    wanted = [(*at, name) for *at, first in units for name in (first, f"{first}_limit")]
    lists = {name: [row[i] for row in wanted] for i, name in enumerate(("monitors", "entities", "metrics"))}
    found = bundle.columns(_GAUGES, lists)
    at = zip(*(found[name].tolist() for name in ("monitor", "entity", "metric")), strict=True)
    return {**found, "unit": np.asarray([units[key] for key in at], dtype=object)}


def _estimated(bundle: Bundle) -> list[int]:
    """The runs behind the options' estimates, so that one metric reads alike in every table."""
    used = bundle.columns("select run, option, block from used_runs order by run")
    runs, options, blocks = (used[name].tolist() for name in ("run", "option", "block"))
    return estimated_runs(runs, options, blocks, [o["label"] for o in bundle.head["options"]])


def overlays(others: Sequence[tuple[str, Sequence[Scaling]]]) -> dict[str, list[Any]]:
    """The curves of other bundles, each given by its name and its judgement's scaling."""
    found = [
        (f"{name} {scaling.option}", point.clients, point.throughput_per_s, point.linear)
        for name, scalings in others
        for scaling in scalings
        for point in scaling.points
    ]
    names = ("source", "clients", "tps", "linear")
    return {name: [row[i] for row in found] for i, name in enumerate(names)}


def about(bundle: Bundle, report: str = "", next_command: str = "") -> About:
    """How it was measured."""
    study, plan = bundle.study, bundle.study.plan
    ask = bundle.duckdb.execute
    done = int(ask("select count(*) from used_runs").fetchall()[0][0])
    void = int(ask("select count(*) from runs where status = 'void'").fetchall()[0][0])
    begun = ask("select min(started_at) from runs").fetchall()[0][0] or ""
    notices = ask(
        "select code, text, list(distinct run order by run) filter (run > 0) from notices"
        " group by code, text order by 1, 2"
    ).fetchall()
    servers: Mapping[str, Mapping[str, Any]] = bundle.environment.get("servers", {})
    versions = sorted({str(server["version"]) for server in servers.values()})
    return About(
        name=study.name,
        question=study.question,
        when=str(begun),
        bundle=shown(bundle.path),
        steelyard_version=str(bundle.head["steelyard"]),
        phases=Phases(
            clients=tuple(plan.clients),
            warm_up_s=plan.warm_up_s,
            measure_s=plan.measure_s,
            transactions=plan.transactions,
            cool_down_s=plan.cool_down_s,
            blocks=plan.blocks,
            seed=plan.seed,
        ),
        runs_done=done,
        runs_void=void,
        subject=study.subject.kind,
        point_is=study.workload.point_is,
        points_are=study.workload.points_are,
        work_is=study.workload.work_is,
        who_works=study.workload.WHO,
        server_version=", ".join(versions),
        kernels=_kernels(bundle.environment),
        report=report,
        next_command=next_command,
        machine=machine_rows(bundle.environment),
        server_settings=_settings([server["set"] for server in servers.values()]),
        engine=_engine(bundle),
        monitors=tuple(
            MonitorCost(str(name), None if interval_s is None else float(interval_s), float(percent))
            for name, interval_s, percent in ask(_MONITOR_COST).fetchall()
        ),
        factors=tuple(
            FactorFacts(name, factor.scope, {code: _shown(level) for code, level in factor.levels.items()})
            for name, factor in study.factors.items()
        ),
        option_levels={o["label"]: o["levels"] for o in bundle.head["options"]},
        notices=tuple(Notice(code, text, runs=tuple(runs or ())) for code, text, runs in notices),
    )


def _settings(servers: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """What was set, by name; where options differ, each value once."""
    names = sorted({name for server in servers for name in server})
    return {
        name: " | ".join(dict.fromkeys(str(server.get(name, "default")) for server in servers))
        for name in names
    }


def _kernels(environment: Mapping[str, Any]) -> dict[str, str]:
    """What guests told of themselves, by option, and what this machine was booted with, by setting."""
    servers: Mapping[str, Mapping[str, Any]] = environment.get("servers", {})
    told = {label: server["guest"] for label, server in servers.items() if "guest" in server}
    for boot in environment.get("boots", ()):
        kernel: Mapping[str, Any] = boot["kernel"]
        name = ", ".join(f"{key} = {value}" for key, value in boot["settings"].items())
        told[name] = {key: kernel[key] for key in ("release", "cmdline", "clock_source", "preemption")}
    return {
        name: "; ".join(f"{key.replace('_', ' ')} {fact}" for key, fact in facts.items())
        for name, facts in told.items()
    }


def _shown(level: Setting | Mapping[str, Setting]) -> str:
    if isinstance(level, Mapping):
        return ", ".join(f"{name} = {value}" for name, value in level.items())
    return str(level)


def _engine(bundle: Bundle) -> dict[str, str]:
    facts = bundle.study.workload.summary()
    if placement := bundle.environment.get("placement"):
        facts["CPUs of the engine"] = ", ".join(map(str, placement["engine_cpus"]))
        facts["CPUs of the server"] = ", ".join(map(str, placement["server_cpus"]))
    return facts
