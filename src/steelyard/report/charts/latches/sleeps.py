"""Gets and sleeps of the latches of a live server: how often, how long."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard import quantities as fmt
from steelyard.analysis.judgement.latches import LatchRow
from steelyard.report.about.about import About
from steelyard.report.charts.domain import domain_of
from steelyard.report.charts.figure import Figure, Panel, Spec
from steelyard.report.charts.marks import colour, nominal, paint, quantitative, shape, view
from steelyard.report.presented.palette import Palette
from steelyard.report.presented.presented import Presented
from steelyard.report.text_table import Table, known, percent, time, whole

_LATCHES_MAX = 8
_UNSEEN = "Neither gets (--latch-count counts them) nor misses of these latches were recorded"
_COUNTED = (
    "Gets were counted by sampling, in a diagnostic phase that is not measured because counting slows the"
    " server down; misses cannot be counted"
)


def figure(presented: Presented) -> Figure | None:
    """None where neither gets nor sleeps were recorded. One table per option, the baseline's open."""
    judgement, about = presented.judgement, presented.about
    rows = [row for row in judgement.latches if row.sleeps_only]
    counted = any(row.gets_per_txn is not None for row in rows)
    if not counted and not any(row.sleeps for row in rows):
        return None
    tables = {
        option: _table([row for row in rows if row.option == option], about)
        for option in dict.fromkeys(row.option for row in rows)
    }
    first = judgement.baseline if judgement.baseline in tables else next(iter(tables))
    panel = _panel(rows, about, presented.palette)
    return Figure(
        name="sleeps",
        title="Gets of the server's latches, and sleeps for them"
        if counted
        else "Sleeps for the server's latches",
        caption=f"Of all the server's processes, all runs pooled: sums over runs, not the geometric"
        f" means of the table of costs. {_COUNTED if counted else _UNSEEN}:"
        " sleeps are a lower bound of misses, because a miss that gets its latch before it sleeps is not"
        " counted.",
        panels=(panel,) if panel else (),
        table=tables[first],
        key="line" if panel else "none",
        open=True,
        numbers=first,
        folded=tuple((option, table) for option, table in tables.items() if option != first),
    )


def _table(rows: Sequence[LatchRow], about: About) -> Table:
    return Table(
        (
            "latch",
            about.points_are,
            f"gets per {about.work_is}",
            "misses",
            "sleeps",
            "time asleep",
            f"sleeps per {about.work_is}",
            f"asleep per {about.work_is}",
            "wait per sleep",
            "% sleeps per get",
        ),
        tuple(
            (
                row.latch,
                str(row.clients),
                known(row.gets_per_txn),
                fmt.MISSING,
                known(row.sleeps, whole),
                known(row.wait_ns, time),
                known(row.sleeps_per_txn),
                known(row.wait_ns_per_txn, time),
                known(row.wait_per_sleep_ns, time) if row.sleeps else "",
                known(row.sleeps_per_get, percent),
            )
            for row in sorted(
                rows, key=lambda row: (row.clients, -(row.wait_ns or 0.0), -(row.gets_per_txn or 0.0))
            )
        ),
    )


def _panel(rows: Sequence[LatchRow], about: About, palette: Palette) -> Panel | None:
    """Time asleep per transaction by latch, with the most clients; the foremost latches."""
    most = max(row.clients for row in rows)
    drawn: list[Spec] = [
        {
            "option": row.option,
            "latch": row.latch,
            "us": (row.wait_ns_per_txn or 0.0) / 1e3,
            "text": known(row.wait_ns_per_txn, time),
        }
        for row in rows
        if row.clients == most and row.sleeps
    ]
    if not drawn:
        return None
    weight: dict[str, float] = {}
    for item in drawn:
        weight[item["latch"]] = max(weight.get(item["latch"], 0.0), item["us"])
    order = sorted(weight, key=lambda latch: -weight[latch])[:_LATCHES_MAX]
    x = quantitative("us", f"asleep, µs per {about.work_is}", axis={"grid": True, "tickCount": 6})
    mark = {"type": "point", "filled": True, "size": 70, "opacity": 1}
    encoding = {
        "y": nominal("latch", None, sort=order, axis={"labelLimit": 170, "grid": True}),
        "x": {**x, "scale": domain_of(item["us"] for item in drawn).scale},
        "color": colour(palette),
        "shape": shape(palette),
        "tooltip": [
            {"field": "option", "type": "nominal"},
            {"field": "latch", "type": "nominal"},
            {"field": "text", "type": "nominal", "title": f"asleep per {about.work_is}"},
        ],
    }
    kept = [item for item in drawn if item["latch"] in order]
    return Panel(
        "sleeps",
        f"Time asleep with {fmt.count(most, about.point_is, about.points_are)}",
        view(30 * len(order) + 40, [{"mark": mark, "encoding": encoding}], paint(kept, palette)),
    )
