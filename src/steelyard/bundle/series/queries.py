"""The queries behind the series, over the views of the analysis and the tables of the bundle."""

from steelyard.bundle.evidence.histograms import file_in

# a time line cannot show more points
_POINTS = 1500

# the runs one after another on one axis: study time without the pauses between; a simulated run lasts
# as long as by its own clock, which is faster than ours. Of runs in turns only what was measured has a
# place: the rest of a run is time of the others in its block
_CLOCK = """
    select run, option, sum(length_s) over (order by run) - length_s - skipped_s as begin_s from (
        select run, option, bool_or(in_turns) as turns,
            case when turns then coalesce(min(start_ns), 0) / 1e9 else 0 end as skipped_s,
            case when turns then coalesce(max(end_ns) - min(start_ns), 0) / 1e9
                else greatest(any_value(seconds), coalesce(max(end_ns) / 1e9, 0)) end as length_s
        from (select *, run in (select run from turns) as in_turns from used_runs)
            left join measures using (run)
        group by run, option
    )
"""

THROUGHPUT = f"""
    with clock as ({_CLOCK}), seconds as (
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
    group by run, option, n // greatest(1, total // {_POINTS}) order by t_s, run
"""

CPU = f"""
    with clock as ({_CLOCK}), spaced as (
        -- turns are read at both edges, closer than the kernel's clock ticks allow a share
        select s.run, s.entity as role, min(s.t_ns) as t_ns, arg_min(s.value, s.t_ns) as value
        from samples s join used_runs using (run)
        where s.monitor = 'processes' and s.metric = 'cpu_ns_total'
        group by s.run, s.entity, s.t_ns // 200_000_000
    ), readings as (
        select *, lag(value) over w as before, lag(t_ns) over w as before_ns from spaced
        window w as (partition by run, role order by t_ns)
    ), shares as (
        select r.run, c.option, c.begin_s + r.t_ns / 1e9 as t_s, r.role,
            100 * (r.value - r.before) / (r.t_ns - r.before_ns) as percent
        from readings r join clock c using (run) join measures m using (run)
        where r.t_ns - r.before_ns > 1.5e8 and r.before_ns >= m.start_ns and r.t_ns <= m.end_ns + 2e8
    ), numbered as (
        select *, row_number() over (partition by role order by t_s) as n,
            count(*) over (partition by role) as total from shares
    )
    select run, option, min(t_s) as t_s, role, avg(percent) as percent from numbered
    group by run, option, role, n // greatest(1, total // {_POINTS}) order by t_s, run, role
"""

# summarised as the analysis estimates: geometric mean over runs and points, mean where zeros occur
_MEAN = "case when min({x}) > 0 then exp(avg(ln(nullif({x}, 0)))) else avg({x}) end"

STATEMENTS = f"""
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

CLIENTS = f"""
    select u.option, p.clients, c.client, {_MEAN.format(x="c.transactions")} as transactions
    from clients c join used_runs u using (run) join phases p
        on p.run = c.run and p.point = c.point and p.phase = 'measure'
    where list_contains($runs, c.run)
    group by u.option, p.clients, c.client order by u.option, p.clients, c.client
"""

COPIES = f"""
    select u.option, p.clients, s.instance as client, {_MEAN.format(x="s.score")} as transactions
    from scores s join used_runs u using (run) join phases p
        on p.run = s.run and p.point = s.point and p.phase = 'measure'
    where list_contains($runs, s.run)
    group by u.option, p.clients, s.instance order by u.option, p.clients, s.instance
"""
_QUANTILES = [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9999, 1.0]

_CURVES = f"""
    with chosen as ({{chosen}}), decoded as (
        select p.option, p.clients, h.* exclude (point, histogram),
            unnest({_QUANTILES}::DOUBLE[]) as quantile,
            unnest(quantiles_ns(histogram, {_QUANTILES}, {file_in("{table}")})) as ns
        from chosen h join points p using (run, point)
    )
    select * exclude (run, ns), {_MEAN.format(x="ns")} as ns from decoded group by all
    order by min(run), clients, quantile
"""

LATENCY = _CURVES.format(
    table="latency",
    chosen="""
        select run, point, histogram from main.latency
        where statement = 'transaction' and list_contains($runs, run)
    """,
)

# a live server has many latches, and waits only: not comparable with one latch
LATCH_TIMES = _CURVES.format(
    table="latches",
    chosen="""
        select run, point, kind, histogram from (unpivot (from main.latches where hold_histogram is not null)
            on hold_histogram as hold, wait_histogram as wait into name kind value histogram)
    """,
)

STACKS = """
    with chosen as (select run, option from used_runs where run in (select run from profile)),
    work as (
        select c.option, sum(t.count) as done from throughput t join chosen c using (run)
        where t.statement = 'transaction' and coalesce(t.second, 0) >= 0 group by c.option
    )
    select c.option, p.role, p.stack, sum(p.samples) * {us}::DOUBLE / any_value(w.done) as us_per_txn
    from profile p join chosen c using (run) join work w on w.option = c.option
    where w.done > 0 group by c.option, p.role, p.stack order by c.option, p.role, p.stack
"""

COUNTERS = """
    with most as (select max(clients) as clients from points)
    select p.option, p.clients, r.monitor, r.entity as series, r.metric as counter,
        median(r.rate_per_s) as per_s, median(r.rate_per_s * p.seconds / nullif(p.transactions, 0)) as per_txn
    from rates r join points p using (run, point) join most using (clients)
    where list_contains($monitors, r.monitor) and r.rate_per_s > 0
    group by all order by r.monitor, r.metric, per_s desc, p.option
"""

GAUGES = """
    with scale as (
        -- 1 s up to ten minutes; of longer runs, such as those that were imported, as much as fits
        select greatest(1, ceil(max(end_ns - start_ns) / 600e9)) as width_s from (
            select max(end_ns) as end_ns, min(start_ns) as start_ns from measures group by run)
    ), chosen as (
        select s.run, u.option, monitor, entity, metric,
            round((s.t_ns - m.start_ns) / 1e9 / width_s) * width_s as t_s, s.value,
            s.t_ns between m.start_ns and m.end_ns as measured
        from samples s join used_runs u using (run) join (
            select run, min(start_ns) as start_ns, max(end_ns) as end_ns from measures group by run
        ) m using (run) cross join scale
        join (select unnest($monitors) as monitor, unnest($entities) as entity, unnest($metrics) as metric)
            using (monitor, entity, metric)
        -- the own clock of a run in turns stands still outside of its measure phases
        where s.run not in (select run from turns) or exists (select 1 from measures own
            where own.run = s.run and s.t_ns between own.start_ns and own.end_ns)
    ), medians as (
        -- a sample at the edge of the phase and one just before it are not of one kind
        select option, t_s, monitor, entity, metric, measured, median(value) as value from chosen
        group by option, t_s, monitor, entity, metric, measured
    )
    select v.option, v.t_s, v.monitor, v.entity, v.metric, v.value, v.measured, l.value as "limit"
    from medians v left join medians l on l.option = v.option and l.t_s = v.t_s
        and l.measured = v.measured and l.monitor = v.monitor and l.entity = v.entity
        and l.metric = v.metric || '_limit'
    where not suffix(v.metric, '_limit') and v.t_s between -30 and 600 * (select width_s from scale)
    order by v.option, v.t_s, v.measured, v.monitor, v.entity, v.metric
"""

# counters grow from point to point: what a point adds is its highest reading less that at its start
PRIORITIES = """
    with readings as (
        select s.run, m.point, s.entity, m.start_ns, m.end_ns, s.t_ns, s.value
        from samples s join measures m using (run)
        where s.metric = 'priority_ns_total' and starts_with(s.entity, '{scaled}:') and s.t_ns <= m.end_ns
    ), grown as (
        select run, point, try_cast(split_part(entity, ':', 2) as integer) as priority,
            (max(value) - coalesce(max(value) filter (t_ns <= start_ns), 0)) / 1e9 as seconds
        from readings group by run, point, entity
    ), counted as (
        select u.option, p.clients, count(distinct run) as runs from used_runs u
        join phases p using (run) where p.phase = 'measure' group by u.option, p.clients
    )
    select u.option, p.clients, g.priority, sum(g.seconds) / any_value(c.runs) as seconds
    from grown g join used_runs u using (run)
    join phases p on p.run = g.run and p.point = g.point and p.phase = 'measure'
    join counted c on c.option = u.option and c.clients = p.clients
    where u.option in ({options}) group by u.option, p.clients, g.priority
    having sum(g.seconds) > 0 order by list_position([{options}], u.option), p.clients, g.priority
"""

TRACE = """
    with whole as (select t.*, u.option, min(t.start_ns) over (partition by t.run) as first_ns
        from trace t join used_runs u using (run) where u.option in ({options}))
    select option, thread, reason, cpu, (start_ns - first_ns) / 1e9 as start_s,
        (end_ns - first_ns) / 1e9 as end_s, priority
    from whole order by list_position([{options}], option), thread, start_ns
"""
