"""What more clients bring: throughput, % of linear, CPU per transaction and p99 over clients."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, pairwise

from steelyard import quantities as fmt
from steelyard.analysis.judgement.results import Estimate, Judgement, Metric
from steelyard.bundle.series.columns import Series, rows
from steelyard.report.charts.figure import Figure, Panel, Spec, Table, plain_axis, quantitative, view
from steelyard.report.charts.load.scaling_models import models_table
from steelyard.report.charts.theme import DASHES, Colours, paint
from steelyard.report.presented.ranking import heading, headline

_MOST_NOTES = 4


def figure(
    judgement: Judgement,
    series: Series,
    palette: Colours,
    points_are: str = "clients",
    point_is: str = "client",
) -> Figure | None:
    """Drawn only when the study has two points or more; curves of other bundles in grey behind."""
    shown = headline(judgement.metrics)
    metrics = [*shown.judged(), *([shown.each] if shown.each else [])]
    found = [
        (metric, [item for item in judgement.estimates if item.metric == metric.name and item.clients])
        for metric in metrics
    ]
    drawn = [(metric, items) for metric, items in found if len({item.clients for item in items}) > 1]
    if not drawn:
        return None
    overlays = rows(series.overlays)
    panels = [
        Panel(
            f"scaling-{metric.name}",
            heading(metric),
            _lines(metric, items, palette, overlays if metric == shown.throughput else [], points_are),
        )
        for metric, items in drawn
    ]
    if linear := _linear(judgement):
        metric = Metric("linear_percent", "% of linear", "", "higher")
        behind = [{**row, "tps": 100 * row["linear"]} for row in overlays]
        panels.insert(
            1, Panel("scaling-linear", metric.title, _lines(metric, linear, palette, behind, points_are))
        )
    models = models_table(judgement, point_is, points_are)
    return Figure(
        name="scaling",
        title=f"With more {points_are}",
        caption=f"Geometric mean over blocks at each number of {points_are}; the band is its 95 % interval."
        + (" In grey: " + ", ".join(dict.fromkeys(r["source"] for r in overlays)) if overlays else ""),
        panels=tuple(panels),
        table=_table(judgement, drawn, points_are),
        layout="grid",
        key="line",
        notes=tuple(f"{found.option}: {found.sentence}" for found in judgement.scaling[:_MOST_NOTES]),
        folded=(("Fitted models", models),) if models else (),
    )


def _linear(judgement: Judgement) -> list[Estimate]:
    """% of linear, as values without interval."""
    return [
        Estimate("linear_percent", one.option, p.clients, v, v, v, 0)
        for one in judgement.scaling
        for p in one.points
        for v in [100 * p.linear]
    ]


def _table(judgement: Judgement, drawn: Sequence[tuple[Metric, list[Estimate]]], points_are: str) -> Table:
    """A row an option and number of clients."""
    cells = {
        (item.option, item.clients, metric.name): fmt.interval(item.value, item.low, item.high, metric.unit)
        for metric, items in drawn
        for item in items
    }
    linear = {(item.option, item.clients): fmt.significant(item.value) for item in _linear(judgement)}
    points = dict.fromkeys((item.option, item.clients) for _, items in drawn for item in items)
    return Table(
        ("option", points_are, *(f"{heading(metric)} [95 % interval]" for metric, _ in drawn), "% of linear"),
        tuple(
            (
                option,
                str(clients),
                *(cells.get((option, clients, metric.name), fmt.MISSING) for metric, _ in drawn),
                linear.get((option, clients), fmt.MISSING),
            )
            for option, clients in points
        ),
    )


def _lines(
    metric: Metric, items: list[Estimate], palette: Colours, behind: list[Spec], points_are: str
) -> Spec:
    scale, unit = fmt.unit_for(max(item.value for item in items), metric.unit)
    every = paint(
        [
            {
                "option": item.option,
                "clients": item.clients,
                "value": item.value / scale,
                "low": item.low / scale,
                "high": item.high / scale,
                "text": fmt.interval(item.value, item.low, item.high, metric.unit),
            }
            for item in items
        ],
        palette,
    )
    ticks = sorted({item.clients for item in items if item.clients} | {row["clients"] for row in behind})
    evenly = len({b - a for a, b in pairwise(ticks)}) == 1
    scale_x = {"nice": False, "zero": False} if evenly else {"type": "log", "nice": False}
    x = quantitative("clients", points_are, scale=scale_x, axis={"values": ticks, "format": "d"})
    y = quantitative("value", unit or None, axis=plain_axis(tickCount=5), scale={"zero": True})
    colour = palette.encode()
    shape = {} if not palette.by_option else {"shape": palette.shape()}
    tip = [
        {"field": "option", "type": "nominal"},
        {"field": "clients", "type": "quantitative"},
        {"field": "text", "type": "nominal", "title": heading(metric)},
    ]
    detail = {"field": "option"}
    layers: list[Spec] = [
        {"mark": {"type": "line"}, "encoding": {"x": x, "y": y, "color": colour, "detail": detail}},
        {
            "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
            "encoding": {"x": x, "y": y, "color": colour, "detail": detail, **shape, "tooltip": tip},
        },
    ]
    if palette.by_option:
        layers.insert(
            0,
            {
                "mark": {"type": "area", "opacity": 0.18},
                "encoding": {
                    "x": x,
                    "y": {**y, "field": "low"},
                    "y2": {"field": "high"},
                    "color": colour,
                    "detail": detail,
                },
            },
        )
    layers = [*_behind(behind, scale, x, y), *layers]
    return view(220, layers, every)


def _behind(rows: list[Spec], scale: float, x: Spec, y: Spec) -> list[Spec]:
    """Curves of other bundles: grey, dashed each in its own way, named at their end."""
    if not rows:
        return []
    values = [
        {"source": row["source"], "clients": row["clients"], "value": row["tps"] / scale} for row in rows
    ]
    ends = {row["source"]: row for row in values}
    dash = {"field": "source", "type": "nominal", "scale": {"range": list(DASHES[1:])}, "legend": None}
    shared = {"x": x, "y": y, "detail": {"field": "source"}}
    return [
        {
            "data": {"values": values},
            "mark": {"type": "line", "style": "mutedline", "strokeWidth": 1.3},
            "encoding": {**shared, "strokeDash": dash},
        },
        *(
            {
                "data": {"values": [end]},
                # two ends that meet are named above and below
                "mark": {"type": "text", "style": "muted", "align": "right", "dy": dy, "fontSize": 10.5},
                "encoding": {**shared, "text": {"field": "source", "type": "nominal"}},
            }
            for end, dy in zip(ends.values(), cycle((-7, 11)), strict=False)
        ),
    ]
