"""Sleeps for the latches of a live server in short: one row per option at the most clients."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard import quantities as fmt
from steelyard.analysis.judgement.latches import LatchRow
from steelyard.report.presented.presented import Presented
from steelyard.report.text_table import Table

_OPTIONS_MAX = 8
_SLEEPS_PER_TXN_MIN = 0.01


def table(presented: Presented) -> Table | None:
    """Of a live server, whose sleeps alone are seen: one row per option, with the latch it slept for longest.

    None where hardly anybody slept, or there are many options: then the report has them.
    """
    latches, about = presented.judgement.latches, presented.about
    most = max((row.clients for row in latches), default=0)
    mine: dict[str, list[LatchRow]] = {}
    for row in latches:
        if row.sleeps_only and row.clients == most:
            mine.setdefault(row.option, []).append(row)
    often = [sum(row.sleeps_per_txn or 0.0 for row in rows) for rows in mine.values()]
    if len(mine) > _OPTIONS_MAX or max(often, default=0.0) < _SLEEPS_PER_TXN_MIN:
        return None
    head = f"  sleeps at {fmt.count(most, about.point_is, about.points_are)}, pooled"
    return Table(
        (head, f"per {about.work_is}", "time asleep", "most of it for latch"),
        tuple(
            (f"  {option}", fmt.significant(sleeps), *_asleep(rows))
            for (option, rows), sleeps in zip(mine.items(), often, strict=True)
        ),
    )


def _asleep(rows: Sequence[LatchRow]) -> tuple[str, str]:
    total = sum(row.wait_ns_per_txn or 0.0 for row in rows)
    if not total:
        return "0", ""
    first = max(rows, key=lambda row: row.wait_ns_per_txn or 0.0)
    return fmt.quantity(total, "ns"), f"{first.latch}, {fmt.percent((first.wait_ns_per_txn or 0.0) / total)}"
