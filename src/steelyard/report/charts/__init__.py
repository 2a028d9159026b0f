"""Every chart of a report, as Vega-Lite specifications: plain dicts, one idea per file.

A chart is a module (or, of gauges, a value) with `figure(presented) -> Figure | None` (None: there is no
evidence for it), and its line in CHARTS.
"""

from __future__ import annotations

from steelyard.report.charts.answer import costs, effects, ratios
from steelyard.report.charts.dispatcher import priorities, trace, win_map
from steelyard.report.charts.figure import Figure
from steelyard.report.charts.kernel import locks, profile, scheduling
from steelyard.report.charts.latches import alternatives, counters, prediction, sleeps
from steelyard.report.charts.latches import times as latch_times
from steelyard.report.charts.load import clients, gauges, latency, scaling, statements, timeline
from steelyard.report.charts.load import counters as sql_counters
from steelyard.report.charts.queries import ratios as query_ratios
from steelyard.report.charts.queries import times as query_times
from steelyard.report.presented.presented import Presented

CHARTS = (
    ratios,
    costs,
    effects,
    query_ratios,
    query_times,
    win_map,
    timeline,
    gauges.CPU,
    gauges.RECORDED,
    scaling,
    priorities,
    trace,
    counters,
    sleeps,
    latch_times,
    prediction,
    alternatives,
    profile,
    locks,
    scheduling,
    latency,
    gauges.MEMORY,
    gauges.CONNECTIONS,
    gauges.OTHER,
    sql_counters,
    statements,
    clients,
)


def figures(presented: Presented) -> list[Figure]:
    """All figures for which there is evidence; the picture of the answer comes first."""
    found = [figure for chart in CHARTS if (figure := chart.figure(presented))]
    if presented.factors_first:
        found.sort(key=lambda figure: figure.name != "effects")
    return found
