"""What more clients bring: throughput, CPU per transaction and p99 over the number of clients."""

from __future__ import annotations

from steelyard.analysis.results import Estimate, Judgement, Metric
from steelyard.report import format as fmt
from steelyard.report.charts.figure import Figure, Panel, Spec, Table, plain_axis, quantitative, view
from steelyard.report.charts.theme import Colours, paint
from steelyard.report.ranking import heading, headline


def figure(judgement: Judgement, palette: Colours, points_are: str = "clients") -> Figure | None:
    """Drawn only when the study has two points or more."""
    shown = headline(judgement.metrics)
    metrics = [*shown.judged(), *([shown.each] if shown.each else [])]
    found = [
        (metric, [item for item in judgement.estimates if item.metric == metric.name and item.clients])
        for metric in metrics
    ]
    drawn = [(metric, items) for metric, items in found if len({item.clients for item in items}) > 1]
    if not drawn:
        return None
    return Figure(
        name="scaling",
        title=f"With more {points_are}",
        caption=f"Geometric mean over blocks at each number of {points_are}; the band is its 95 % interval.",
        panels=tuple(
            Panel(f"scaling-{metric.name}", heading(metric), _lines(metric, items, palette, points_are))
            for metric, items in drawn
        ),
        table=Table(
            ("option", "metric", points_are, "value [95 % interval]"),
            tuple(
                (
                    item.option,
                    heading(metric),
                    str(item.clients),
                    fmt.interval(item.value, item.low, item.high, metric.unit),
                )
                for metric, items in drawn
                for item in items
            ),
        ),
        layout="grid",
        key="line",
    )


def _lines(metric: Metric, items: list[Estimate], palette: Colours, points_are: str) -> Spec:
    scale, unit = fmt.unit_for(max(item.value for item in items), metric.unit)
    rows = paint(
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
    ticks = sorted({item.clients for item in items if item.clients})
    x = quantitative(
        "clients", points_are, scale={"type": "log", "nice": False}, axis={"values": ticks, "format": "d"}
    )
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
    return view(220, layers, rows)
