"""Reports of real systems, which are not ours to publish: STEELYARD_SAMPLES names their folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from steelyard.recordings.registry import reports_in
from steelyard.recordings.report import Report
from steelyard.recordings.source import Source

FOLDER = Path(os.environ.get("STEELYARD_SAMPLES", "no samples"))
needs_reports = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="set STEELYARD_SAMPLES to the folder of samples"
)


def read(name: str, not_understood: int = 0) -> dict[str, Report]:
    """Reports by format; the last of each. not_understood: lines of comment."""
    source = Source(FOLDER / name)
    found = {report.format: report for report in reports_in(source)}
    assert source.skipped.count == not_understood, source.skipped.lines
    return found


def only(name: str, not_understood: int = 0) -> Report:
    (report,) = read(name, not_understood).values()
    return report


def figures(report: Report) -> dict[str, float]:
    return {figure.name: figure.value for figure in report.figures}
