"""The views of the analysis: the tables of a bundle, reduced by SQL to one row per run, point and series.

points: one per run and load point, with the work done and the length of its measure phase. seconds: whole
transactions in each second of it. rates: growth of each counter in measure. gauges: first sample in the first
measure phase, last in the last, in cool-down and after the clients disconnected; lowest, highest and mean
over all measure phases; limit: of the companion `x_limit`. silence: a monitor's last sample, and the median
gap between them. peaks: gauges that an engine reports. latch_gets: counted in a phase that is not measured.
holds: as quantiles, each with its share of all holds. functions: CPU time of a profile, `_[k]` in the kernel.
redone: void and disturbed runs whose block was repeated, which count (used) where the repetition was
disturbed more. Other tables are as in run_tables/schema.toml, of the runs that count.
"""

from collections.abc import Mapping

import duckdb
import numpy as np

from steelyard.bundle.evidence.at_once import at_once
from steelyard.bundle.evidence.histograms import file_in

# of_entity: a name, or the prefix of several when it ends in ':'. whole: a sum, where no value is lacking
_SCHEMA = """
    drop schema if exists measured cascade;
    create schema measured;
    create macro measured.of_entity(entity, name) as entity = name
        or (suffix(name, ':') and starts_with(entity || ':', name));
    create macro measured.whole(x) as if(count(x) = count(*), sum(x), null);
    create macro measured.ratio(above, below) as above / nullif(below, 0);
"""

# samples are many: their times are collected once. series: the same number for readings of the same series
_READINGS = """
    select run, monitor, t_ns, sum(if(value is null, 0, hash(entity, metric))::UHUGEINT) as series
    from samples group by run, monitor, t_ns
"""

# each part between these edges is represented by its middle; edges are denser in the tail
_EDGES = np.array([*np.linspace(0, 0.98, 50), 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9999, 0.99999, 1.0])
_MIDDLES: list[float] = ((_EDGES[:-1] + _EDGES[1:]) / 2).tolist()

_OF_USED_RUNS = "select {0}.* from {0} semi join used_runs using (run) order by {1}"

VIEWS = {
    "runs": "select run, option, block, slot, started_at, seconds from used_runs order by run",
    "points": """
    select p.run, p.point, any_value(u.option) as option, any_value(u.block) as block,
        any_value(u.slot) as slot, any_value(p.clients) as clients,
        any_value(p.end_ns - p.start_ns) / 1e9 as seconds,
        coalesce(sum(t.count), 0)::DOUBLE as transactions, coalesce(sum(t.errors), 0)::DOUBLE as errors
    from measures p join used_runs u using (run)
    left join throughput t on t.run = p.run and t.point = p.point
        and t.statement = 'transaction' and coalesce(t.second, 0) >= 0
    group by p.run, p.point order by p.run, p.point
""",
    "kinds": """
    select run, point, transaction, count::DOUBLE as count, retries::DOUBLE as retries
    from transactions join used_runs using (run) order by run, point, transaction
""",
    "seconds": """
    select run, point, second, count::DOUBLE as count from throughput join used_runs using (run)
    where statement = 'transaction' and second >= 0 order by run, point, second
""",
    "latency": f"""
    select run, point, statement, count, mean_ns(histogram, file) as mean_ns, ns[1] as p50_ns,
        ns[2] as p95_ns, ns[3] as p99_ns, ns[4] as p999_ns, ns[5] as max_ns
    from (select *, {file_in("latency")} as file,
            quantiles_ns(histogram, [0.5, 0.95, 0.99, 0.999, 1.0], {file_in("latency")}) as ns
        from latency semi join used_runs using (run) where count > 0)
    order by run, point, statement
""",
    "clients": _OF_USED_RUNS.format("clients", "run, point, client"),
    # A counter's value at the edges of a phase lies on the line between the readings around it. Its growth is
    # that between two readings, and parts of that before and after, the same parts for all counters of a
    # monitor, unless some appear or vanish: differences before products keep the digits of large counters. A
    # counter that the monitor's earlier readings (zero_ns to zeroed_ns) lack was 0 in them.
    "rates": """
    with around as (
        select run, point, monitor,
            max(t_ns) filter (t_ns <= start_ns) as b0, min(t_ns) filter (t_ns > start_ns) as b1,
            max(t_ns) filter (t_ns <= end_ns) as e0, min(t_ns) filter (t_ns > end_ns) as e1,
            if(b0 is null, b1, start_ns) as first_ns, if(e1 is null, e0, end_ns) as last_ns,
            coalesce((first_ns - b0) / (b1 - b0), 0) as before,
            coalesce((last_ns - e0) / (e1 - e0), 0) as after
        from measures join measured.readings using (run)
        group by run, point, monitor, start_ns, end_ns having count(distinct series) = 1
    ), signs as (
        select run, point, monitor, last_ns - first_ns as length_ns, before, after,
            unnest([coalesce(b0, b1), e0, b0, b1, e0, e1]) as t_ns, unnest([-1, 1, 0, 0, 0, 0]) as whole,
            unnest([0, 0, 1, -1, 0, 0]) as of_before, unnest([0, 0, 0, 0, -1, 1]) as of_after
        from around where length_ns > 0
    ), edges as (
        select s.run, p.point, s.monitor, s.entity, s.metric, p.start_ns, p.end_ns,
            max(t_ns) filter (t_ns <= start_ns) as b0, arg_max(value, t_ns) filter (t_ns <= start_ns) as v0,
            min(t_ns) filter (t_ns > start_ns) as b1, arg_min(value, t_ns) filter (t_ns > start_ns) as v1,
            max(t_ns) filter (t_ns <= end_ns) as e0, arg_max(value, t_ns) filter (t_ns <= end_ns) as w0,
            min(t_ns) filter (t_ns > end_ns) as e1, arg_min(value, t_ns) filter (t_ns > end_ns) as w1
        from samples s join measures p using (run) semi join (select run, monitor from measured.readings
            group by run, monitor having count(distinct series) > 1) changing using (run, monitor)
        where suffix(s.metric, '_total')
        group by s.run, p.point, s.monitor, s.entity, s.metric, p.start_ns, p.end_ns
    ), earlier as (
        select run, monitor, t_ns as b1, min(t_ns) over w as zero_ns, lag(t_ns) over w as zeroed_ns
        from measured.readings window w as (partition by run, monitor order by t_ns)
    ), begun as (
        select edges.*, greatest(start_ns, zero_ns) as zero_start_ns, zeroed_ns,
            v1 / (edges.b1 - zeroed_ns) as rise_per_ns
        from edges left join earlier on b0 is null and earlier.run = edges.run
            and earlier.monitor = edges.monitor and earlier.b1 = edges.b1
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
    from ends where last_ns > first_ns union all
    select run, point, monitor, entity, metric, (sum(whole * value)
        + any_value(before) * sum(of_before * value) + any_value(after) * sum(of_after * value)
        ) / any_value(length_ns / 1e9)
    from samples join signs using (run, monitor, t_ns) where suffix(metric, '_total')
    group by run, point, monitor, entity, metric order by run, point, monitor, entity, metric
""",
    "gauges": """
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
""",
    # a gauge's highest sample at each point, of the engine's own metrics
    "peaks": """
    select s.run, m.point, s.monitor, s.entity, s.metric, max(s.value) as highest
    from samples s join measures m on m.run = s.run and s.t_ns > m.start_ns and s.t_ns <= m.end_ns
    where s.run in (select run from measured.readings where monitor = 'engine')
        and s.monitor = 'engine' and not suffix(s.metric, '_total')
    group by s.run, m.point, s.monitor, s.entity, s.metric order by s.run, m.point
""",
    "silence": """
    with ends as (select run, max(end_ns) as measure_end_ns from measures group by run),
    gaps as (
        select run, monitor, t_ns, t_ns - lag(t_ns) over (partition by run, monitor order by t_ns) as gap
        from measured.readings
    )
    select run, monitor, max(t_ns) as last_ns, any_value(measure_end_ns) as measure_end_ns,
        median(gap) as interval_ns
    from gaps join ends using (run) group by run, monitor order by run, monitor
""",
    # void and disturbed runs, and the most other studies at a time beside each
    "redone": """
    select run, any_value(block) as block, any_value(status) as status, any_value(cause) as cause,
        run in (select run from used_runs) as used,
        coalesce(max(s.value) filter (s.monitor = 'disturbance' and s.metric = 'studies'), 0)::BIGINT
            as studies
    from runs left join samples s using (run)
    where status = 'disturbed' or (status = 'void' and attempt < (
        select max(attempt) from runs other where other.block = runs.block))
    group by run order by run
""",
    "notices": "select run, code, text from notices order by run",
    "latches": """
    select l.run, l.point, l.latch, l.gets::DOUBLE as gets, l.misses::DOUBLE as misses,
        l.spin_gets::DOUBLE as spin_gets, l.sleeps::DOUBLE as sleeps, l.wait_ns::DOUBLE as wait_ns,
        l.get_ns::DOUBLE as get_ns,
        l.hand_overs::DOUBLE as hand_overs, coalesce(l.children, 1) as children, l.spin::DOUBLE as spin
    from latches l semi join used_runs using (run) order by l.run, l.point, l.latch
""",
    "latch_gets": """
    select g.run, g.point, g.latch, g.gets / g.transactions as gets_per_txn
    from latch_gets g semi join used_runs using (run) where g.transactions > 0
    order by g.run, g.point, g.latch
""",
    "holds": f"""
    select run, point, latch, quantiles_ns(hold_histogram, {_MIDDLES}, {file_in("latches")}) as ns,
        {np.diff(_EDGES).tolist()}::DOUBLE[] as share
    from latches semi join used_runs using (run)
    where hold_histogram is not null order by run, point, latch
""",
    "functions": """
    select run, role, list_last(string_split(stack, ';')) as function, sum(samples)::DOUBLE as samples
    from profile semi join used_runs using (run) group by run, role, function
    order by run, role, samples desc, function
""",
    "locks": """
    select run, role, lock, type, call_site, sum(distinct_locks)::DOUBLE as distinct_locks,
        sum(acquisitions)::DOUBLE as acquisitions, sum(contended)::DOUBLE as contended,
        sum(wait_total_ns)::DOUBLE as wait_total_ns, max(wait_max_ns)::DOUBLE as wait_max_ns,
        max(wait_cpu_percent) as wait_cpu_percent, max(utilisation_percent) as utilisation_percent,
        max(hold_mean_ns) as hold_mean_ns, max(hold_max_ns) as hold_max_ns
    from locks semi join used_runs using (run) group by run, role, lock, type, call_site
    order by run, wait_total_ns desc
""",
    "scheduling": f"""
    with pooled as (
        select option, role, sum(seconds) as seconds, sum(voluntary) as voluntary,
            sum(involuntary) as involuntary, sum(migrations) as migrations,
            merged(list(run_queue_histogram), any_value(file)) as run_queue,
            merged(list(slice_histogram), any_value(file)) as slice,
            merged(list(off_cpu_histogram), any_value(file)) as off_cpu
        from (select *, {file_in("scheduling")} as file from scheduling join used_runs using (run))
        group by option, role
    )
    select option, role, voluntary / seconds as voluntary_per_s, involuntary / seconds as involuntary_per_s,
        migrations / seconds as migrations_per_s,
        nullif(quantiles_ns(run_queue, [0.5, 0.99, 1], 'scheduling'), [0.0, 0, 0]) as run_queue_ns,
        nullif(quantiles_ns(slice, [0.5, 0.99, 1], 'scheduling'), [0.0, 0, 0]) as slice_ns,
        nullif(quantiles_ns(off_cpu, [0.5, 0.99, 1], 'scheduling'), [0.0, 0, 0]) as off_cpu_ns
    from pooled order by option, role
""",
    "turns": _OF_USED_RUNS.format("turns", "start_ns, run"),
    "rehearsal": "from rehearsal order by run",
    "marks": _OF_USED_RUNS.format("marks", "run, execution"),
    "host_load": f"""
    select run, host, point, clients, transactions, errors, ns[1] as p50_ns, ns[2] as p99_ns
    from (select *, quantiles_ns(histogram, [0.5, 0.99], {file_in("host_load")}) as ns
        from host_load semi join used_runs using (run))
    order by run, point, host
""",
    "scores": _OF_USED_RUNS.format("scores", "run, point, instance"),
    "further_scores": _OF_USED_RUNS.format("further_scores", "run, point, instance"),
}


def add_views(connection: duckdb.DuckDBPyConnection) -> None:
    """Adds the views to the tables of the bundle; made anew. Raises duckdb.Error."""
    connection.execute(f"{_SCHEMA} create table measured.readings as {_READINGS}")
    at_once(connection, (f"create table measured.{name} as {query}" for name, query in VIEWS.items()))
    connection.execute("drop table measured.readings")


def over_views(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """A connection of its own, for one thread, that finds the views before the tables of the bundle."""
    found = connection.cursor()
    found.execute("set search_path = 'measured,main'")
    return found


def renamed(tables: duckdb.DuckDBPyConnection, names: Mapping[str, str]) -> duckdb.DuckDBPyConnection:
    """The views, their options under other names."""
    (schema,) = tables.execute("select current_schema()").fetchone() or ("measured",)
    found = tables.cursor()
    found.execute(f"drop schema if exists {schema}_renamed cascade; create schema {schema}_renamed")
    found.execute(f"set search_path = '{schema},measured,main'")
    own = "coalesce(map($theirs::VARCHAR[], $ours::VARCHAR[])[option], option) as option"
    given = {"theirs": list(names), "ours": list(names.values())}
    for view in ("runs", "points", "rehearsal", "scheduling"):
        copied = f"select * replace ({own}) from {view}"
        found.execute(f"create table {schema}_renamed.{view} as {copied}", given)
    found.execute(f"set search_path = '{schema}_renamed,{schema},measured,main'")
    return found
