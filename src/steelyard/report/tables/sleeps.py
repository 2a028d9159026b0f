"""Sleeps for the latches of a live server in short: one row per option at the most clients."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard import quantities as fmt
from steelyard.analysis.judgement.latches import LatchRow
from steelyard.analysis.judgement.results import Metric
from steelyard.analysis.metrics.latches import ASLEEP, SLEEPS
from steelyard.report.presented.presented import Presented
from steelyard.report.table import Table, plain_table

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
    often = [_of(presented, option, most, SLEEPS) for option in mine]
    if len(mine) > _OPTIONS_MAX or max(often, default=0.0) < _SLEEPS_PER_TXN_MIN:
        return None
    head = f"  sleeps at {fmt.count(most, about.point_is, about.points_are)}"
    return plain_table(
        (head, f"per {about.work_is}", "time asleep", "most of it for latch"),
        (
            (f"  {option}", sleeps, *_asleep(rows, _of(presented, option, most, ASLEEP)))
            for (option, rows), sleeps in zip(mine.items(), often, strict=True)
        ),
    )


def _of(presented: Presented, option: str, clients: int, metric: Metric) -> float:
    """The estimate of the costs, so that one metric reads alike in every sentence and table."""
    mine = [e for e in presented.judgement.estimates if (e.option, e.metric) == (option, metric.name)]
    at = {estimate.clients: estimate.value for estimate in mine}
    return at.get(clients, at.get(None, 0.0))


def _asleep(rows: Sequence[LatchRow], total_us: float) -> tuple[str, str]:
    pooled = sum(row.wait_ns_per_txn or 0.0 for row in rows)
    if not pooled:
        return "0", ""
    first = max(rows, key=lambda row: row.wait_ns_per_txn or 0.0)
    share = fmt.percent((first.wait_ns_per_txn or 0.0) / pooled)
    return fmt.quantity(total_us, ASLEEP.unit.partition("/")[0]), f"{first.latch}, {share}"
