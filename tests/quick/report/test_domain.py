"""Axes follow the data; an interval beyond the picture is cut, and marked where it is cut."""

import math
from dataclasses import replace
from typing import Any

import builders
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.report.charts.causes import costs
from steelyard.report.charts.comparisons import ratios
from steelyard.report.charts.figure import Figure, Panel, svg
from steelyard.report.charts.marks import domain_of
from steelyard.report.charts.scaling import scaling
from steelyard.report.presented import Presented

POSITIVE = st.floats(min_value=1e-9, max_value=1e12)


@given(st.lists(POSITIVE, min_size=1), st.lists(st.floats()), st.booleans())
def test_all_data_is_in_the_picture_whatever_the_intervals(
    data: list[float], ends: list[float], log: bool
) -> None:
    shown = domain_of(data, ends, log=log)
    assert all(shown.low <= value <= shown.high for value in data)
    assert math.isfinite(shown.low) and math.isfinite(shown.high) and shown.low < shown.high


@given(st.lists(POSITIVE, min_size=2), st.lists(st.floats()))
def test_intervals_leave_the_data_half_of_the_picture(data: list[float], ends: list[float]) -> None:
    shown = domain_of(data, ends)
    assert max(data) >= 0.45 * (shown.high - shown.low)


@pytest.mark.parametrize("data", [[], [None], [0.0], [0.0, 0.0], [-3.0], [math.nan, math.inf]])
def test_an_axis_has_two_ends_whatever_the_data(data: list[float | None]) -> None:
    for log in (False, True):
        shown = domain_of(data, log=log)
        assert shown.low < shown.high


@given(st.floats(min_value=1e-3, max_value=1e3), st.floats(min_value=1.001, max_value=9))
def test_an_axis_of_ratios_within_a_power_of_ten_has_a_few_labels(low: float, times: float) -> None:
    shown = domain_of([low, low * times], log=True)
    values = shown.ratio_axis.get("values")
    if shown.high < 10 * shown.low:
        assert values is not None and 3 <= len(values) <= 9
        assert all(shown.low <= value <= shown.high for value in values)
        assert len({f"{value:.6g}" for value in values}) == len(values)


def test_a_near_interval_is_shown_whole() -> None:
    shown = domain_of([0.9, 1.0, 1.1], [0.7, 1.4], log=True)
    assert shown.clip({"low": 0.7, "high": 1.4}) == {"low": 0.7, "high": 1.4}


@pytest.mark.parametrize("effect", [23.0, 2_000.0, 1 / 23, 1 / 2_000])
@pytest.mark.parametrize("ends", [(0.8, 1.25), (1e-9, math.inf), (1e-9, 44717068.683)])
def test_a_forest_holds_every_effect_and_marks_what_it_cuts(effect: float, ends: tuple[float, float]) -> None:
    judgement, series, about = builders.two()
    far = tuple(
        replace(item, ratio=effect, low=effect * ends[0], high=effect * ends[1])
        for item in judgement.comparisons
    )
    drawn = ratios(Presented(replace(judgement, comparisons=far), series, about))
    assert drawn is not None
    is_cut = ends[0] < 0.1
    assert ("arrowhead" in drawn.caption) == is_cut
    for panel in drawn.panels:
        low, high = panel.spec["layer"][0]["encoding"]["x"]["scale"]["domain"]
        for row in panel.spec["data"]["values"]:
            assert low < row["ratio"] < high
            # rows are rounded to six digits
            assert low * 0.99999 <= row["low"] < row["ratio"] < row["high"] <= high * 1.00001
            assert ("cut_low" in row, "cut_high" in row) == (is_cut, is_cut)
        assert len(arrowheads(panel)) == (2 if is_cut else 0)
        assert svg(panel).count("role-mark") > 3


def test_a_band_without_an_end_leaves_the_curves_their_room() -> None:
    judgement, series, about = builders.scaling()
    wide = tuple(replace(item, low=0.0, high=item.value * 7_000) for item in judgement.estimates)
    drawn = scaling(Presented(replace(judgement, estimates=wide), series, about))
    assert drawn is not None and "arrowhead" in drawn.caption
    for panel in drawn.panels:
        if panel.name == "scaling-linear":
            continue
        values = [row["value"] for row in panel.spec["data"]["values"]]
        top = panel.spec["layer"][-1]["encoding"]["y"]["scale"]["domain"][1]
        assert max(values) > 0.6 * top
        assert arrowheads(panel) == ["triangle-up"]


def test_a_cost_of_which_little_is_known_leaves_the_others_their_bars() -> None:
    judgement, series, about = builders.two()
    first, *others = judgement.costs
    vague = replace(first, low=-1e9, high=1e9)
    drawn = costs(Presented(replace(judgement, costs=(vague, *others)), series, about))
    assert drawn is not None
    assert arrowheads(drawn.panels[0]) == ["triangle-left", "triangle-right"]
    low, high = drawn.panels[0].spec["layer"][0]["encoding"]["x"]["scale"]["domain"]
    assert high - low < 3 * abs(first.after - first.before)


def test_without_a_cut_nothing_is_said_of_arrowheads() -> None:
    every: list[Figure | None] = [chart(Presented(*builders.scaling())) for chart in (ratios, costs, scaling)]
    assert not any(figure is None or "arrowhead" in figure.caption for figure in every)


def arrowheads(panel: Panel) -> list[str]:
    marks: list[dict[str, Any]] = [layer["mark"] for layer in panel.spec["layer"]]
    return [mark["shape"] for mark in marks if str(mark.get("shape", "")).startswith("triangle")]
