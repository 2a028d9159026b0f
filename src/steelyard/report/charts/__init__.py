"""Every chart of a report, as Vega-Lite specifications: plain dicts, one idea a file."""

from __future__ import annotations

from steelyard.analysis.results import Judgement
from steelyard.report.charts import (
    clients,
    costs,
    effects,
    forest,
    gauges,
    latch_prediction,
    latch_times,
    latches,
    latency,
    locks,
    priorities,
    profile,
    queries,
    region,
    scaling,
    scheduling,
    sleeps,
    statements,
    timeline,
    trace,
)
from steelyard.report.charts.figure import Figure, Panel, Spec, Table
from steelyard.report.charts.theme import colours, config
from steelyard.report.inputs import About, Series

__all__ = ["Figure", "Panel", "Spec", "Table", "config", "figures"]


_MANY = 12


def figures(judgement: Judgement, series: Series, about: About) -> list[Figure]:
    """All figures for which there is evidence; the picture of the answer comes first."""
    palette = colours(judgement, about)
    ratios, what_matters = forest.figure(judgement, palette, about), effects.figure(judgement)
    # among many options the picture that answers is the one of the factors
    first = (what_matters, ratios) if len(judgement.options) > _MANY else (ratios, what_matters)
    found = (
        first[0],
        costs.figure(judgement, about) if first[0] is ratios else None,
        first[1],
        costs.figure(judgement, about) if first[0] is not ratios else None,
        queries.figure(judgement, about, palette),
        queries.times(judgement, about, palette),
        region.figure(judgement),
        timeline.figure(series, palette, about),
        scaling.figure(judgement, series, palette, about.points_are, about.point_is),
        priorities.figure(series, palette),
        trace.figure(series),
        latches.figure(judgement, about, palette),
        sleeps.figure(judgement, about, palette),
        latch_times.figure(series, about, palette),
        latch_prediction.figure(judgement, about, palette),
        latch_prediction.alternatives(judgement, about),
        profile.figure(judgement, series),
        locks.figure(judgement),
        scheduling.figure(judgement),
        latency.figure(series, palette, about),
        gauges.figure(series, palette),
        statements.figure(judgement, series, palette, about),
        clients.figure(judgement, series, about, palette),
    )
    return [figure for figure in found if figure is not None]
