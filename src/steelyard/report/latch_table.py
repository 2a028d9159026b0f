"""The latches in short: a row an option at the most workers, predicted beside measured."""

from __future__ import annotations

from steelyard.analysis.latch_rows import LatchRow
from steelyard.analysis.results import Judgement
from steelyard.report import format as fmt
from steelyard.report.charts.figure import Table
from steelyard.report.inputs import About


def latch_table(judgement: Judgement, about: About) -> Table | None:
    """None where no latch was watched."""
    if not judgement.latches:
        return None
    most = max(row.clients for row in judgement.latches)
    return Table(
        (
            f"  latch at {most} {about.points_are}",
            "misses/get",
            "sleeps/miss",
            "hand-overs/s",
            "predicted gets/s",
        ),
        tuple(
            (
                f"  {row.option}",
                _share(row.misses_per_get),
                _share(row.sleeps_per_miss),
                fmt.MISSING if row.hand_overs_per_s is None else fmt.significant(row.hand_overs_per_s),
                _predicted(row),
            )
            for row in judgement.latches
            if row.clients == most
        ),
    )


def _share(value: float | None) -> str:
    return fmt.MISSING if value is None else f"{fmt.significant(100 * value)} %"


def _predicted(row: LatchRow) -> str:
    if not row.gets_per_s or row.predicted_gets_per_s is None:
        return fmt.MISSING
    error = fmt.change(row.predicted_gets_per_s / row.gets_per_s)
    return f"{fmt.significant(row.predicted_gets_per_s)}, {error}"
