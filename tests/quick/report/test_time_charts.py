"""Time charts: what was sampled is drawn as it was sampled, and a reader can zoom."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import builders
import pytest

from declared import DECLARED
from steelyard.report.charts import figures, gauges
from steelyard.report.charts.dispatcher import trace
from steelyard.report.charts.figure import Panel
from steelyard.report.charts.quantiles import latch_times
from steelyard.report.charts.shapes import steps
from steelyard.report.charts.timeline import timeline
from steelyard.report.presented import Presented


def every_panel() -> list[Panel]:
    return [
        panel
        for case in (builders.two, builders.scaling, builders.matrix)
        for figure in figures(Presented(*case()))
        for panel in figure.panels
    ]


def test_each_sample_is_a_step_as_long_as_its_time() -> None:
    samples = [{"run": 1, "t_s": float(at), "tps": 10.0 * at} for at in (5, 6, 7)]
    corners = steps(samples, ("run",))
    assert [(row["t_s"], row["tps"]) for row in corners[:-1]] == [(5, 50), (6, 60), (7, 70), (8, 70)]
    assert [row["middle_s"] for row in corners] == [5.5, 6.5, 7.5, None, None]
    assert [row["t_s"] is None for row in corners] == [False] * 4 + [True]


def test_what_counts_until_its_time_begins_a_step_before() -> None:
    samples = [{"run": 1, "t_s": float(at), "percent": at} for at in (6, 8)]
    assert [row["t_s"] for row in steps(samples, ("run",), until=True)] == [4, 6, 8, None]


def test_no_line_crosses_a_gap_or_goes_from_run_to_run() -> None:
    samples = [{"run": run, "t_s": at, "tps": 1.0} for run, at in ((1, 0.0), (1, 1.0), (1, 5.0), (2, 6.0))]
    times = [row["t_s"] for row in steps(samples, ("run",))]
    assert times == [0, 1, 2, None, 5, 6, None, 6, 7, None]


def test_no_curve_is_smoothed() -> None:
    for panel in every_panel():
        for layer in panel.spec["layer"]:
            assert layer["mark"].get("interpolate", "linear") in ("linear", "step", "step-after")


def test_few_samples_are_drawn_as_points() -> None:
    presented = Presented(*builders.two())
    for chart in (timeline, gauges.MEMORY.figure):
        drawn = chart(presented)
        assert drawn is not None
        points = [layer["mark"] for layer in drawn.panels[0].spec["layer"]]
        assert [mark["opacity"] for mark in points if mark["type"] == "point"] == [1]


@pytest.mark.parametrize("chart", [timeline, gauges.MEMORY.figure, trace])
def test_every_axis_of_time_can_be_zoomed(chart: Any) -> None:
    judgement, series, about = builders.two()
    stint = {"option": "NAMED", "thread": "t", "reason": "ran", "cpu": 0, "priority": 9}
    stint |= {"start_s": 0.0, "end_s": 0.5}
    traced = replace(series, trace=[stint])
    drawn = chart(Presented(judgement, traced, about))
    for panel in drawn.panels:
        assert panel.spec["usermeta"] == {"zoom": "drag"}
        low, high = (param["value"] for param in panel.spec["params"])
        assert low < high
        for layer in panel.spec["layer"]:
            x = layer["encoding"].get("x", {})
            if "field" in x:
                assert x["scale"]["domain"] == [{"expr": "x_from"}, {"expr": "x_to"}]
                assert layer["mark"]["type"] == "text" or layer["mark"]["clip"]


def test_names_of_lines_that_end_alike_stand_apart() -> None:
    judgement, series, about = builders.two()
    cpu = [{**row, "percent": 1.0} for row in series.cpu]
    drawn = timeline(Presented(judgement, replace(series, cpu=cpu), about))
    assert drawn is not None
    names = drawn.panels[1].spec["layer"][-1]["data"]["values"]
    places = sorted(row["percent"] for row in names)
    assert all(b - a > 0.09 for a, b in pairwise(places))


def test_every_chart_says_what_is_under_the_pointer() -> None:
    for panel in every_panel():
        pointed = [layer for layer in panel.spec["layer"] if "tooltip" in layer["encoding"]]
        assert pointed, panel.name
        # a line or an area is one mark: it would say the same wherever it is pointed at
        assert all(layer["mark"]["type"] not in ("line", "area") for layer in pointed), panel.name


def test_waits_that_never_were_have_no_panel_and_the_caption_says_so() -> None:
    judgement, series, about = builders.scaling()
    rows = [
        (option, clients, kind, quantile, 0.0 if (kind, clients) == ("wait", 4) else 100.0 + quantile)
        for option in judgement.options
        for clients in (4, 64)
        for kind in ("hold", "wait")
        for quantile in (0.5, 0.99)
    ]
    names = ("option", "clients", "kind", "quantile", "ns")
    times = [dict(zip(names, row, strict=True)) for row in rows]
    drawn = latch_times(Presented(judgement, replace(series, latch_times=times), about))
    assert drawn is not None
    titles = [panel.title for panel in drawn.panels]
    assert titles == ["Hold, 4 clients", "Hold, 64 clients", "Wait, 64 clients"]
    assert "No waits with 4 clients: no panel." in drawn.caption


def test_a_reading_of_an_interval_is_drawn_over_the_time_before_it() -> None:
    judgement, series, about = builders.two()
    declared = [{**row, "of_interval": True} for row in series.gauges]
    before = gauges.MEMORY.figure(Presented(judgement, replace(series, gauges=declared), about))
    after = gauges.MEMORY.figure(Presented(judgement, series, about))
    assert before is not None and after is not None
    lines = [drawn.panels[0].spec["layer"][0]["mark"]["interpolate"] for drawn in (before, after)]
    assert lines == ["step-after", "step-after"]
    corners, readings = (drawn.panels[0].spec["data"]["values"] for drawn in (before, after))
    for option in {row["option"] for row in readings}:
        own = sorted((row["t_s"], row["shown"]) for row in readings if row["option"] == option)
        step_s = own[1][0] - own[0][0]
        drawn = [(row["t_s"], row["shown"]) for row in corners if row["option"] == option]
        # a step begins where the interval of its reading began, and the last ends at the last reading
        assert drawn[:-1] == [*((at - step_s, value) for at, value in own), own[-1]]


def test_a_limit_far_above_its_gauge_is_named_at_the_edge() -> None:
    judgement, series, about = builders.two()
    far = replace(series, gauges=[{**row, "limit": row["limit"] and 16_384.0} for row in series.gauges])
    drawn = gauges.MEMORY.figure(Presented(judgement, far, about))
    assert drawn is not None
    panel = drawn.panels[0]
    top = panel.spec["layer"][0]["encoding"]["y"]["scale"]["domain"][1]
    assert top < 200
    assert panel.spec["layer"][-1]["data"]["values"] == [{"text": "↑ limit 16,400"}]


def test_gauges_stand_in_the_figure_of_their_declared_group() -> None:
    judgement, series, about = builders.two()
    groups = {"cache_entries": "memory", "evicted": "", "memory_bytes": "cpu"}
    declared = [{**row, "group": groups[row["metric"]]} for row in series.gauges]
    grouped = replace(series, gauges=declared)
    titles = {
        figure.title: [panel.title for panel in figure.panels]
        for figure in figures(Presented(judgement, grouped, about))
    }
    assert titles["Caches and memory"] == ["Cache entries, statements"]
    assert titles["Run queue"] == ["Memory, server"]
    assert titles["Other gauges"] == ["Evicted, statements"]
    assert "Connections" not in titles


def test_the_run_queue_is_declared_a_matter_of_the_cpu() -> None:
    charted = {m.name: m.group for metrics in DECLARED.values() for m in metrics if m.chart}
    assert charted["runqueue_tasks"] == "cpu"
    assert charted["memory_private_bytes"] == "memory"
    assert all(charted.values())
