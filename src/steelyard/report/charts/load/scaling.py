"""What more clients bring: throughput, % of linear, CPU per transaction and p99 over clients."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import cycle, pairwise

from steelyard import quantities as fmt
from steelyard.analysis.judgement.results import Estimate, Judgement, Metric
from steelyard.analysis.judgement.scaling import Scaling
from steelyard.report.charts.domain import arrows, cut_note, domain_of, drawn_interval
from steelyard.report.charts.figure import Figure, Panel, Spec
from steelyard.report.charts.load.scaling_models import models_table
from steelyard.report.charts.marks import colour, paint, plain_axis, quantitative, shape, view
from steelyard.report.charts.theme import DASHES
from steelyard.report.presented.headings import heading
from steelyard.report.presented.palette import Palette
from steelyard.report.presented.presented import Presented
from steelyard.report.text_table import Table

_NOTES_MAX = 4


def figure(presented: Presented) -> Figure | None:
    """Drawn only when the study has two points or more; curves of other bundles in grey behind."""
    judgement, palette, work = presented.judgement, presented.palette, presented.headlines.work
    points_are = presented.about.points_are
    metrics = dict.fromkeys((*presented.judged, *presented.headlines.scores))
    found = [
        (metric, [item for item in judgement.estimates if item.metric == metric.name and item.clients])
        for metric in metrics
    ]
    drawn = [(metric, items) for metric, items in found if len({item.clients for item in items}) > 1]
    if not drawn:
        return None
    overlays = _overlaid(presented.overlays)
    panels = [
        Panel(
            f"scaling-{metric.name}",
            heading(metric),
            _lines(metric, items, palette, overlays if metric == work else [], points_are),
        )
        for metric, items in drawn
    ]
    if linear := _linear(judgement):
        metric = Metric("linear_percent", "% of linear", "", "higher")
        behind = [{**row, "tps": 100 * row["linear"]} for row in overlays]
        panels.insert(
            1, Panel("scaling-linear", metric.title, _lines(metric, linear, palette, behind, points_are))
        )
    models = models_table(presented)
    return Figure(
        name="scaling",
        title=f"With more {points_are}",
        caption=f"Geometric mean over blocks at each number of {points_are}"
        + ("; the band is its 95 % interval." if _banded(panels) else ".")
        + cut_note(panels)
        + (" In grey: " + ", ".join(dict.fromkeys(r["source"] for r in overlays)) if overlays else ""),
        panels=tuple(panels),
        table=_table(judgement, drawn, points_are),
        layout="grid",
        key="line",
        notes=tuple(f"{found.option}: {found.sentence}" for found in judgement.scaling[:_NOTES_MAX]),
        folded=(("Fitted models", models),) if models else (),
    )


def _banded(panels: Sequence[Panel]) -> bool:
    return any(row.get("low") != row.get("high") for panel in panels for row in panel.spec["data"]["values"])


def _overlaid(overlays: Sequence[tuple[str, Sequence[Scaling]]]) -> list[Spec]:
    """The points of other bundles, each curve under its bundle's name and its option."""
    return [
        {
            "source": f"{name} {scaling.option}",
            "clients": point.clients,
            "tps": point.throughput_per_s,
            "linear": point.linear,
        }
        for name, scalings in overlays
        for scaling in scalings
        for point in scaling.points
    ]


def _linear(judgement: Judgement) -> list[Estimate]:
    """% of linear, with its interval where there is one."""
    return [
        Estimate("linear_percent", one.option, p.clients, 100 * p.linear, 100 * low, 100 * high, 0)
        for one in judgement.scaling
        for p in one.points
        for known in [math.isfinite(p.linear_high)]
        for low, high in [(p.linear_low, p.linear_high) if known else (p.linear, p.linear)]
    ]


def _table(judgement: Judgement, drawn: Sequence[tuple[Metric, list[Estimate]]], points_are: str) -> Table:
    """One row per option and number of clients."""
    cells = {
        (item.option, item.clients, metric.name): fmt.interval(item.value, item.low, item.high, metric.unit)
        for metric, items in drawn
        for item in items
    }
    percent = Metric("linear_percent", "% of linear", "", "higher")
    linear = {(item.option, item.clients): _text(item, percent) for item in _linear(judgement)}
    points = dict.fromkeys((item.option, item.clients) for _, items in drawn for item in items)
    return Table(
        (
            "option",
            points_are,
            *(f"{heading(metric)} [95 % interval]" for metric, _ in drawn),
            "% of linear [95 % interval]",
        ),
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


def _text(item: Estimate, metric: Metric) -> str:
    """With its interval; a value without one, such as 100 % of linear, alone."""
    if item.low == item.high:
        return fmt.with_unit(fmt.significant(item.value), metric.unit)
    return fmt.interval(item.value, item.low, item.high, metric.unit)


def _lines(
    metric: Metric, items: list[Estimate], palette: Palette, behind: list[Spec], points_are: str
) -> Spec:
    scale, unit = fmt.unit_for(max(item.value for item in items), metric.unit)
    ends = [drawn_interval(item.low / scale, item.high / scale) for item in items]
    shown = domain_of(
        [value / scale for value in (*(item.value for item in items), *(row["tps"] for row in behind))],
        [end for both in ends for end in both] if palette.by_option else [],
    )
    every = paint(
        [
            shown.clip(
                {
                    "option": item.option,
                    "clients": item.clients,
                    "value": item.value / scale,
                    "low": low,
                    "high": high,
                    "text": _text(item, metric),
                }
            )
            for item, (low, high) in zip(items, ends, strict=True)
        ],
        palette,
    )
    ticks = sorted({item.clients for item in items if item.clients} | {row["clients"] for row in behind})
    evenly = len({b - a for a, b in pairwise(ticks)}) == 1
    scale_x = {"nice": False, "zero": False} if evenly else {"type": "log", "nice": False}
    x = quantitative("clients", points_are, scale=scale_x, axis={"values": ticks, "format": "d"})
    y = quantitative("value", unit or None, axis=plain_axis(tickCount=5), scale=shown.scale)
    coloured = colour(palette)
    shaped = {} if not palette.by_option else {"shape": shape(palette)}
    tip = [
        {"field": "option", "type": "nominal"},
        {"field": "clients", "type": "quantitative"},
        {"field": "text", "type": "nominal", "title": heading(metric)},
    ]
    detail = {"field": "option"}
    layers: list[Spec] = [
        {"mark": {"type": "line"}, "encoding": {"x": x, "y": y, "color": coloured, "detail": detail}},
        {
            "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
            "encoding": {"x": x, "y": y, "color": coloured, "detail": detail, **shaped, "tooltip": tip},
        },
    ]
    if palette.by_option:
        place = {"x": x, "y": y, "color": coloured, "detail": detail}
        band = {**place, "y": {**y, "field": "low"}, "y2": {"field": "high"}}
        layers.insert(0, {"mark": {"type": "area", "opacity": 0.18}, "encoding": band})
        layers += arrows(every, "y", {**place, "tooltip": tip})
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
    dashes = {"field": "source", "type": "nominal", "scale": {"range": list(DASHES[1:])}, "legend": None}
    shared = {"x": x, "y": y, "detail": {"field": "source"}}
    return [
        {
            "data": {"values": values},
            "mark": {"type": "line", "style": "mutedline", "strokeWidth": 1.3},
            "encoding": {**shared, "strokeDash": dashes},
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
