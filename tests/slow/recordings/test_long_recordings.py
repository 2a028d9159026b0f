"""A recording beyond the limit of readings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from recorded_cases import vmstat

from steelyard.recordings.importing import import_files
from steelyard.recordings.samples import READINGS_MAX


def test_a_long_recording_is_averaged_and_says_so(tmp_path: Path) -> None:
    place = tmp_path / "vmstat.txt"
    place.write_text(vmstat(90_001))
    (tables,) = import_files([str(place)], [], False, lambda _, __: None).tables
    table = tables["samples"]
    assert len(table["value"]) < READINGS_MAX < 90_000 * 17
    of_switches = np.array(table["metric"]) == "cs"
    at_s, switches = np.array(table["t_ns"])[of_switches] / 1e9, np.array(table["value"])[of_switches]
    # the first row counts since the boot; then four rows are one reading, at the time of the last
    assert [*zip(at_s[:3], switches[:3], strict=True)] == [(4.0, 2.5), (8.0, 6.5), (12.0, 10.5)]
    assert at_s[-1] == 90_000
    (text,) = [text for text in tables["notices"]["text"] if "more than" in text]
    assert text == (
        "system/vmstat: more than 1,500,000 readings: the bundle keeps their means over 4 s, figures are"
        " of all"
    )
    assert [*tables["further_scores"]["value"]] == [pytest.approx(24.5 + 10)]
