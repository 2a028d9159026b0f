"""Scaling and latches in the report: every number of the study's tables, and other bundles' curves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path

import builders
import pytest
from rich.console import Console

from steelyard.analysis.judgement.latches import WhatIf
from steelyard.analysis.judgement.scaling import Scaling
from steelyard.bundle.reader import Bundle
from steelyard.bundle.series.read import Series
from steelyard.recordings.importing import write_published
from steelyard.report.charts import figures
from steelyard.report.charts.figure import Figure
from steelyard.report.export import write_images
from steelyard.report.page.html import render
from steelyard.report.presented import Presented
from steelyard.report.terminal.verdict import print_verdict

Case = builders.Case


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Case]:
    folder = tmp_path_factory.mktemp("recordings")
    found: dict[str, Case] = {}
    for name in ("result-cache-t2", "result-cache-i7"):
        write_published(name, folder / name)
        bundle = Bundle(folder / name)
        found[name[-2:]] = builders.of_bundle(bundle)
    return lambda name: found[name]


def drawn(case: Case, overlays: Sequence[tuple[str, Sequence[Scaling]]] = ()) -> dict[str, Figure]:
    return {figure.name: figure for figure in figures(Presented(*case, overlays))}


def test_the_latch_table_of_the_study_is_there_whole(case: Callable[[str], Case]) -> None:
    table = drawn(case("t2"))["latches"].table
    row = dict(zip(table.head, table.rows[11], strict=True))
    assert row == {
        "processes": "12",
        "gets": "6,000,012",
        "misses": "3,019,903",
        "spin gets": "n/a",
        "sleeps": "1,226",
        "time asleep": "60.0 ms",
        "% misses per get": "50.3",
        "% sleeps per miss": "0.0406",
        "gets per lookup": "2.00",
        "wait per sleep": "48.9 µs",
        "hold": "5.36 µs",
        "measured gets/s": "101,000",
    }


def test_percent_linear_stands_beside_the_throughput(case: Callable[[str], Case]) -> None:
    table = drawn(case("t2"))["scaling"].table
    assert ("RC", "12", "50,600/s", "92.6") in table.rows
    assert len(table.rows) == 24


def test_the_page_says_what_the_curve_means(case: Callable[[str], Case]) -> None:
    page = render(Presented(*case("i7")))
    assert "beyond 6 cores further processes add 26.7\u00a0%" in page
    assert "Measured elsewhere" in page and "the server reset before it" not in page
    assert "at 12 processes it is as published" in render(Presented(*case("t2")))


def test_curves_of_another_bundle_are_drawn_behind(case: Callable[[str], Case]) -> None:
    figure = drawn(case("i7"), [("t2", case("t2")[0].scaling)])["scaling"]
    throughput, linear = figure.panels[:2]
    (line,) = [layer for layer in throughput.spec["layer"] if layer["mark"].get("style") == "mutedline"]
    points = {(row["source"], row["clients"]): row["value"] for row in line["data"]["values"]}
    assert points["t2 RC", 12] == pytest.approx(50590)
    (line,) = [layer for layer in linear.spec["layer"] if layer["mark"].get("style") == "mutedline"]
    points = {(row["source"], row["clients"]): row["value"] for row in line["data"]["values"]}
    assert points["t2 RC", 12] == pytest.approx(92.554, abs=1e-3)
    assert "t2 RC" in figure.caption


def test_a_recording_has_pictures(case: Callable[[str], Case], tmp_path: Path) -> None:
    names = {place.name for place in write_images(tmp_path, Presented(*case("t2")))}
    assert {"scaling-linear.png", "latches-misses.svg"} <= names


def test_the_terminal_says_it_too(case: Callable[[str], Case]) -> None:
    out = StringIO()
    judgement, _, about = case("t2")
    print_verdict(Presented(judgement, Series(), about), Console(file=out, width=80))
    assert "With more processes" in out.getvalue() and "extrapolation" in out.getvalue()


def test_what_other_settings_would_do_is_a_table(case: Callable[[str], Case]) -> None:
    judgement, series, about = case("t2")
    asked = WhatIf("RC", "RC latch", 12, "8 children", 2e6, 0.05, 0.0, 40.0, 1e4, 0.004)
    figure = drawn((replace(judgement, what_if=(asked,)), series, about))["latch-alternatives"]
    told = ("8 children", "2,000,000 ± 10,000", "5.00 ± 0.400", "0", "40.0 ns")
    assert figure.table.rows == (("RC, RC latch", "12", *told),)
    assert "8 children" in render(Presented(replace(judgement, what_if=(asked,)), series, about))
    assert "latch-alternatives" not in drawn(case("t2"))


def test_curves_of_many_options_have_no_bands_and_their_caption_names_none() -> None:
    factors = {"f": {f"A{n}": 0.01 * n for n in range(6)}, "g": {f"B{n}": 0.1 * n for n in range(4)}}
    many = builders.build("many", factors, baseline="", clients=(2, 8))
    few = builders.build("few", {"g": factors["g"]}, baseline="", clients=(2, 8))
    captions = [drawn(case)["scaling"].caption for case in (many, few)]
    assert ["band" in caption for caption in captions] == [False, True]
