"""Long recordings: readings beyond a limit are averaged, figures are of all, and the report says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from readings import readings
from recorded_cases import vmstat

from steelyard.analysis.comparison.block_table import estimated_runs
from steelyard.analysis.judge import judge
from steelyard.bundle.reader import Bundle
from steelyard.bundle.series.read import gauges, read_series
from steelyard.recordings.importing import import_files, write_recording
from steelyard.recordings.registry import reports_in
from steelyard.recordings.samples import Samples
from steelyard.recordings.source import Source
from steelyard.report.about.provenance import about_bundle
from steelyard.report.charts.gauges import RECORDED
from steelyard.report.presented import Presented


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=400), st.integers(16, 60))
def test_averaging_keeps_the_sum_and_the_last_time_of_each_series(values: list[float], most: int) -> None:
    found = Samples(most)
    for i, value in enumerate(values):
        found.add_row(float(i), "cpu all", {"us": value, "switches_total": float(i)})
    assert len(found) <= most
    rates = [s for s in readings(found) if s.metric == "us"]
    total = sum(s.value * n for s, n in zip(rates, found.tables["cpu all", "us"][:, 2], strict=True))
    assert total == pytest.approx(sum(values), rel=1e-9, abs=1e-3)
    # a counter is not averaged: what it counted until then
    assert all(s.value == s.at_s for s in readings(found) if s.metric == "switches_total")
    assert max(s.at_s for s in readings(found)) == len(values) - 1


def test_few_readings_are_kept_as_they_are() -> None:
    found = Samples(100)
    for i in range(50):
        found.add_row(i, "host", {"a": i, "b": -i})
    assert [s.value for s in readings(found) if s.metric == "b"] == [-i for i in range(50)]
    assert found.averaged_s == 0


def test_a_chart_shows_a_long_recording_to_its_end(tmp_path: Path) -> None:
    place = tmp_path / "vmstat.txt"
    place.write_text(vmstat(6001))
    found = import_files([str(place)], [], False, lambda _, __: None)
    write_recording(found, tmp_path / "out", "vmstat")
    drawn = gauges(Bundle(tmp_path / "out"))
    # 6,000 s in 600 steps of 10 s, each a median
    assert sum(row["metric"] == "us_percent" for row in drawn) == 601
    assert max(row["t_s"] for row in drawn) == 6000


def test_a_chart_draws_recorded_shares_over_the_time_before_each_reading(tmp_path: Path) -> None:
    place = tmp_path / "vmstat.txt"
    place.write_text(vmstat(5))
    found = import_files([str(place)], [], False, lambda _, __: None)
    write_recording(found, tmp_path / "out", "vmstat")
    bundle = Bundle(tmp_path / "out")
    series = read_series(bundle, estimated_runs(bundle.evidence()))
    about = about_bundle(bundle)
    drawn = RECORDED.figure(Presented(judge(bundle.evidence()), series, about))
    assert drawn is not None
    (panel,) = [panel for panel in drawn.panels if "us-percent" in panel.name]
    corners = [(row["t_s"], row["shown"]) for row in panel.spec["data"]["values"]]
    # the row of second 1 counts from second 0 on
    assert corners == [(0, 1), (1, 2), (2, 3), (3, 4), (4, 4), (None, 4)]


def test_a_recording_over_several_midnights_goes_on(tmp_path: Path) -> None:
    place = tmp_path / "sar.txt"
    rows = "".join(
        f"{hour % 24:02}:00:01        all      {hour % 90:.2f}      0.00   1.00   0.00   0.00   50.00\n"
        for hour in range(10, 100)
    )
    head = "09:00:01        CPU     %user     %nice   %system   %iowait    %steal     %idle\n"
    place.write_text("Linux 6.1.0 (vm) \t2026-03-02 \t_x86_64_\t(2 CPU)\n\n" + head + rows)
    (report,) = reports_in(Source(place))
    assert report.seconds == 90 * 3600
    assert [s.at_s for s in readings(report.samples) if s.metric == "user_percent"] == [
        3600.0 * i for i in range(1, 91)
    ]


def test_the_second_section_of_a_whole_day_is_of_the_same_day(tmp_path: Path) -> None:
    times = [f"{minutes // 60:02}:{minutes % 60:02}:01" for minutes in range(0, 1440, 10)]
    cpu = ["        CPU     %user     %nice   %system   %iowait    %steal     %idle"]
    cpu += ["        all     10.00      0.00      1.00      0.00      0.00     89.00"] * 143
    queue = ["      runq-sz  plist-sz   ldavg-1   ldavg-5  ldavg-15   blocked"]
    queue += [f"            {i}       100      0.10      0.10      0.10         0" for i in range(143)]
    sections = ("\n".join(map("".join, zip(times, rows, strict=True))) for rows in (cpu, queue))
    place = tmp_path / "sar.txt"
    place.write_text("Linux 6.1.0 (vm) \t2026-03-02 \t_x86_64_\t(2 CPU)\n\n" + "\n\n".join(sections) + "\n")
    (report,) = reports_in(Source(place))
    assert report.seconds == 143 * 600
    assert [s.at_s for s in readings(report.samples) if s.metric == "runq_sz"] == [
        600.0 * i for i in range(1, 144)
    ]
