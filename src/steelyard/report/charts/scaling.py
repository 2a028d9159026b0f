"""What more clients bring: throughput, % of linear, CPU per transaction and p99; and the fitted models."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import cycle, pairwise

from steelyard import quantities as fmt
from steelyard.analysis.judgement import Judgement, Metric
from steelyard.analysis.judgement.scaling import Curve, Interval, Scaling, Serial
from steelyard.report.about import About
from steelyard.report.charts.figure import DASHES, Figure, Panel, Spec
from steelyard.report.charts.marks import bare_axis, cut_note, layer, nominal, quantitative, scaled, shape
from steelyard.report.charts.shapes import lines
from steelyard.report.presented import Palette, Presented
from steelyard.report.presented.words import heading
from steelyard.report.table import Cell, Column, Table, plain_table

_NOTES_MAX = 4
_LINEAR = Metric("linear_percent", "% of linear", "", "higher")
_MODELS = {"usl": "Universal Scalability Law", "shared-core": "shared core"}
_ERRORS = {"proportional": "in proportion", "absolute": "absolute"}
_HEAD = (
    "option", "errors", "model", "one {point}", "contention", "coherency",
    "part of a core beyond the cores", "peak at", "measured maximum at", "AICc", "residual SD",
    "lag-1 correlation",
)  # fmt: skip


def scaling(presented: Presented) -> Figure | None:
    """Drawn only when the study has two points or more; curves of other bundles in grey behind."""
    judgement, work = presented.judgement, presented.headlines.work
    points_are = presented.about.points_are
    candidates = dict.fromkeys((*presented.judged, *presented.headlines.scores))
    clients = {m: {e.clients for e in judgement.estimates if e.metric == m.name} for m in candidates}
    metrics = [metric for metric, points in clients.items() if len(points - {None}) > 1]
    if not metrics:
        return None
    table = _table(judgement, metrics, points_are)
    # the points of other bundles, each curve under its bundle's name and its option
    overlays: list[Spec] = [
        {
            "source": f"{name} {scaling.option}",
            "clients": point.clients,
            "value": point.throughput_per_s,
            "linear": point.linear,
        }
        for name, scalings in presented.overlays
        for scaling in scalings
        for point in scaling.points
    ]
    behind = {work: overlays, _LINEAR: [{**row, "value": 100 * row["linear"]} for row in overlays]}
    drawn = [metrics[0], *([_LINEAR] if judgement.scaling else []), *metrics[1:]]
    panels = tuple(
        Panel(
            f"scaling-{'linear' if metric is _LINEAR else metric.name}",
            heading(metric),
            _lines(table, metric, presented.palette, behind.get(metric, [])),
        )
        for metric in drawn
    )
    models = _models(presented)
    return Figure(
        "scaling",
        f"With more {points_are}",
        f"Geometric mean over blocks at each number of {points_are}"
        + (
            "; the band is its 95 % interval."
            if any(
                row.get("low") != row.get("high") for panel in panels for row in panel.spec["data"]["values"]
            )
            else "."
        )
        + cut_note(panels)
        + (" In grey: " + ", ".join(dict.fromkeys(r["source"] for r in overlays)) if overlays else ""),
        panels,
        table,
        layout="grid",
        key="line",
        notes=tuple(f"{found.option}: {found.sentence}" for found in judgement.scaling[:_NOTES_MAX]),
        folded=(("Fitted models", models),) if models else (),
    )


def _table(judgement: Judgement, metrics: Sequence[Metric], points_are: str) -> Table:
    """One row per option and number of clients, a column per metric."""
    shown = {metric.name: metric for metric in metrics}
    rows: dict[tuple[str, int], dict[str, Cell | None]] = {}
    for e in sorted(judgement.estimates, key=lambda e: e.metric != metrics[0].name):
        if e.metric in shown and e.clients:
            row = rows.setdefault((e.option, e.clients), dict.fromkeys((*shown, _LINEAR.name)))
            row[e.metric] = Cell(e.value, e.low, e.high, shown[e.metric].unit)
    for one in judgement.scaling:
        for p in one.points:
            known = math.isfinite(p.linear_high)
            low, high = (p.linear_low, p.linear_high) if known else (p.linear, p.linear)
            rows.get((one.option, p.clients), {})[_LINEAR.name] = Cell(100 * p.linear, 100 * low, 100 * high)
    return Table(
        [
            Column("option"),
            Column(points_are, "clients"),
            *(Column(f"{heading(metric)} [95 % interval]", metric.name) for metric in (*metrics, _LINEAR)),
        ],
        [{"option": option, "clients": clients, **cells} for (option, clients), cells in rows.items()],
    )


def _lines(table: Table, metric: Metric, palette: Palette, behind: list[Spec]) -> Spec:
    known = [row for row in table.data if row[metric.name] is not None]
    scale, unit = fmt.unit_for(max(row[metric.name].value for row in known), metric.unit)
    by_option = palette.by_option
    rows = [{**row, "value": row[metric.name].over(scale, by_option)} for row in known]
    behind = [{**row, "value": row["value"] / scale} for row in behind]
    ticks = sorted({row["clients"] for row in (*rows, *behind)})
    evenly = len({b - a for a, b in pairwise(ticks)}) == 1
    scale_x = {"nice": False, "zero": False} if evenly else {"type": "log", "nice": False}
    points = table.column("clients").title
    x = quantitative("clients", points, scale=scale_x, axis={"values": ticks, "format": "d"})
    y = scaled(rows, "value", unit or None, *[row["value"] for row in behind], **bare_axis(tickCount=5))
    return lines(
        replace(table, data=rows),
        x,
        y,
        ("option", "clients", metric.name),
        height=220,
        look={"detail": {"field": "option"}},
        palette=palette,
        size=60,
        points_only={"shape": shape(palette)} if by_option else {},
        behind=_behind(behind, x, y),
    )


def _behind(rows: list[Spec], x: Spec, y: Spec) -> list[Spec]:
    """Curves of other bundles: grey, dashed each in its own way, named at their end."""
    if not rows:
        return []
    ends = {row["source"]: row for row in rows}
    dashes = nominal("source", None, scale={"range": list(DASHES[1:])}, legend=None)
    shared = {"x": x, "y": y, "detail": {"field": "source"}}
    line = {**shared, "strokeDash": dashes}
    name = {**shared, "text": nominal("source", None)}
    return [
        layer("line", line, rows=rows, style="mutedline", strokeWidth=1.3),
        *(
            # two ends that meet are named above and below
            layer("text", name, rows=[end], dy=dy, style="muted", align="right", fontSize=10.5)
            for end, dy in zip(ends.values(), cycle((-7, 11)), strict=False)
        ),
    ]


def _models(presented: Presented) -> Table | None:
    """A row per option, kind of errors and model, the best model first; None without any curve."""
    about = presented.about
    rows = [
        _row(found, curve, about)
        for found in presented.judgement.scaling
        for curve in (*found.curves, *found.absolute)
    ]
    return plain_table((name.format(point=about.point_is) for name in _HEAD), rows) if rows else None


def _row(found: Scaling, curve: Curve, about: About) -> tuple[str, ...]:
    known = curve.parameters
    most = found.maximum
    return (
        found.option,
        _ERRORS[curve.errors],
        _MODELS[curve.model],
        _value(known["lambda"], "/s"),
        _value(known["sigma"], "%"),
        _value(known.get("kappa")),
        _value(known.get("yield"), "%"),
        _value(curve.peak),
        f"{about.count(most.clients)}, {fmt.quantity(most.throughput_per_s, '/s')}"
        + (" (the last point)" if most.last else ""),
        fmt.MISSING if curve.aicc is None else f"{curve.aicc:.1f}",
        f"{fmt.significant(100 * curve.residual_sd)} %"
        if curve.errors == "proportional"
        else fmt.quantity(curve.residual_sd, "/s"),
        _correlation(curve.serial),
    )


def _value(interval: Interval | None, unit: str = "") -> str:
    """`2.05 % [1.58 to 2.53]`; `∞` for a peak that there is none of."""
    if interval is None:
        return fmt.MISSING
    times = 100.0 if unit == "%" else 1.0
    if math.isnan(interval.low):
        return f"{fmt.with_unit(fmt.significant(times * interval.value), unit)} [no interval]"
    return fmt.interval(times * interval.value, times * interval.low, times * interval.high, unit)


def _correlation(found: Serial | None) -> str:
    if found is None:
        return fmt.MISSING
    text = f"{found.lag1:.2f}, p = {found.p_value:.2g}"
    return f"{text}: a trend is missed" if found.trend else text
