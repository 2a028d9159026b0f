"""Reports of real systems, which are not ours to publish: STEELYARD_SAMPLES names their folder."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

import pytest

from steelyard.errors import InputError
from steelyard.recordings.registry import reports_in
from steelyard.recordings.report import Report
from steelyard.recordings.source import Source

FOLDER = Path(os.environ.get("STEELYARD_SAMPLES", "no samples"))
_TITLE = re.compile(r"(?m)^(?:== .*\n|---\n|(?=--- ))")
_OF_SEVERAL_TOOLS = {
    *("ase_mda_live_busy.txt", "linux_locks.txt", "perf_report_script.txt", "pgbench_logs.txt", "solaris.txt")
}
needs_reports = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="set STEELYARD_SAMPLES to the folder of samples"
)


def parts(name: str) -> list[Source]:
    """The outputs of the tools that a sample puts below titles of its own."""
    if name not in _OF_SEVERAL_TOOLS:
        return [Source(FOLDER / name)]
    found = [lines for lines in _TITLE.split((FOLDER / name).read_text()) if lines.strip()]
    return [Source(FOLDER / name, inner=tuple(enumerate(lines.splitlines(), start=1))) for lines in found]


def read(name: str, not_understood: int = 0) -> dict[str, Report]:
    """Reports by format; the last of each. not_understood: lines of comment."""
    found: dict[str, Report] = {}
    skipped: list[tuple[int, str]] = []
    for source in parts(name):
        with suppress(InputError):
            found |= {report.format: report for report in reports_in(source)}
        skipped += source.skipped.lines
    assert len(skipped) == not_understood, skipped
    return found


def only(name: str, not_understood: int = 0) -> Report:
    (report,) = read(name, not_understood).values()
    return report


def figures(report: Report) -> dict[str, float]:
    return {figure.name: figure.value for figure in report.figures}
