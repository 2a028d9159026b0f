"""How long each query takes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from steelyard import quantities as fmt
from steelyard.analysis.judgement.results import Judgement, QueryRow
from steelyard.report.about.about import About
from steelyard.report.charts.domain import domain_of
from steelyard.report.charts.figure import Figure, Panel, Spec
from steelyard.report.charts.marks import colour, nominal, paint, quantitative, shape, view
from steelyard.report.charts.queries.order import ROW_PX, longest_first, streams
from steelyard.report.presented.palette import Palette
from steelyard.report.presented.presented import Presented
from steelyard.report.text_table import Table

_OPTIONS_MAX = 6


def figure(presented: Presented) -> Figure | None:
    """How long each query takes, one mark per option, one panel per number of streams."""
    judgement, about, palette = presented.judgement, presented.about, presented.palette
    if not judgement.queries:
        return None
    points = list(dict.fromkeys(row.clients for row in judgement.queries))
    return Figure(
        name="query-times",
        title="Time of each query",
        caption="Geometric mean over blocks of the mean over streams and rounds. Logarithmic scale.",
        panels=tuple(
            Panel(
                f"query-times-{clients}",
                streams(clients, about),
                _times([row for row in judgement.queries if row.clients == clients], palette,
                       longest_first(judgement, clients)),
            )
            for clients in points
        ),
        table=_totals(judgement, about),
        layout="grid" if len(points) <= 2 else "tabs",
        key="line" if len(judgement.options) <= _OPTIONS_MAX else "none",
    )  # fmt: skip


def _times(items: Sequence[QueryRow], palette: Palette, order: list[str]) -> Spec:
    rows = paint(
        [
            {
                "option": row.option,
                "query": row.query,
                "ms": row.ns / 1e6,
                "text": fmt.quantity(row.ns, "ns"),
            }
            for row in items
        ],
        palette,
    )
    y = nominal("query", None, sort=order, scale={"domain": order, "paddingOuter": 0.3}, axis={"grid": True})
    scale = domain_of((row["ms"] for row in rows), log=True).scale
    x = quantitative("ms", "milliseconds", scale=scale, axis={"tickCount": 6, "grid": True})
    point: Spec = {
        "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1},
        "encoding": {
            "y": y,
            "x": x,
            "color": colour(palette, legend=not palette.by_option),
            "shape": shape(palette, legend=False),
            "tooltip": [
                {"field": "query", "type": "nominal"},
                {"field": "option", "type": "nominal"},
                {"field": "text", "type": "nominal", "title": "time"},
            ],
        },
    }
    return view(len(order) * ROW_PX, [point], rows)


def _totals(judgement: Judgement, about: About) -> Table:
    """What the queries come to together, by number of streams and option."""
    rows = judgement.queries
    found: list[tuple[str, ...]] = []
    for clients, option in dict.fromkeys((row.clients, row.option) for row in rows):
        mine = [row.ns for row in rows if (row.clients, row.option) == (clients, option)]
        mean = math.exp(sum(map(math.log, mine)) / len(mine))
        shown = (fmt.quantity(ns, "ns") for ns in (mean, sum(mine), max(mine)))
        found.append((str(clients), option, *shown))
    return Table((about.points_are, "option", "geometric mean", "all queries", "longest"), tuple(found))
