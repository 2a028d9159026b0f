"""How long a latch was held and waited for: with the fewest workers and with the most."""

from __future__ import annotations

from typing import Any

from steelyard import quantities as fmt
from steelyard.bundle.series.columns import rows
from steelyard.report.about.about import About
from steelyard.report.charts.figure import Figure, Panel
from steelyard.report.charts.quantiles import quantile_curves
from steelyard.report.presented.presented import Presented
from steelyard.report.text_table import Table

_IN_TABLE = (0.5, 0.9, 0.99, 0.999, 0.9999)


def figure(presented: Presented) -> Figure | None:
    """None where times of holds were not taken."""
    about, palette = presented.about, presented.palette
    data = [
        row
        for row in rows(presented.series.latch_times)
        if row["ns"] is not None and 0 <= row["quantile"] < 1
    ]
    if not data:
        return None
    points = sorted({int(row["clients"]) for row in data})
    chosen = [
        (kind, clients, mine)
        for kind in ("hold", "wait")
        for clients in dict.fromkeys((points[0], points[-1]))
        if (mine := [row for row in data if (row["kind"], int(row["clients"])) == (kind, clients)])
    ]
    # with one worker nothing waits: all its times are 0, which no logarithmic axis has
    drawn = [one for one in chosen if any(row["ns"] > 0 for row in one[2])]
    without = [
        f"No {kind}s with {fmt.count(clients, about.point_is, about.points_are)}: no panel."
        for kind, clients, _ in (one for one in chosen if one not in drawn)
    ]
    return Figure(
        name="latch-times",
        title="Holds and waits",
        caption="By share that were shorter; waits are those of gets that missed. A hold includes the time in"
        " which its holder had no CPU: that is the tail. Geometric mean over runs of the runs' own "
        + " ".join(["quantiles.", *without]),
        panels=tuple(
            Panel(
                f"latch-{kind}-{clients}",
                f"{kind.capitalize()}, {fmt.count(clients, about.point_is, about.points_are)}",
                quantile_curves(mine, palette, f"{kind}s", "µs"),
            )
            for kind, clients, mine in drawn
        ),
        table=_table(chosen, about),
        layout="grid",
        key="dash",
    )


def _table(chosen: list[tuple[str, int, list[dict[str, Any]]]], about: About) -> Table:
    lines: list[tuple[str, ...]] = []
    for kind, clients, mine in chosen:
        for option in dict.fromkeys(str(row["option"]) for row in mine):
            at = {row["quantile"]: row["ns"] for row in mine if row["option"] == option}
            cells = (fmt.quantity(at[q], "ns") if q in at else fmt.MISSING for q in _IN_TABLE)
            lines.append((option, kind, str(clients), *cells))
    head = ("option", "of a", about.points_are, *(f"p{q * 100:g}" for q in _IN_TABLE))
    return Table(head, tuple(lines))
