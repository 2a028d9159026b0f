"""Ratios to the baseline with their intervals, over all and query by query; how long each query takes."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import geometric_mean
from typing import Any

from steelyard import quantities as fmt
from steelyard.analysis.judgement import Comparison, Judgement, Metric
from steelyard.report.charts.figure import Figure, Panel, Spec
from steelyard.report.charts.marks import cut_note, nominal, scaled, shape
from steelyard.report.charts.shapes import intervals
from steelyard.report.presented import Palette, Presented
from steelyard.report.presented.words import MARKS, WORDS, heading
from steelyard.report.table import Cell, Column, Row, Table, plain_table, ratio_of

_OUTCOME = (Column("", "mark"), Column("outcome"), Column("p, adjusted", "p", fmt.probability))
# any other standing, such as a leaning, proves nothing: a circle
_SHAPES = {
    "better": "triangle-up",
    "equivalent": "square",
    "inconclusive": "circle",
    "worse": "triangle-down",
}
# on a phone, longer labels stand above their interval: beside it they would leave no picture
_LONGEST_BESIDE = 14
_MANY = 8
_DIRECTIONS = {"lower": "← less is better", "higher": "more is better →", "neither": "ratio"}
_ROW_PX = 19
_BASELINE = {"ratio": "baseline", "mark": "·", "outcome": "", "p": ""}
_OPTIONS_MAX = 6


def _compared(item: Comparison) -> Row:
    return {
        "ratio": ratio_of(item),
        "mark": MARKS[item.standing],
        "outcome": WORDS[item.standing],
        "p": item.p_value,
        "blocks": item.blocks,
        "margin": item.margin,
        "shape": item.standing if item.standing in _SHAPES else "inconclusive",
    }


def _forest(
    table: Table, name: str, order: Sequence[str], direction: str, palette: Palette, px: int, above: int = 0
) -> Spec:
    """Rows of `_compared`, on a logarithmic axis. name: the field of their names; order: from above.

    px: height of a row; above: names stand over the intervals.
    """
    margin = table.data[0]["margin"]
    axis = None if above else {"domain": False, "labelPadding": 10}
    scale = {"domain": list(_SHAPES), "range": list(_SHAPES.values())}
    # 0 has no place on the axis
    drawn = replace(table, data=[row for row in table.data if row["ratio"].value])
    return intervals(
        drawn,
        nominal(name, None, sort=order, axis=axis, scale={"domain": order, "paddingOuter": 0.3}),
        scaled(drawn.data, "ratio", direction, 1 - 2 * margin, 1 + 2 * margin, ratios=True),
        (name, "ratio", "outcome", "p", "blocks"),
        90,
        px=len(table.data) * px,
        look={"shape": nominal("shape", None, scale=scale, legend=None)},
        palette=palette,
        at=1.0,
        margin=margin,
        above=above,
    )


def ratios(presented: Presented) -> Figure | None:
    """A panel for each of throughput, CPU per transaction and p99 that was compared."""
    rows: list[Spec] = [
        {"option": item.option, "metric": metric, **_compared(item)}
        for metric in presented.judged
        for item in presented.comparisons[metric.name]
    ]
    if not rows:
        return None
    baseline, palette = presented.judgement.baseline, presented.palette
    option, ratio = Column("option"), Column("ratio [95 % interval]", "ratio")
    table = Table((option, Column("metric", say=heading), ratio, *_OUTCOME, Column("blocks")), rows)
    parts = table.each("metric")
    panels = tuple(_ratios(metric, part, palette) for metric, part in parts.items())
    return Figure(
        "ratios",
        f"Compared with {baseline}",
        f"Ratio to the baseline {baseline}"
        f"{presented.over(f', {presented.mean} over ', ', at ')}, with"
        " its 95 % interval, adjusted for the number of options."
        f" Grey band: differences under {rows[0]['margin'] * 100:.3g} %, which the study calls too "
        f"small to matter.{cut_note(panels)}"
        f"{' A ratio of 0 has no place on the axis.' * any(not row['ratio'].value for row in rows)}",
        panels,
        table,
        layout="tabs" if len(next(iter(parts.values())).data) > _MANY else "grid",
        key="none" if palette.by_option else "fill",
    )


def _ratios(metric: Metric, table: Table, palette: Palette) -> Panel:
    order = list(table.each("option"))
    direction, px = _DIRECTIONS[metric.better], 26 if len(order) <= _MANY else 20
    long = max(map(len, order)) > _LONGEST_BESIDE
    return Panel(
        f"ratios-{metric.name}",
        heading(metric),
        _forest(table, "option", order, direction, palette, px),
        _forest(table, "option", order, direction, palette, 36, above=12) if long else None,
    )


def _longest_first(judgement: Judgement, clients: int) -> list[str]:
    """The queries from the longest to the shortest, under the baseline."""
    mine = [r for r in judgement.queries if r.clients == clients and r.option == judgement.baseline]
    return [row.query for row in sorted(mine, key=lambda row: -row.ns)]


def queries(presented: Presented) -> Figure | None:
    """Ratios, one panel per number of streams and option."""
    judgement, about, palette = presented.judgement, presented.about, presented.palette
    rows = [
        {
            **vars(row),
            "time": Cell(row.ns, unit="ns"),
            **(_compared(row.comparison) if row.comparison else _BASELINE),
        }
        for row in judgement.queries
    ]
    columns = Column(about.points_are, "clients"), *map(Column, ("query", "option", "time"))
    table = Table([*columns, Column("ratio [interval]", "ratio"), *_OUTCOME], rows)
    drawn = Table(table.columns, [row for row in rows if row["comparison"]])
    if not drawn.data:
        return None
    panels = tuple(
        Panel(
            f"queries-{clients}-{option}",
            f"{option}, {about.count(clients)}",
            _forest(part, "query", _longest_first(judgement, clients), "← shorter", palette, _ROW_PX),
        )
        for (clients, option), part in drawn.each("clients", "option").items()
    )
    return Figure(
        "queries",
        f"Query by query, compared with {judgement.baseline}",
        "Ratio of the time of each query to that under the baseline, with an interval that holds for the"
        f" {len(drawn.data)} comparisons together: of the differences marked ▲ or ▼, 5 % may be chance"
        f" (false discovery rate). Longest query on top.{cut_note(panels)}",
        panels,
        table,
        layout="grid" if len(panels) <= 2 else "tabs",
        key="none",
    )


def query_times(presented: Presented) -> Figure | None:
    """How long each query takes, one mark per option, one panel per number of streams."""
    judgement, about, palette = presented.judgement, presented.about, presented.palette
    rows = [{**vars(row), "ms": row.ns / 1e6, "time": Cell(row.ns, unit="ns")} for row in judgement.queries]
    points = Table((), rows).each("clients")
    if not points:
        return None
    head = (about.points_are, "option", "geometric mean", "all queries", "longest")
    return Figure(
        "query-times",
        "Time of each query",
        "Geometric mean over blocks of the mean over streams and rounds. Logarithmic scale.",
        tuple(
            Panel(
                f"query-times-{clients}",
                about.count(clients),
                _times(mine, palette, _longest_first(judgement, clients)),
            )
            for clients, mine in points.items()
        ),
        plain_table(head, _totals(Table((), rows))),
        layout="grid" if len(points) <= 2 else "tabs",
        key="line" if len(judgement.options) <= _OPTIONS_MAX else "none",
    )


def _times(table: Table, palette: Palette, order: list[str]) -> Spec:
    scale = {"domain": order, "paddingOuter": 0.3}
    return intervals(
        table,
        nominal("query", None, sort=order, scale=scale, axis={"grid": True}),
        scaled(table.data, "ms", "milliseconds", log=True, tickCount=6, grid=True),
        ("query", "option", "time"),
        70,
        px=len(order) * _ROW_PX,
        look={"shape": shape(palette, legend=False)},
        palette=palette,
    )


def _totals(table: Table) -> Iterator[tuple[Any, ...]]:
    """What the queries come to together, by number of streams and option."""
    for (clients, option), mine in table.each("clients", "option").items():
        ns = [row["ns"] for row in mine.data]
        totals = geometric_mean(ns), sum(ns), max(ns)
        yield clients, option, *(Cell(value, unit="ns") for value in totals)
