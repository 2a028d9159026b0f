"""Caches, evictions, memory while the load went on: what fills, and what is never given back."""

from __future__ import annotations

from typing import Any

from steelyard import quantities as fmt
from steelyard.bundle.series.columns import rows
from steelyard.report.charts.figure import Figure, Panel, Spec, slug
from steelyard.report.charts.marks import colour, dash, paint, plain_axis, quantitative, view
from steelyard.report.presented.palette import Palette
from steelyard.report.presented.presented import Presented
from steelyard.report.text_table import Table

Key = tuple[str, str, str]


def figure(presented: Presented) -> Figure | None:
    """One panel per gauge, one line per option; the dashed line is the limit of the gauge."""
    grouped: dict[Key, list[dict[str, Any]]] = {}
    for row in rows(presented.series.gauges):
        if row["value"] is not None:
            key = (str(row["monitor"]), str(row["entity"]), str(row["metric"]))
            grouped.setdefault(key, []).append(row)
    if not grouped:
        return None
    return Figure(
        name="gauges",
        title="Caches and memory",
        caption=(
            "Medians over runs, from the start of measure. A dashed line marks the limit, where one is known."
        ),
        panels=tuple(
            Panel(
                f"gauge-{slug('-'.join(key))}", _title(key, data[0]["unit"]), _lines(data, presented.palette)
            )
            for key, data in grouped.items()
        ),
        table=_table(grouped),
        layout="grid",
        key="dash",
    )


def _title(key: Key, unit: str) -> str:
    _, entity, metric = key
    words = metric.split("_")
    if unit and len(words) > 1:
        words = words[:-1]
    title = " ".join(words)
    return f"{title[:1].upper()}{title[1:]}" + (f", {entity}" if entity else "")


def _lines(data: list[dict[str, Any]], palette: Palette) -> Spec:
    top = max(abs(row["value"]) for row in data)
    scale, unit = fmt.unit_for(top, data[0]["unit"])
    drawn = [{**row, "shown": row["value"] / scale} for row in data]
    limits = sorted({row["limit"] / scale for row in data if row.get("limit") is not None})
    crowded = not palette.by_option
    x = quantitative("t_s", "s since the start of measure", scale={"nice": False}, axis={"tickCount": 6})
    axis: Spec = {"format": ",.2~f", "tickCount": 4} if unit else plain_axis(tickCount=4)
    layers: list[Spec] = [
        {
            "mark": {"type": "line", "interpolate": "monotone", "opacity": 0.55 if crowded else 1},
            "encoding": {
                "x": x,
                "y": quantitative("shown", unit or None, axis=axis),
                "detail": {"field": "option"},
                "color": colour(palette),
                **({} if crowded else {"strokeDash": dash(palette)}),
                "tooltip": [
                    {"field": "option", "type": "nominal"},
                    {"field": "t_s", "type": "quantitative", "title": "s"},
                    {"field": "shown", "type": "quantitative", "title": "value", "format": ".4~r"},
                ],
            },
        }
    ]
    if limits:
        layers.append(
            {
                "data": {"values": [{"limit": limit} for limit in limits]},
                "mark": {"type": "rule", "style": "inkline", "strokeDash": [5, 4]},
                "encoding": {"y": quantitative("limit", None)},
            }
        )
    return view(150, layers, paint(drawn, palette))


def _table(grouped: dict[Key, list[dict[str, Any]]]) -> Table:
    out: list[tuple[str, ...]] = []
    for key, data in grouped.items():
        for option in dict.fromkeys(str(row["option"]) for row in data):
            line = sorted((row for row in data if row["option"] == option), key=lambda row: row["t_s"])
            limit = line[-1].get("limit")
            unit = data[0]["unit"]
            out.append(
                (
                    option,
                    _title(key, unit),
                    fmt.quantity(line[0]["value"], unit),
                    fmt.quantity(max(row["value"] for row in line), unit),
                    fmt.quantity(line[-1]["value"], unit),
                    "none" if limit is None else fmt.quantity(limit, unit),
                )
            )
    return Table(("option", "gauge", "at the start", "highest", "at the end", "limit"), tuple(out))
