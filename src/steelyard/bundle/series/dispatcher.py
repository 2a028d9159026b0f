"""A simulated machine: time at each priority, and the states of chosen threads."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.bundle.reader import Bundle
from steelyard.bundle.series.columns import Columns
from steelyard.study.factors import table_factor

_OPTIONS_MAX = 4  # baseline first; a page cannot show more options

# counters grow from point to point: what a point adds is its highest reading less that at its start
_PRIORITIES = """
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

_TRACE = """
    with whole as (select t.*, u.option, min(t.start_ns) over (partition by t.run) as first_ns
        from trace t join used_runs u using (run) where u.option in ({options}))
    select option, thread, reason, cpu, (start_ns - first_ns) / 1e9 as start_s,
        (end_ns - first_ns) / 1e9 as end_s, priority
    from whole order by list_position([{options}], option), thread, start_ns
"""


def traced_options(bundle: Bundle) -> list[str]:
    """The baseline, then options that differ from it in their table alone."""
    factor = table_factor(bundle.study)
    levels = {option["label"]: option["levels"] for option in bundle.head["options"]}
    baseline = bundle.head["baseline"]

    def alike(label: str) -> bool:
        return all(levels[label][name] == code for name, code in levels[baseline].items() if name != factor)

    others = [label for label in levels if label != baseline and alike(label)]
    return [baseline, *others][:_OPTIONS_MAX]


def priorities(bundle: Bundle, scaled: str, options: Sequence[str]) -> Columns:
    """Seconds at each priority. scaled: the group of threads that is weighed."""
    return bundle.measured(_PRIORITIES.format(scaled=scaled, options=_quoted(options)))


def trace(bundle: Bundle, options: Sequence[str]) -> Columns:
    """States of the chosen threads, and reasons for changes of their priority."""
    return bundle.measured(_TRACE.format(options=_quoted(options)))


def _quoted(options: Sequence[str]) -> str:
    return ", ".join(f"'{label}'" for label in options)
