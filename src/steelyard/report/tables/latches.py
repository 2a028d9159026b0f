"""The latches in short: one row per option at the most workers, predicted beside measured."""

from __future__ import annotations

from steelyard import quantities as fmt
from steelyard.analysis.judgement.latches import LatchRow
from steelyard.report.presented.presented import Presented
from steelyard.report.table import Column, Row, Table


def table(presented: Presented) -> Table | None:
    """None where no latch was recorded."""
    latches, about = presented.judgement.latches, presented.about
    rows = [row for row in latches if not row.sleeps_only]
    if not rows:
        return None
    most = max(row.clients for row in rows)
    columns = (
        Column(f"  latch at {fmt.count(most, about.point_is, about.points_are)}", "name"),
        Column("misses/get", "misses_per_get", fmt.percent),
        Column("sleeps/miss", "sleeps_per_miss", fmt.percent),
        Column("hand-overs/s", "hand_overs_per_s"),
        Column("predicted gets/s", "predicted"),
    )
    return Table(columns, [_shown(row) for row in rows if row.clients == most])


def _shown(row: LatchRow) -> Row:
    measured, predicted = row.gets_per_s, row.predicted_gets_per_s
    text = None
    if measured and predicted is not None:
        text = f"{fmt.significant(predicted)}, {fmt.change(predicted / measured)}"
    return {**vars(row), "name": f"  {row.option}", "predicted": text}
