"""The analysis's SQL queries of a bundle: one row per run, point and series."""

from __future__ import annotations

# samples are many: their times are collected once for the queries that need them
READINGS = "create or replace table readings as select distinct run, monitor, t_ns from samples"

POINTS = """
    select p.run, p.point, any_value(p.clients) as clients,
        any_value(p.end_ns - p.start_ns) / 1e9 as seconds,
        coalesce(sum(t.count), 0)::DOUBLE as transactions, coalesce(sum(t.errors), 0)::DOUBLE as errors
    from phases p join used_runs using (run)
    left join throughput t on t.run = p.run and t.point = p.point
        and t.statement = 'transaction' and coalesce(t.second, 0) >= 0
    where p.phase = 'measure' group by p.run, p.point order by p.run, p.point
"""

KINDS = """
    select run, point, transaction, count::DOUBLE as count, retries::DOUBLE as retries
    from transactions join used_runs using (run) order by run, point, transaction
"""

SECONDS = """
    select run, point, second, count::DOUBLE as count from throughput join used_runs using (run)
    where statement = 'transaction' and second >= 0 order by run, point, second
"""

# A counter's value at the edges of a phase lies on the line between the readings around it. Monitors list
# only what exists: a counter that the monitor's earlier readings (zero_ns to zeroed_ns) lack was 0 in them.
RATES = """
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

# a gauge's highest sample at each point, of the engine's own metrics
PEAKS = """
    select s.run, m.point, s.monitor, s.entity, s.metric, max(s.value) as highest
    from samples s join measures m on m.run = s.run and s.t_ns > m.start_ns and s.t_ns <= m.end_ns
    where s.monitor = 'engine' and not suffix(s.metric, '_total')
    group by s.run, m.point, s.monitor, s.entity, s.metric order by s.run, m.point
"""

# void and disturbed runs, and the most other studies at a time beside each
REDONE = """
    select run, any_value(block) as block, any_value(status) as status, any_value(cause) as cause,
        run in (select run from used_runs) as used,
        coalesce(max(s.value) filter (s.monitor = 'disturbance' and s.metric = 'studies'), 0)::BIGINT
            as studies
    from runs left join samples s using (run)
    where status = 'disturbed' or (status = 'void' and attempt < (
        select max(attempt) from runs other where other.block = runs.block))
    group by run order by run
"""

GAUGES = """
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

SILENCE = """
    with ends as (select run, max(end_ns) as measure_end_ns from measures group by run),
    gaps as (
        select run, monitor, t_ns, t_ns - lag(t_ns) over (partition by run, monitor order by t_ns) as gap
        from readings
    )
    select run, monitor, max(t_ns) as last_ns, any_value(measure_end_ns) as measure_end_ns,
        median(gap) as interval_ns
    from gaps join ends using (run) group by run, monitor order by run, monitor
"""

LATCHES = """
    select l.run, l.point, l.latch, l.gets::DOUBLE as gets, l.misses::DOUBLE as misses,
        l.spin_gets::DOUBLE as spin_gets, l.sleeps::DOUBLE as sleeps, l.wait_ns::DOUBLE as wait_ns,
        l.get_ns::DOUBLE as get_ns,
        l.hand_overs::DOUBLE as hand_overs, coalesce(l.children, 1) as children, l.spin::DOUBLE as spin
    from latches l semi join used_runs using (run) order by l.run, l.point, l.latch
"""

LATCH_GETS = """
    select g.run, g.point, g.latch, g.gets / g.transactions as gets_per_txn
    from latch_gets g semi join used_runs using (run) where g.transactions > 0
    order by g.run, g.point, g.latch
"""
