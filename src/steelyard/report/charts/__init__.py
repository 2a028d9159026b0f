"""Every chart of a report, as Vega-Lite specifications: plain dicts.

A chart is a function, `chart(presented) -> Figure | None` (None: there is no evidence for it), and its line
in CHARTS. Its numbers come from a Table, of which the shapes draw columns.
"""

from steelyard.report.charts import gauges
from steelyard.report.charts.causes import costs, effects
from steelyard.report.charts.comparisons import queries, query_times, ratios
from steelyard.report.charts.dispatcher import priorities, trace, win_map
from steelyard.report.charts.figure import Figure
from steelyard.report.charts.latches import latches, sleeps
from steelyard.report.charts.predictions import alternatives, predictions
from steelyard.report.charts.profile import profile
from steelyard.report.charts.quantiles import latch_times, latency
from steelyard.report.charts.scaling import scaling
from steelyard.report.charts.timeline import timeline
from steelyard.report.charts.waits import locks, scheduling
from steelyard.report.charts.work import clients, sql_counters, statements
from steelyard.report.presented import Presented

_FACTORS_FIRST = 12  # options: with more of them, the chart that answers is the one of the factors

CHARTS = (
    ratios,
    costs,
    effects,
    queries,
    query_times,
    win_map,
    timeline,
    gauges.CPU.figure,
    gauges.RECORDED.figure,
    scaling,
    priorities,
    trace,
    latches,
    sleeps,
    latch_times,
    predictions,
    alternatives,
    profile,
    locks,
    scheduling,
    latency,
    gauges.MEMORY.figure,
    gauges.CONNECTIONS.figure,
    gauges.OTHER.figure,
    sql_counters,
    statements,
    clients,
)


def figures(presented: Presented) -> list[Figure]:
    """All figures for which there is evidence; the picture of the answer comes first."""
    found = [figure for chart in CHARTS if (figure := chart(presented))]
    if len(presented.ranking) > _FACTORS_FIRST:
        found.sort(key=lambda figure: figure.name != "effects")
    return found
