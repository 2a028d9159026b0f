"""Throughput and CPU over the whole study: every run after the other, as they were executed."""

import math
from collections.abc import Sequence
from dataclasses import replace

from steelyard import quantities as fmt
from steelyard.bundle.evidence import grouped
from steelyard.report.charts.figure import Figure, Panel, Spec
from steelyard.report.charts.marks import (
    FROM,
    SCALE,
    TO,
    bare_axis,
    colour,
    layer,
    nominal,
    paint,
    quantitative,
    scaled,
    view,
    zoomable,
)
from steelyard.report.charts.shapes import DOTS_MAX, Rows, lines, stepped, steps, told
from steelyard.report.presented import Palette, Presented
from steelyard.report.table import Column, Table

_ROWS_MAX = 4000
_LABELS_MAX = 32
_TEXT = 0.1  # height of a line of text in the chart of CPU
_LEFT = 34  # px: both panels begin at the same place
_CLOCK = (
    "(datum.value >= 3600"
    " ? floor(datum.value / 3600) + ':' + pad(floor(datum.value / 60) % 60, 2, '0', 'left')"
    " : floor(datum.value / 60)) + ':' + pad(floor(datum.value) % 60, 2, '0', 'left')"
)


def timeline(presented: Presented) -> Figure | None:
    """TPS above, CPU below, on the same time axis; the table lists each run's time mark and label."""
    about, palette = presented.about, presented.palette
    tps, cpu = Table((), presented.series.throughput), Table((), presented.series.cpu)
    if not tps.data:
        return None
    runs = paint(_runs(tps, cpu), palette)
    end = max(run["end"] for run in runs)
    panels = [
        Panel("timeline-tps", f"{about.work_is.capitalize()}s per second", _tps(tps, runs, end, palette))
    ]
    if cpu.data:
        panels.append(Panel("timeline-cpu", "CPU, % of one core", _cpu(cpu, runs, end, palette)))
    turns = (
        " In a block the options took turns: each run has its measured time here, although the runs of a"
        " block were measured at the same time."
    )
    named = " Labels name the option of each run." if len(runs) <= _LABELS_MAX else ""
    return Figure(
        "timeline",
        "Over time, every run",
        f"{fmt.count(len(runs), 'run')} in the order of execution; set-up and warm-up are left "
        f"out.{turns if about.in_turns else ''}{named} "
        "Each step is a mean over its time. Within a run the line should be level; a slope from left to"
        " right is drift.",
        tuple(panels),
        Table(
            (
                Column("time", "start", fmt.clock),
                Column("run"),
                Column("option"),
                Column(f"{about.work_is}s/s, mean of the seconds of this run", "mean"),
                Column(f"CPU of the {about.who_works}, % of one core", "busy"),
            ),
            runs,
        ),
        key="none" if len(runs) <= _LABELS_MAX and palette.by_option else "line",
    )


def since_start(presented: Presented) -> Figure | None:
    """The rate of work by second since the load began, a line per option: mean over runs."""
    by = grouped(
        ((row["option"], round(row["t_s"] - start)), row["tps"] or 0.0)
        for mine in Table((), presented.series.throughput).each("run").values()
        for start in [min(mine.values("t_s"))]
        for row in mine.data
    )
    rows = [{"option": o, "t_s": s, "rate": sum(v) / len(v)} for (o, s), v in sorted(by.items())]
    if len({row["t_s"] for row in rows}) < 2:
        return None
    title, work = "Over time, from the start of the load", presented.about.work_is
    table = Table((Column("option"), Column("second", "t_s", fmt.clock), Column(f"{work}s/s", "rate")), rows)
    picture = lines(
        table,
        quantitative("t_s", "s", scale={"nice": False}),
        scaled(rows, "rate", None, **bare_axis(tickCount=5)),
        ("option", "t_s", "rate:,.3~r"),
        height=200,
        palette=presented.palette,
        look={"detail": {"field": "option"}},
    )
    caption = "Mean over runs of each second; load points follow one another."
    return Figure("since-start", title, caption, (Panel("since-start", title, picture),), table, key="line")


def _runs(tps: Table, cpu: Table) -> Rows:
    """One row a run: option, start, end, means of what is drawn, parity (for the ground's stripes)."""
    roles = cpu.each("run", "role")
    out: Rows = []
    for number, mine in sorted(tps.each("run").items(), key=lambda pair: min(pair[1].values("t_s"))):
        times = mine.values("t_s")
        start, last = min(times), max(times)
        step = (last - start) / (len(times) - 1) if len(times) > 1 else 1.0
        server = roles.get((number, "server"))
        out.append(
            {
                "run": number,
                "option": mine.data[0]["option"],
                "start": start,
                "end": last + step,
                "middle": (start + last + step) / 2,
                "mean": _mean(mine.values("tps")),
                "busy": _mean(server.values("percent")) if server else None,
                "parity": len(out) % 2,
            }
        )
    return out


def _tps(tps: Table, runs: Rows, end: float, palette: Palette) -> Spec:
    data = paint(steps(_thinned(tps, ("run",), "tps"), ("run",)), palette)
    _, tip = told(Table((Column("per second", "tps"),), data), "option", "run", "tps:,.3~r")
    named = len(runs) <= _LABELS_MAX and palette.by_option
    coloured = colour(palette, legend=not named)
    place = {
        "y": scaled(data, "tps", None, pad=0.08, **bare_axis(tickCount=5, minExtent=_LEFT)),
        "color": coloured,
    }
    layers = [_ground(runs), *_drawn(data, place, tip, {}, 2), *_labels(runs, coloured)]
    return zoomable(view(200, layers, data), 0, end)


def _cpu(cpu: Table, runs: Rows, end: float, palette: Palette) -> Spec:
    kept = [row for row in cpu.data if row["role"] != "idle"] or cpu.data
    lines = ("run", "role")
    data = paint(steps(_thinned(replace(cpu, data=kept), lines, "percent"), lines, until=True), palette)
    roles = sorted({row["role"] for row in data}, key=lambda role: (role != "server", role))
    _, tip = told(Table((Column("% of one core", "percent"),), data), "option", "run", "role", "percent:.1f")
    dashes = {"domain": roles, "range": [[1, 0], [3, 2], [1, 3], [8, 2, 2, 2]][: len(roles)]}
    y = scaled(data, "percent", None, tickCount=5, minExtent=_LEFT)
    place = {"y": y, "color": colour(palette, legend=False)}
    by_role = {"strokeDash": nominal("role", None, scale=dashes, legend=None)}
    ends = _last(data, roles, y["scale"]["domain"]) if len(roles) > 1 else []
    at = {"x": {"value": "width"}, "y": quantitative("percent", None), "text": {"field": "role"}}
    names = layer("text", at, rows=ends, align="left", dx=6, style="muted")
    return zoomable(view(150, [_ground(runs), *_drawn(data, place, tip, by_role, 1.75), names], data), 0, end)


def _drawn(data: Rows, place: Spec, tip: list[Spec], lines_only: Spec, width_px: float) -> list[Spec]:
    """Steps, and a point in the middle of each; of very many, points are only under the pointer."""
    seen = sum(row["middle_s"] is not None for row in data) <= DOTS_MAX
    return stepped(_time, place, tip, seen, lines_only=lines_only, strokeWidth=width_px)


def _last(data: Rows, roles: list[str], ends: tuple[float, float]) -> Rows:
    """The last known value of each role, where its name is written; a line of text apart from the next."""
    known = {row["role"]: row["percent"] for row in data if row["percent"] is not None}
    apart = _TEXT * (ends[1] - ends[0])
    out: Rows = []
    at = -math.inf
    for role in sorted((role for role in roles if role in known), key=lambda role: known[role]):
        at = max(known[role], at + apart)
        out.append({"role": role, "percent": at})
    return out


def _time(name: str) -> Spec:
    return quantitative(
        name,
        "time of the runs, one after another (min:s)",
        scale=SCALE,
        axis={"labelExpr": _CLOCK, "tickCount": 8, "labelOverlap": True},
    )


def _ground(runs: Rows) -> Spec:
    stripes = [run for run in runs if run["parity"]] if len(runs) <= 2 * _LABELS_MAX else []
    place = {"x": _time("start"), "x2": {"field": "end"}}
    return layer("rect", place, rows=stripes, style="faint", opacity=0.08, clip=True)


def _labels(runs: Rows, coloured: Spec) -> list[Spec]:
    if len(runs) > _LABELS_MAX:
        return []
    place = {"x": _time("middle"), "y": {"value": -5}, "text": {"field": "option"}, "color": coloured}
    shown = f"datum.middle >= {FROM} && datum.middle <= {TO}"
    return [
        layer(
            "text",
            place,
            rows=runs,
            only=shown,
            angle=270,
            align="left",
            baseline="middle",
            fontSize=10.5,
            limit=150,
            clip=False,
        )
    ]


def _thinned(table: Table, keys: tuple[str, ...], value: str) -> Rows:
    """At most _ROWS_MAX rows: neighbours within a line are drawn as their mean."""
    every = -(-len(table.data) // _ROWS_MAX)
    if every <= 1:
        return list(map(dict, table.data))
    out: Rows = []
    for line in table.each(*keys).values():
        for first in range(0, len(line.data), every):
            part = line.data[first : first + every]
            out.append({**part[0], value: _mean([row[value] for row in part if row[value] is not None])})
    return out


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
