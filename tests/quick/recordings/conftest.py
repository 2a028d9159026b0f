"""Fixtures of imports."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from steelyard.recordings.registry import reports_in
from steelyard.recordings.report import Report
from steelyard.recordings.source import Source


@pytest.fixture
def one(tmp_path: Path) -> Callable[[str], Report]:
    """Reads a text that holds one report."""

    def only(text: str) -> Report:
        place = tmp_path / "report.txt"
        place.write_text(text)
        (report,) = reports_in(Source(place))
        return report

    return only
