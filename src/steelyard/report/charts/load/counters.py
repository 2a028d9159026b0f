"""What the study's own queries counted: a table per monitor, each series per second and per transaction."""

from __future__ import annotations

from typing import Any

from steelyard import quantities as fmt
from steelyard.bundle.series.columns import rows
from steelyard.report.charts.figure import Figure
from steelyard.report.presented.presented import Presented
from steelyard.report.text_table import Table

# of one monitor, in a page; the bundle has all
_ROWS_MAX = 60
_TOTAL = "_total"


def figure(presented: Presented) -> Figure | None:
    """None without monitors by SQL. Counters that grew most stand first."""
    by_monitor: dict[str, list[dict[str, Any]]] = {}
    for row in rows(presented.series.counters):
        by_monitor.setdefault(str(row["monitor"]), []).append(row)
    if not by_monitor:
        return None
    about = presented.about
    most = max(int(row["clients"]) for mine in by_monitor.values() for row in mine)
    tables = {f"Monitor {name}": _table(mine, presented) for name, mine in by_monitor.items()}
    (first, table), *others = tables.items()
    return Figure(
        name="counters-by-sql",
        title="Counters by SQL",
        caption=f"Growth in the measure phase at {fmt.count(most, about.point_is, about.points_are)}, medians"
        " over runs. A counter that did not grow is left out.",
        panels=(),
        table=table,
        notes=tuple(dict.fromkeys(_note(row) for mine in by_monitor.values() for row in mine)),
        open=True,
        numbers=first,
        folded=tuple(others),
    )


def _table(mine: list[dict[str, Any]], presented: Presented) -> Table:
    lines = tuple(
        (
            _name(row["counter"]),
            "" if row["series"] == row["monitor"] else str(row["series"]),
            str(row["option"]),
            fmt.quantity(row["per_s"], row["unit"]),
            fmt.MISSING if row["per_txn"] is None else fmt.quantity(row["per_txn"], row["unit"]),
        )
        for row in mine[:_ROWS_MAX]
    )
    return Table(("counter", "series", "option", "per second", f"per {presented.cost_of}"), lines)


def _name(counter: str) -> str:
    return counter.removesuffix(_TOTAL)


def _note(row: dict[str, Any]) -> str:
    return f"{row['monitor']}, {_name(row['counter'])}: {row['meaning']}."
