"""Each query by itself: its ratio to the baseline with an interval, and how long it takes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from steelyard import quantities as fmt
from steelyard.analysis.judgement.results import Comparison, Judgement, QueryRow
from steelyard.report.about.about import About
from steelyard.report.charts.answer.ratios import intervals
from steelyard.report.charts.figure import Figure, Panel, Spec, Table, nominal, quantitative, view
from steelyard.report.charts.theme import Colours, paint
from steelyard.report.presented.ranking import MARKS

_ROW_PX = 19
_MOST_OPTIONS = 6


def figure(judgement: Judgement, about: About, palette: Colours) -> Figure | None:
    """Ratios, a panel a number of streams and option."""
    compared = [(row, row.comparison) for row in judgement.queries if row.comparison]
    if not compared:
        return None
    places = list(dict.fromkeys((row.clients, row.option) for row, _ in compared))
    return Figure(
        name="queries",
        title=f"Query by query, compared with {judgement.baseline}",
        caption=(
            "Ratio of the time of each query to that under the baseline, with an interval that holds for the"
            f" {len(compared)} comparisons together: of the differences marked ▲ or ▼, 5 % may be chance"
            " (false discovery rate). Longest query on top."
        ),
        panels=tuple(
            Panel(
                f"queries-{clients}-{option}",
                f"{option}, {_streams(clients, about)}",
                _ratios([c for row, c in compared if (row.clients, row.option) == (clients, option)], palette,
                        _longest_first(judgement, clients)),
            )
            for clients, option in places
        ),
        table=_table(judgement, about),
        layout="grid" if len(places) <= 2 else "tabs",
        key="none",
    )  # fmt: skip


def times(judgement: Judgement, about: About, palette: Colours) -> Figure | None:
    """How long each query takes, a point an option, a panel a number of streams."""
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
                _streams(clients, about),
                _times([row for row in judgement.queries if row.clients == clients], palette,
                       _longest_first(judgement, clients)),
            )
            for clients in points
        ),
        table=_totals(judgement, about),
        layout="grid" if len(points) <= 2 else "tabs",
        key="line" if len(judgement.options) <= _MOST_OPTIONS else "none",
    )  # fmt: skip


def _streams(clients: int, about: About) -> str:
    return fmt.count(clients, about.point_is, about.points_are)


def _longest_first(judgement: Judgement, clients: int) -> list[str]:
    mine = [r for r in judgement.queries if r.clients == clients and r.option == judgement.baseline]
    return [row.query for row in sorted(mine, key=lambda row: -row.ns)]


def _ratios(items: Sequence[Comparison], palette: Colours, order: list[str]) -> Spec:
    """Rows of the forest are queries, which it knows as options."""
    return intervals(
        [(c.metric.removeprefix("query_").removesuffix("_ns"), c) for c in items],
        order,
        "← shorter",
        palette,
        _ROW_PX,
    )


def _times(items: Sequence[QueryRow], palette: Colours, order: list[str]) -> Spec:
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
    x = quantitative(
        "ms", "milliseconds", scale={"type": "log", "nice": False}, axis={"tickCount": 6, "grid": True}
    )
    point: Spec = {
        "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1},
        "encoding": {
            "y": y,
            "x": x,
            "color": palette.encode(legend=not palette.by_option),
            "shape": palette.shape(legend=False),
            "tooltip": [
                {"field": "query", "type": "nominal"},
                {"field": "option", "type": "nominal"},
                {"field": "text", "type": "nominal", "title": "time"},
            ],
        },
    }
    return view(len(order) * _ROW_PX, [point], rows)


def _table(judgement: Judgement, about: About) -> Table:
    return Table(
        (about.points_are, "query", "option", "time", "ratio [interval]", "", "outcome", "p, adjusted"),
        tuple(_cells(row, row.comparison) for row in judgement.queries),
    )


def _cells(row: QueryRow, c: Comparison | None) -> tuple[str, ...]:
    place = (str(row.clients), row.query, row.option, fmt.quantity(row.ns, "ns"))
    if c is None:
        return (*place, "baseline", "·", "", "")
    return (
        *place,
        fmt.ratio(c.ratio, c.low, c.high),
        MARKS[c.outcome],
        c.outcome,
        fmt.probability(c.p_value),
    )


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
