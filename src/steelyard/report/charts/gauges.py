"""Gauges over time, one figure per group: what fills, what is not released, what waits for a CPU."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard import quantities as fmt
from steelyard.report.charts.figure import Figure, Panel, Spec, slug
from steelyard.report.charts.marks import (
    SCALE,
    Domain,
    bare_axis,
    colour,
    dash,
    domain_of,
    layer,
    nominal,
    paint,
    quantitative,
    view,
    zoomable,
)
from steelyard.report.charts.shapes import DOTS_MAX, stepped, steps, told
from steelyard.report.presented import Palette, Presented
from steelyard.report.table import Cell, Column, Row, Table, plain_table

_HEAD = ("option", "gauge", "at the start", "highest", "at the end", "limit")


@dataclass(frozen=True)
class GaugeChart:
    """The figure of one group of gauges, as their monitors declare it. name, title: of the figure."""

    group: str
    name: str
    title: str

    def figure(self, presented: Presented) -> Figure | None:
        """One panel per gauge, one line per option; the dashed line is the limit of the gauge."""
        data = [
            {**row, "gauge": _title(row, presented.about.who_works)}
            for row in presented.series.gauges
            if row["value"] is not None and row["group"] == self.group
        ]
        grouped = Table((), data).each("monitor", "entity", "metric", "gauge")
        if not grouped:
            return None
        return Figure(
            self.name,
            self.title,
            _caption(list(grouped.values()), presented.about.in_turns),
            tuple(
                Panel(f"gauge-{slug('-'.join(key))}", title, _lines(mine, presented.palette))
                for (*key, title), mine in grouped.items()
            ),
            plain_table(
                _HEAD,
                (_summary(mine) for gauge in grouped.values() for mine in gauge.each("option").values()),
            ),
            layout="grid",
            key="dash",
        )


MEMORY = GaugeChart("memory", "gauges", "Caches and memory")
CPU = GaugeChart("cpu", "cpu-gauges", "Run queue")
RECORDED = GaugeChart("recorded", "recorded-gauges", "What monitors recorded")
CONNECTIONS = GaugeChart("connections", "connections", "Connections")
OTHER = GaugeChart("", "other-gauges", "Other gauges")


def _caption(gauges: Sequence[Table], in_turns: bool) -> str:
    """A chart alone has no heading of its own: the caption names its gauge."""
    first = gauges[0].data[0]
    what = f"{first['gauge']}: {first.get('meaning') or 'a gauge'}. " if len(gauges) == 1 else ""
    when = "from warm-up to cool-down; 0 is the start of measure. The table is of the measure phases."
    if in_turns:
        when = "in the option's own turns, one after the other; 0 is the start of measure."
    return f"{what}Medians over runs, {when} A dashed line marks the limit, where one is known."


def _title(row: Row, who_works: str) -> str:
    # instances of a program stand where a server's processes do
    entity = who_works if row["entity"] == "server" else row["entity"]
    words = row["metric"].split("_")
    if row["unit"] and len(words) > 1:
        words = words[:-1]
    title = " ".join(words)
    return f"{title[:1].upper()}{title[1:]}" + (f", {entity}" if entity else "")


def _lines(table: Table, palette: Palette) -> Spec:
    first = table.data[0]
    scale, unit = fmt.unit_for(max(abs(row["value"]) for row in table.data), first["unit"])
    columns = (Column("s", "t_s"), Column(unit or "value", "shown"))
    shown = Table(columns, [{**row, "shown": row["value"] / scale} for row in table.data])
    rows, tip = told(shown, "option", "t_s", "shown:.4~r")
    limits = sorted({row["limit"] / scale for row in rows if row.get("limit") is not None})
    axis = {"format": ",.2~f", "tickCount": 4} if unit else bare_axis(tickCount=4)
    domain = domain_of((row["shown"] for row in rows), limits)
    place = {
        "y": quantitative("shown", unit or None, axis=axis, scale=domain.scale),
        "color": colour(palette),
    }
    seen = len(rows) <= DOTS_MAX
    middle = "t_s"
    if first.get("of_interval"):
        rows, middle = steps(rows, ("option",), until=True), "middle_s"
    dashed, opacity = ({"strokeDash": dash(palette)}, 1) if palette.by_option else ({}, 0.55)
    marks = stepped(_time, place, tip, seen, middle, lines_only=dashed, opacity=opacity)
    times = [row["t_s"] for row in rows if row["t_s"] is not None]
    return zoomable(
        view(150, [*marks, *_limits(limits, domain, unit)], paint(rows, palette)),
        min(times),
        max(max(times), min(times) + 1),
    )


def _time(field: str) -> Spec:
    return quantitative(field, "s since the start of measure", scale=SCALE, axis={"tickCount": 6})


def _limits(limits: list[float], shown: Domain, unit: str) -> Iterator[Spec]:
    """A line at each limit; what is far above the gauge is named at the edge."""
    near = [{"limit": limit} for limit in limits if shown.holds(limit)]
    far = [limit for limit in limits if not shown.holds(limit)]
    if near:
        at = {"y": quantitative("limit", None)}
        yield layer("rule", at, rows=near, style="inkline", strokeDash=[5, 4])
    if far:
        text = "↑ limit " + fmt.with_unit(fmt.significant(far[0]), unit)
        edge = {"x": {"value": "width"}, "y": {"value": 0}, "text": nominal("text", None)}
        yield layer("text", edge, rows=[{"text": text}], style="muted", align="right", baseline="top")


def _summary(table: Table) -> tuple[Any, ...]:
    """Of one gauge under one option, in the measure phases where they are known."""
    mine = sorted(table.data, key=lambda row: row["t_s"])
    line = [row for row in mine if row.get("measured", True)] or mine
    last = line[-1]
    values = (line[0]["value"], max(row["value"] for row in line), last["value"], last.get("limit"))
    *cells, limit = [Cell(value, unit=last["unit"]) for value in values]
    return last["option"], last["gauge"], *cells, "none" if limit.value is None else limit
