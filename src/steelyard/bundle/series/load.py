"""The load over time, by statement and by client; the CPU of each role over time."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.bundle.reader import Bundle
from steelyard.bundle.series.columns import Columns
from steelyard.quantities import time_unit_ns
from steelyard.study.workloads.program import ProgramWorkload

# a time line cannot show more points
_POINTS = 3000

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
    group by run, option, n // greatest(1, total // {points}) order by t_s, run
"""

_CPU = """
    with clock as ({clock}), spaced as (
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
    group by run, option, role, n // greatest(1, total // {points}) order by t_s, run, role
"""

# summarised as the analysis estimates: geometric mean over runs and points, mean where zeros occur
MEAN = "case when min({x}) > 0 then exp(avg(ln(nullif({x}, 0)))) else avg({x}) end"

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
    select option, statement, {MEAN.format(x="rate")} as per_s
    from rates group by option, statement order by option, statement
"""

_CLIENTS = f"""
    select u.option, p.clients, c.client, {MEAN.format(x="c.transactions")} as transactions
    from clients c join used_runs u using (run) join phases p
        on p.run = c.run and p.point = c.point and p.phase = 'measure'
    where list_contains($runs, c.run)
    group by u.option, p.clients, c.client order by u.option, p.clients, c.client
"""

_COPIES = f"""
    select u.option, p.clients, s.instance as client, {MEAN.format(x="s.score")} as transactions
    from scores s join used_runs u using (run) join phases p
        on p.run = s.run and p.point = s.point and p.phase = 'measure'
    where list_contains($runs, s.run)
    group by u.option, p.clients, s.instance order by u.option, p.clients, s.instance
"""


def throughput(bundle: Bundle) -> Columns:
    """Transactions per second over the whole study."""
    return bundle.measured(_THROUGHPUT.format(clock=_CLOCK, points=_POINTS))


def cpu(bundle: Bundle) -> Columns:
    """CPU of each role over the whole study, in % of one core."""
    return bundle.measured(_CPU.format(clock=_CLOCK, points=_POINTS))


def statements(bundle: Bundle, runs: Sequence[int]) -> Columns:
    """Statements per second by option, over these runs."""
    return bundle.measured(_STATEMENTS, {"runs": list(runs)})


def clients(bundle: Bundle, runs: Sequence[int]) -> Columns:
    """Transactions of each client, or the score of each instance of a program (times in ns)."""
    workload = bundle.study.workload
    if not isinstance(workload, ProgramWorkload):
        return bundle.measured(_CLIENTS, {"runs": list(runs)})
    found = dict(bundle.measured(_COPIES, {"runs": list(runs)}))
    if scale := time_unit_ns(workload.score_unit):
        found["transactions"] = found["transactions"] * scale
    return found
