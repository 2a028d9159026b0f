"""The latches in short: one row per option at the most workers, predicted beside measured."""

from __future__ import annotations

from steelyard import quantities as fmt
from steelyard.analysis.judgement.latches import LatchRow
from steelyard.report.presented.presented import Presented
from steelyard.report.text_table import Table, known


def table(presented: Presented) -> Table | None:
    """None where no latch was recorded."""
    latches, about = presented.judgement.latches, presented.about
    rows = [row for row in latches if not row.sleeps_only]
    if not rows:
        return None
    most = max(row.clients for row in rows)
    return Table(
        (
            f"  latch at {fmt.count(most, about.point_is, about.points_are)}",
            "misses/get",
            "sleeps/miss",
            "hand-overs/s",
            "predicted gets/s",
        ),
        tuple(
            (
                f"  {row.option}",
                known(row.misses_per_get, fmt.percent),
                known(row.sleeps_per_miss, fmt.percent),
                known(row.hand_overs_per_s),
                _predicted(row),
            )
            for row in rows
            if row.clients == most
        ),
    )


def _predicted(row: LatchRow) -> str:
    if not row.gets_per_s or row.predicted_gets_per_s is None:
        return fmt.MISSING
    error = fmt.change(row.predicted_gets_per_s / row.gets_per_s)
    return f"{fmt.significant(row.predicted_gets_per_s)}, {error}"
