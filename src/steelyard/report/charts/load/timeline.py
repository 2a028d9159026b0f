"""Throughput and CPU over the whole study: every run after the other, as they were executed."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

from steelyard import quantities as fmt
from steelyard.bundle.series.columns import rows
from steelyard.report.about.about import About
from steelyard.report.charts.domain import Domain, domain_of
from steelyard.report.charts.figure import Figure, Panel, Spec
from steelyard.report.charts.marks import colour, dots, nominal, paint, plain_axis, quantitative, view
from steelyard.report.charts.steps import DOTS_MAX, steps
from steelyard.report.charts.zoom import FROM, SCALE, TO, zoomable
from steelyard.report.presented.palette import Palette
from steelyard.report.presented.presented import Presented
from steelyard.report.text_table import Table

_ROWS_MAX = 4000
_LABELS_MAX = 32
_TEXT = 0.1  # height of a line of text in the chart of CPU
_LEFT = 34  # px: both panels begin at the same place
_CLOCK = (
    "(datum.value >= 3600"
    " ? floor(datum.value / 3600) + ':' + pad(floor(datum.value / 60) % 60, 2, '0', 'left')"
    " : floor(datum.value / 60)) + ':' + pad(floor(datum.value) % 60, 2, '0', 'left')"
)

Rows = list[dict[str, Any]]


def figure(presented: Presented) -> Figure | None:
    """TPS above, CPU below, on the same time axis; the table lists each run's time mark and label."""
    about, palette = presented.about, presented.palette
    tps = rows(presented.series.throughput)
    cpu = rows(presented.series.cpu)
    if not tps:
        return None
    runs = paint(_runs(tps), palette)
    end = max(run["end"] for run in runs)
    panels = [
        Panel("timeline-tps", f"{about.work_is.capitalize()}s per second", _tps(tps, runs, end, palette)),
    ]
    if cpu:
        panels.append(Panel("timeline-cpu", "CPU, % of one core", _cpu(cpu, runs, end, palette)))
    turns = (
        " In a block the options took turns: each run has its measured time here, although the runs of a"
        " block were measured at the same time."
    )
    named = " Labels name the option of each run." if len(runs) <= _LABELS_MAX else ""
    return Figure(
        name="timeline",
        title="Over time, every run",
        caption=(
            f"{fmt.count(len(runs), 'run')} in the order of execution; set-up and warm-up are left "
            f"out.{turns if about.in_turns else ''}{named} "
            "Each step is a mean over its time. Within a run the line should be level; a slope from left to"
            " right is drift."
        ),
        panels=tuple(panels),
        table=_table(runs, cpu, about),
        key="none" if len(runs) <= _LABELS_MAX and palette.by_option else "line",
    )


def _runs(tps: Rows) -> Rows:
    """One row a run: option, start, end, mean of what is drawn, parity (for the ground's stripes)."""
    grouped: dict[int, Rows] = defaultdict(list)
    for row in tps:
        grouped[int(row["run"])].append(row)
    out: Rows = []
    for number, mine in sorted(grouped.items(), key=lambda pair: min(row["t_s"] for row in pair[1])):
        values = [row["tps"] for row in mine if row["tps"] is not None]
        start, last = min(row["t_s"] for row in mine), max(row["t_s"] for row in mine)
        step = (last - start) / (len(mine) - 1) if len(mine) > 1 else 1.0
        out.append(
            {
                "run": number,
                "option": mine[0]["option"],
                "start": start,
                "end": last + step,
                "middle": (start + last + step) / 2,
                "mean": sum(values) / len(values) if values else None,
                "parity": len(out) % 2,
            }
        )
    return out


def _tps(tps: Rows, runs: Rows, end: float, palette: Palette) -> Spec:
    data = paint(steps(_thinned(tps, ("run",), "tps"), ("run",)), palette)
    encoding: Spec = {
        "y": quantitative(
            "tps",
            None,
            axis=plain_axis(tickCount=5, minExtent=_LEFT),
            scale=domain_of((row["tps"] for row in data), pad=0.08).scale,
        ),
        "color": colour(palette, legend=len(runs) > _LABELS_MAX or not palette.by_option),
    }
    tip = [
        {"field": "option", "type": "nominal"},
        {"field": "run", "type": "quantitative"},
        {"field": "tps", "type": "quantitative", "title": "per second", "format": ",.3~r"},
    ]
    layers = [*_ground(runs), *_drawn(data, encoding, tip, 2), *_labels(runs, encoding["color"])]
    return zoomable(view(200, layers, data), 0, end)


def _cpu(cpu: Rows, runs: Rows, end: float, palette: Palette) -> Spec:
    kept = [row for row in cpu if row["role"] != "idle"] or cpu
    lines = ("run", "role")
    data = paint(steps(_thinned(kept, lines, "percent"), lines, until=True), palette)
    roles = sorted({str(row["role"]) for row in data}, key=lambda role: (role != "server", role))
    shown = domain_of(row["percent"] for row in data)
    dashes = [[1, 0], [3, 2], [1, 3], [8, 2, 2, 2]][: len(roles)]
    encoding: Spec = {
        "y": quantitative(
            "percent",
            None,
            axis={"tickCount": 5, "minExtent": _LEFT},
            scale=shown.scale,
        ),
        "color": colour(palette, legend=False),
        "strokeDash": nominal("role", None, scale={"domain": roles, "range": dashes}, legend=None),
    }
    tip = [
        {"field": "option", "type": "nominal"},
        {"field": "run", "type": "quantitative"},
        {"field": "role", "type": "nominal"},
        {"field": "percent", "type": "quantitative", "title": "% of one core", "format": ".1f"},
    ]
    names: Spec = {
        "data": {"values": _last(data, roles, shown) if len(roles) > 1 else []},
        "mark": {"type": "text", "align": "left", "dx": 6, "style": "muted"},
        "encoding": {
            "x": {"value": "width"},
            "y": quantitative("percent", None),
            "text": {"field": "role"},
        },
    }
    layers = [*_ground(runs), *_drawn(data, encoding, tip, 1.75), names]
    return zoomable(view(150, layers, data), 0, end)


def _drawn(data: Rows, encoding: Spec, tip: list[Spec], width_px: float) -> list[Spec]:
    """Steps, and a point in the middle of each; of very many, points are only under the pointer."""
    points = {name: part for name, part in encoding.items() if name != "strokeDash"}
    mark = {"type": "line", "interpolate": "step-after", "clip": True, "strokeWidth": width_px}
    samples = sum(row["middle_s"] is not None for row in data)
    return [
        {"mark": mark, "encoding": {"x": _time("t_s"), **encoding, "detail": {"field": "piece"}}},
        {
            "transform": [{"filter": "isValid(datum.middle_s)"}],
            **dots({"x": _time("middle_s"), **points}, tip, seen=samples <= DOTS_MAX),
        },
    ]


def _last(data: Rows, roles: list[str], shown: Domain) -> Rows:
    """The last known value of each role, where its name is written; a line of text apart from the next."""
    known = {str(row["role"]): row["percent"] for row in data if row["percent"] is not None}
    apart = _TEXT * (shown.high - shown.low)
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


def _ground(runs: Rows) -> list[Spec]:
    stripes = [run for run in runs if run["parity"]] if len(runs) <= 2 * _LABELS_MAX else []
    return [
        {
            "data": {"values": stripes},
            "mark": {"type": "rect", "style": "faint", "opacity": 0.08, "clip": True},
            "encoding": {"x": _time("start"), "x2": {"field": "end"}},
        }
    ]


def _labels(runs: Rows, colour: Spec) -> list[Spec]:
    if len(runs) > _LABELS_MAX:
        return []
    return [
        {
            "data": {"values": runs},
            "transform": [{"filter": f"datum.middle >= {FROM} && datum.middle <= {TO}"}],
            "mark": {
                "type": "text",
                "angle": 270,
                "align": "left",
                "baseline": "middle",
                "fontSize": 10.5,
                "limit": 150,
                "clip": False,
            },
            "encoding": {
                "x": _time("middle"),
                "y": {"value": -5},
                "text": {"field": "option"},
                "color": colour,
            },
        }
    ]


def _thinned(data: Rows, keys: tuple[str, ...], value: str) -> Rows:
    """At most _ROWS_MAX rows: neighbours within a line are drawn as their mean."""
    every = -(-len(data) // _ROWS_MAX)
    if every <= 1:
        return data
    lines: dict[tuple[Any, ...], Rows] = defaultdict(list)
    for row in data:
        lines[tuple(row[key] for key in keys)].append(row)
    out: Rows = []
    for line in lines.values():
        for first in range(0, len(line), every):
            part = line[first : first + every]
            known = [row[value] for row in part if row[value] is not None]
            out.append({**part[0], value: sum(known) / len(known) if known else None})
    return out


def _table(runs: Rows, cpu: Rows, about: About) -> Table:
    busy: dict[int, list[float]] = defaultdict(list)
    for row in cpu:
        if row["role"] == "server" and row["percent"] is not None:
            busy[int(row["run"])].append(row["percent"])
    return Table(
        (
            "time",
            "run",
            "option",
            f"{about.work_is}s/s, mean of the seconds of this run",
            f"CPU of the {about.who_works}, % of one core",
        ),
        tuple(
            (
                fmt.clock(run["start"]),
                str(run["run"]),
                str(run["option"]),
                fmt.MISSING if run["mean"] is None else fmt.significant(run["mean"]),
                _mean(busy.get(run["run"], [])),
            )
            for run in runs
        ),
    )


def _mean(values: list[float]) -> str:
    return fmt.significant(sum(values) / len(values)) if values else fmt.MISSING
