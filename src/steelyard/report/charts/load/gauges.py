"""Gauges over time, one figure per group: what fills, what is not released, what waits for a CPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from steelyard import quantities as fmt
from steelyard.bundle.series.columns import rows
from steelyard.report.about.about import About
from steelyard.report.charts.domain import Domain, domain_of
from steelyard.report.charts.figure import Figure, Panel, Spec, slug
from steelyard.report.charts.marks import colour, dash, dots, paint, plain_axis, quantitative, view
from steelyard.report.charts.steps import steps
from steelyard.report.charts.zoom import SCALE, zoomable
from steelyard.report.presented.palette import Palette
from steelyard.report.presented.presented import Presented
from steelyard.report.text_table import Table

# points that are drawn in so small a picture
_DOTS_MAX = 120

Key = tuple[str, str, str]


@dataclass(frozen=True)
class GaugeChart:
    """The figure of one group of gauges, as their monitors declare it. name, title: of the figure."""

    group: str
    name: str
    title: str

    def figure(self, presented: Presented) -> Figure | None:
        """One panel per gauge, one line per option; the dashed line is the limit of the gauge."""
        grouped: dict[Key, list[dict[str, Any]]] = {}
        for row in rows(presented.series.gauges):
            if row["value"] is not None and row["group"] == self.group:
                key = (str(row["monitor"]), str(row["entity"]), str(row["metric"]))
                grouped.setdefault(key, []).append(row)
        if not grouped:
            return None
        return Figure(
            name=self.name,
            title=self.title,
            caption=_caption(grouped, presented.about),
            panels=tuple(
                Panel(
                    f"gauge-{slug('-'.join(key))}",
                    _title(key, data[0]["unit"], presented.about.who_works),
                    _lines(data, presented.palette),
                )
                for key, data in grouped.items()
            ),
            table=_table(grouped, presented.about.who_works),
            layout="grid",
            key="dash",
        )


MEMORY = GaugeChart("memory", "gauges", "Caches and memory")
CPU = GaugeChart("cpu", "cpu-gauges", "Run queue")
RECORDED = GaugeChart("recorded", "recorded-gauges", "What monitors recorded")
CONNECTIONS = GaugeChart("connections", "connections", "Connections")
OTHER = GaugeChart("", "other-gauges", "Other gauges")


def _caption(grouped: Mapping[Key, list[dict[str, Any]]], about: About) -> str:
    """A chart alone has no heading of its own: the caption names its gauge."""
    what = ""
    if len(grouped) == 1:
        ((key, data),) = grouped.items()
        what = f"{_title(key, data[0]['unit'], about.who_works)}: {data[0].get('meaning') or 'a gauge'}. "
    when = "from warm-up to cool-down; 0 is the start of measure. The table is of the measure phases."
    if about.in_turns:
        when = "in the option's own turns, one after the other; 0 is the start of measure."
    return f"{what}Medians over runs, {when} A dashed line marks the limit, where one is known."


def _title(key: Key, unit: str, who_works: str) -> str:
    _, entity, metric = key
    # instances of a program stand where a server's processes do
    entity = who_works if entity == "server" else entity
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
    axis: Spec = {"format": ",.2~f", "tickCount": 4} if unit else plain_axis(tickCount=4)
    shown = domain_of((row["shown"] for row in drawn), limits)
    encoding: Spec = {
        "y": quantitative("shown", unit or None, axis=axis, scale=shown.scale),
        "color": colour(palette),
    }
    tip = [
        {"field": "option", "type": "nominal"},
        {"field": "t_s", "type": "quantitative", "title": "s"},
        {"field": "shown", "type": "quantitative", "title": unit or "value", "format": ".4~r"},
    ]
    crowded = not palette.by_option
    mark = {"type": "line", "interpolate": "step-after", "opacity": 0.55 if crowded else 1, "clip": True}
    of_interval = bool(data[0].get("of_interval"))
    seen = len(drawn) <= _DOTS_MAX
    if of_interval:
        drawn = steps(drawn, ("option",), until=True)
    own = {} if crowded else {"strokeDash": dash(palette)}
    line = {"x": _time("t_s"), **encoding, "detail": {"field": "piece" if of_interval else "option"}, **own}
    point = dots({"x": _time("middle_s" if of_interval else "t_s"), **encoding}, tip, seen)
    if of_interval:
        # the last corner of a line is no value of its own
        point = {"transform": [{"filter": "isValid(datum.middle_s)"}], **point}
    layers: list[Spec] = [{"mark": mark, "encoding": line}, point, *_limits(limits, shown, unit)]
    times = [row["t_s"] for row in drawn]
    return zoomable(view(150, layers, paint(drawn, palette)), min(times), max(max(times), min(times) + 1))


def _time(field: str) -> Spec:
    return quantitative(field, "s since the start of measure", scale=SCALE, axis={"tickCount": 6})


def _limits(limits: list[float], shown: Domain, unit: str) -> list[Spec]:
    """A line at each limit; what is far above the gauge is named at the edge."""
    layers: list[Spec] = []
    if near := [limit for limit in limits if shown.holds(limit)]:
        layers.append(
            {
                "data": {"values": [{"limit": limit} for limit in near]},
                "mark": {"type": "rule", "style": "inkline", "strokeDash": [5, 4]},
                "encoding": {"y": quantitative("limit", None)},
            }
        )
    if far := [limit for limit in limits if not shown.holds(limit)]:
        text = "↑ limit " + fmt.with_unit(fmt.significant(far[0]), unit)
        layers.append(
            {
                "data": {"values": [{"text": text}]},
                "mark": {"type": "text", "style": "muted", "align": "right", "baseline": "top"},
                "encoding": {
                    "x": {"value": "width"},
                    "y": {"value": 0},
                    "text": {"field": "text", "type": "nominal"},
                },
            }
        )
    return layers


def _table(grouped: dict[Key, list[dict[str, Any]]], who_works: str) -> Table:
    out: list[tuple[str, ...]] = []
    for key, data in grouped.items():
        for option in dict.fromkeys(str(row["option"]) for row in data):
            mine = sorted((row for row in data if row["option"] == option), key=lambda row: row["t_s"])
            line = [row for row in mine if row.get("measured", True)] or mine
            limit = line[-1].get("limit")
            unit = data[0]["unit"]
            out.append(
                (
                    option,
                    _title(key, unit, who_works),
                    fmt.quantity(line[0]["value"], unit),
                    fmt.quantity(max(row["value"] for row in line), unit),
                    fmt.quantity(line[-1]["value"], unit),
                    "none" if limit is None else fmt.quantity(limit, unit),
                )
            )
    return Table(("option", "gauge", "at the start", "highest", "at the end", "limit"), tuple(out))
