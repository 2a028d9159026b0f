import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import builders
import pytest
import vl_convert

from steelyard.report.charts import figures
from steelyard.report.charts.figure import Panel, standalone
from steelyard.report.export import write_images
from steelyard.report.presented import Presented


def test_every_chart_becomes_svg_and_png(tmp_path: Path) -> None:
    written = write_images(tmp_path / "images", Presented(*builders.scaling()))
    names = {path.stem for path in written}
    assert {"ratios-throughput_per_s", "timeline-tps", "timeline-cpu", "costs"} <= names
    assert {"scaling-server_cpu_us_per_txn", "latency-64", "statements-lookup"} <= names
    assert len(written) == 2 * len(names)
    for path in written:
        head = path.read_bytes()[:8]
        assert head.startswith(b"<svg") if path.suffix == ".svg" else head == b"\x89PNG\r\n\x1a\n"


def test_names_made_of_hostile_labels_stay_in_their_folder(tmp_path: Path) -> None:
    written = write_images(tmp_path / "images", Presented(*builders.hostile()))
    assert {path.parent for path in written} == {tmp_path / "images"}
    assert len(written) == len(set(written))


@pytest.mark.parametrize("width_px", range(200, 420, 30))
def test_labels_of_a_logarithmic_axis_stay_apart(width_px: int) -> None:
    judgement, series, about = builders.two()
    apart = [replace(c, low=c.ratio * 0.3, high=c.ratio * 2.5) for c in judgement.comparisons]
    drawn = figures(Presented(replace(judgement, comparisons=tuple(apart)), series, about))
    panel = next(figure for figure in drawn if figure.name == "ratios").panels[0]
    svg = vl_convert.vegalite_to_svg({**standalone(panel), "width": width_px})
    axis = svg[svg.index("role-axis-label") :].partition("</g>")[0]
    labels = re.findall(r'translate\(([\d.]+),[^>]* opacity="1">([\d.]+)<', axis)
    assert len(labels) >= 3
    for (x, text), (next_x, following) in pairwise(labels):
        # a digit is 6.5 px wide in this size, a point half of it
        half_widths_px = sum(6.5 * (len(t) - 0.5 * t.count(".")) / 2 for t in (text, following))
        assert float(next_x) - float(x) - half_widths_px >= 5


def test_control_characters_are_drawn_as_their_escapes() -> None:
    layer = {"mark": {"type": "point"}, "encoding": {}}
    panel = Panel("p", "a\x01b", {"layer": [layer], "data": {"values": [{"x\x1b": "\x07"}]}})
    assert "\\x01" in vl_convert.vegalite_to_svg(standalone(panel))
