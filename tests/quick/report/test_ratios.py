from __future__ import annotations

import math
from dataclasses import replace

import builders
import pytest

from steelyard.report.charts.comparisons import ratios
from steelyard.report.presented import Presented


@pytest.mark.parametrize("times", [0.002, 60.0])
def test_the_picture_holds_every_ratio_however_far_from_the_baseline(times: float) -> None:
    judgement, series, about = builders.two()
    far = tuple(
        replace(c, ratio=c.ratio * times, low=c.low * times, high=c.high * times)
        for c in judgement.comparisons
    )
    drawn = ratios(Presented(replace(judgement, comparisons=far), series, about))
    assert drawn is not None
    # a point outside its axis takes the room of the whole picture
    for panel in drawn.panels:
        low, high = panel.spec["layer"][0]["encoding"]["x"]["scale"]["domain"]
        assert all(low < row["ratio"] < high for row in panel.spec["data"]["values"])


def test_one_block_has_no_interval_to_draw() -> None:
    judgement, series, about = builders.two()
    alone = tuple(replace(c, low=0.0, high=math.inf, blocks=1) for c in judgement.comparisons)
    drawn = ratios(Presented(replace(judgement, comparisons=alone), series, about))
    assert drawn is not None and "arrowhead" not in drawn.caption
    for panel in drawn.panels:
        assert all(row["low"] is row["high"] is None for row in panel.spec["data"]["values"])
