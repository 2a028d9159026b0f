"""The latches in short: a row an option at the most workers, predicted beside measured."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard import quantities as fmt
from steelyard.analysis.judgement.latches import LatchRow
from steelyard.analysis.judgement.results import Judgement
from steelyard.report.about.about import About
from steelyard.report.charts.figure import Table

_MOST_OPTIONS = 8
_SLEEPS_PER_TXN_MIN = 0.01


def latch_table(judgement: Judgement, about: About) -> Table | None:
    """None where no latch was watched."""
    rows = [row for row in judgement.latches if not row.sleeps_only]
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
                _share(row.misses_per_get),
                _share(row.sleeps_per_miss),
                fmt.MISSING if row.hand_overs_per_s is None else fmt.significant(row.hand_overs_per_s),
                _predicted(row),
            )
            for row in rows
            if row.clients == most
        ),
    )


def sleep_table(judgement: Judgement, about: About) -> Table | None:
    """Of a live server, whose sleeps alone are seen: a row an option, with the latch it slept for longest.

    None where hardly anybody slept, or there are many options: then the report has them.
    """
    most = max((row.clients for row in judgement.latches), default=0)
    mine: dict[str, list[LatchRow]] = {}
    for row in judgement.latches:
        if row.sleeps_only and row.clients == most:
            mine.setdefault(row.option, []).append(row)
    often = [sum(row.sleeps_per_txn or 0.0 for row in rows) for rows in mine.values()]
    if len(mine) > _MOST_OPTIONS or max(often, default=0.0) < _SLEEPS_PER_TXN_MIN:
        return None
    head = f"  sleeps at {fmt.count(most, about.point_is, about.points_are)}"
    return Table(
        (head, f"a {about.work_is}", "time asleep", "most of it for latch"),
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
    return fmt.quantity(total, "ns"), f"{first.latch}, {_share((first.wait_ns_per_txn or 0.0) / total)}"


def _share(value: float | None) -> str:
    return fmt.MISSING if value is None else f"{fmt.significant(100 * value)} %"


def _predicted(row: LatchRow) -> str:
    if not row.gets_per_s or row.predicted_gets_per_s is None:
        return fmt.MISSING
    error = fmt.change(row.predicted_gets_per_s / row.gets_per_s)
    return f"{fmt.significant(row.predicted_gets_per_s)}, {error}"
