"""Gauges over time, 0 at the start of measure: medians over runs, each with its limit.

Of a run in turns the measure phases alone, on the option's own clock.
"""

from __future__ import annotations

import numpy as np

from steelyard.bundle.reader import Bundle
from steelyard.bundle.series.columns import Columns

_GAUGES = """
    with scale as (
        -- 1 s up to ten minutes; of longer runs, such as those that were imported, as much as fits
        select greatest(1, ceil(max(end_ns - start_ns) / 600e9)) as width_s from (
            select max(end_ns) as end_ns, min(start_ns) as start_ns from measures group by run)
    ), chosen as (
        select s.run, u.option, s.monitor, s.entity, s.metric,
            round((s.t_ns - m.start_ns) / 1e9 / width_s) * width_s as t_s, s.value,
            s.t_ns between m.start_ns and m.end_ns as measured
        from samples s join used_runs u using (run) join (
            select run, min(start_ns) as start_ns, max(end_ns) as end_ns from measures group by run
        ) m using (run) cross join scale
        where (s.monitor, s.entity, s.metric) in (
            select (unnest($monitors), unnest($entities), unnest($metrics)))
        -- the own clock of a run in turns stands still outside of its measure phases
        and (s.run not in (select run from turns) or exists (select 1 from measures own
            where own.run = s.run and s.t_ns between own.start_ns and own.end_ns))
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


def gauges(bundle: Bundle) -> Columns:
    """Gauges that their monitors declare worth a chart, with their units and groups.

    of_interval: a value is the mean of the time since the one before it.
    """
    charted = {
        (monitor, metric.chart, metric.name): metric
        for monitor, metrics in bundle.declared.items()
        for metric in metrics
        if metric.chart
    }
    wanted = [(*at, name) for *at, first in charted for name in (first, f"{first}_limit")]
    lists = {name: [row[i] for row in wanted] for i, name in enumerate(("monitors", "entities", "metrics"))}
    found = bundle.measured(_GAUGES, lists)
    at = zip(*(found[name].tolist() for name in ("monitor", "entity", "metric")), strict=True)
    metrics = [charted[key] for key in at]
    return {
        **found,
        "meaning": np.asarray([metric.meaning for metric in metrics], dtype=object),
        "unit": np.asarray([metric.unit for metric in metrics], dtype=object),
        "of_interval": np.asarray([metric.of_interval for metric in metrics], dtype=object),
        "group": np.asarray([metric.group for metric in metrics], dtype=object),
    }
