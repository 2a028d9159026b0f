"""Each query by itself: its ratio to the baseline with an interval."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard import quantities as fmt
from steelyard.analysis.judgement.results import Comparison, Judgement, QueryRow
from steelyard.report.about.about import About
from steelyard.report.charts.domain import cut_note
from steelyard.report.charts.figure import Figure, Panel, Spec
from steelyard.report.charts.forest import forest
from steelyard.report.charts.queries.order import ROW_PX, longest_first, streams
from steelyard.report.presented.marks import MARKS, WORDS
from steelyard.report.presented.palette import Palette
from steelyard.report.presented.presented import Presented
from steelyard.report.text_table import Table


def figure(presented: Presented) -> Figure | None:
    """Ratios, one panel per number of streams and option."""
    judgement, about, palette = presented.judgement, presented.about, presented.palette
    compared = [(row, row.comparison) for row in judgement.queries if row.comparison]
    if not compared:
        return None
    places = list(dict.fromkeys((row.clients, row.option) for row, _ in compared))
    panels = tuple(
        Panel(
            f"queries-{clients}-{option}",
            f"{option}, {streams(clients, about)}",
            _ratios([c for row, c in compared if (row.clients, row.option) == (clients, option)], palette,
                    longest_first(judgement, clients)),
        )
        for clients, option in places
    )  # fmt: skip
    return Figure(
        name="queries",
        title=f"Query by query, compared with {judgement.baseline}",
        caption=(
            "Ratio of the time of each query to that under the baseline, with an interval that holds for the"
            f" {len(compared)} comparisons together: of the differences marked ▲ or ▼, 5 % may be chance"
            f" (false discovery rate). Longest query on top.{cut_note(panels)}"
        ),
        panels=panels,
        table=_table(judgement, about),
        layout="grid" if len(places) <= 2 else "tabs",
        key="none",
    )


def _ratios(items: Sequence[Comparison], palette: Palette, order: list[str]) -> Spec:
    """Rows of the forest are queries, which it knows as options."""
    return forest(
        [(c.metric.removeprefix("query_").removesuffix("_ns"), c) for c in items],
        order,
        "← shorter",
        palette,
        ROW_PX,
    )


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
        MARKS[c.standing],
        WORDS[c.standing],
        fmt.probability(c.p_value),
    )
