"""Every chart of a report, as Vega-Lite specifications: plain dicts, one idea a file."""

from __future__ import annotations

from steelyard.analysis.judgement.results import Judgement
from steelyard.bundle.series.columns import Series
from steelyard.report.about.about import About
from steelyard.report.charts import queries
from steelyard.report.charts.answer import costs, effects, ratios
from steelyard.report.charts.dispatcher import priorities, trace, win_map
from steelyard.report.charts.figure import Figure, Panel, Spec, Table
from steelyard.report.charts.kernel import locks, profile, scheduling
from steelyard.report.charts.latches import prediction, sleeps, tables, times
from steelyard.report.charts.load import clients, gauges, latency, scaling, statements, timeline
from steelyard.report.charts.theme import colours, config

__all__ = ["Figure", "Panel", "Spec", "Table", "config", "figures"]


_MANY = 12


def figures(judgement: Judgement, series: Series, about: About) -> list[Figure]:
    """All figures for which there is evidence; the picture of the answer comes first."""
    palette = colours(judgement, about)
    who_wins, what_matters = ratios.figure(judgement, palette, about), effects.figure(judgement)
    # among many options the picture that answers is the one of the factors
    first = (what_matters, who_wins) if len(judgement.options) > _MANY else (who_wins, what_matters)
    found = (
        first[0],
        costs.figure(judgement, about) if first[0] is who_wins else None,
        first[1],
        costs.figure(judgement, about) if first[0] is not who_wins else None,
        queries.figure(judgement, about, palette),
        queries.times(judgement, about, palette),
        win_map.figure(judgement),
        timeline.figure(series, palette, about),
        scaling.figure(judgement, series, palette, about.points_are, about.point_is),
        priorities.figure(series, palette),
        trace.figure(series),
        tables.figure(judgement, about, palette),
        sleeps.figure(judgement, about, palette),
        times.figure(series, about, palette),
        prediction.figure(judgement, about, palette),
        prediction.alternatives(judgement, about),
        profile.figure(judgement, series),
        locks.figure(judgement),
        scheduling.figure(judgement),
        latency.figure(series, palette, about),
        gauges.figure(series, palette),
        statements.figure(judgement, series, palette, about),
        clients.figure(judgement, series, about, palette),
    )
    return [figure for figure in found if figure is not None]
