"""Chosen threads of a simulated machine: which CPU they had, and what priority, over a small window."""

from __future__ import annotations

from collections import Counter
from typing import Any

from steelyard.bundle.series.columns import rows
from steelyard.report.charts.domain import domain_of
from steelyard.report.charts.figure import Figure, Panel, Spec, slug
from steelyard.report.charts.marks import dots, nominal, own_legend, quantitative, view
from steelyard.report.charts.zoom import SCALE, zoomable
from steelyard.report.presented.presented import Presented
from steelyard.report.text_table import Table

_WHY = {
    "start": "a new thread",
    "expired": "slice used (tqexp)",
    "waited": "maxwait over, off the CPU (lwait)",
    "returned": "maxwait over, on the CPU (slpret)",
    "forked": "forked (tqexp)",
}


def figure(presented: Presented) -> Figure | None:
    """Two panels per option: the CPUs, and priority over time. None where nothing was traced."""
    data = rows(presented.series.trace)
    if not any(row["reason"] == "ran" for row in data):
        return None
    options = list(dict.fromkeys(str(row["option"]) for row in data))
    end_s = max(row["end_s"] for row in data)
    panels: list[Panel] = []
    for option in options:
        mine = [row for row in data if row["option"] == option]
        panels += [
            Panel(f"gantt-{slug(option)}", f"{option}: CPUs", _gantt(mine, end_s)),
            Panel(f"priority-{slug(option)}", f"{option}: priority", _priority(mine, end_s)),
        ]
    return Figure(
        name="trace",
        title="The life of chosen threads",
        caption="One run of each option, at the most threads, from the start of measure: stints on the CPUs,"
        " and the global priority. The same threads meet the same bursts under every option.",
        panels=tuple(panels),
        table=_table(data, options),
        layout="pairs",
    )


def _time(name: str) -> Spec:
    return quantitative(name, "s", scale=SCALE, axis={"tickCount": 5})


def _thread() -> Spec:
    return nominal("thread", None, legend=own_legend())


def _gantt(data: list[dict[str, Any]], end_s: float) -> Spec:
    ran = [{**row, "cpu": int(row["cpu"])} for row in data if row["reason"] == "ran"]
    cpus = sorted({row["cpu"] for row in ran})
    y: Spec = {"field": "cpu", "type": "ordinal", "title": "CPU", "scale": {"domain": cpus}}
    tip = [
        {"field": "thread", "type": "nominal"},
        {"field": "cpu", "type": "nominal", "title": "CPU"},
        {"field": "start_s", "type": "quantitative", "title": "from (s)", "format": ".4f"},
        {"field": "end_s", "type": "quantitative", "title": "to (s)", "format": ".4f"},
        {"field": "priority", "type": "quantitative"},
    ]
    encoding = {
        "x": _time("start_s"),
        "x2": {"field": "end_s"},
        "y": y,
        "color": _thread(),
        "tooltip": tip,
    }
    height = max(80, 14 * len(cpus))
    mark = {"type": "bar", "height": {"band": 0.75}, "clip": True}
    return zoomable(view(height, [{"mark": mark, "encoding": encoding}], ran), 0, end_s)


def _priority(data: list[dict[str, Any]], end_s: float) -> Spec:
    """Known where it changes, and while a thread runs."""
    drawn = [
        {"thread": row["thread"], "t_s": t_s, "priority": row["priority"]}
        for row in sorted(data, key=lambda row: (row["start_s"], row["end_s"]))
        for t_s in dict.fromkeys((row["start_s"], row["end_s"]))
    ]
    shown = domain_of([60.0, *(row["priority"] for row in drawn)], pad=0)
    encoding = {
        "x": _time("t_s"),
        "y": quantitative("priority", "priority", axis={"tickCount": 6}, scale=shown.scale),
        "color": _thread(),
    }
    tip = [
        {"field": "thread", "type": "nominal"},
        {"field": "t_s", "type": "quantitative", "title": "s", "format": ".4f"},
        {"field": "priority", "type": "quantitative"},
    ]
    line: Spec = {
        "mark": {"type": "line", "interpolate": "step-after", "clip": True},
        "encoding": encoding,
    }
    return zoomable(view(160, [line, dots(encoding, tip, seen=False)], drawn), 0, end_s)


def _table(data: list[dict[str, Any]], options: list[str]) -> Table:
    lines: list[tuple[str, ...]] = []
    for option in options:
        for thread in dict.fromkeys(str(row["thread"]) for row in data):
            mine = [row for row in data if row["option"] == option and row["thread"] == thread]
            ran = [row for row in mine if row["reason"] == "ran"]
            on_cpu_s = sum(row["end_s"] - row["start_s"] for row in ran)
            why = Counter(str(row["reason"]) for row in mine if row["reason"] != "ran")
            changes = ", ".join(f"{_WHY[reason]} {times}" for reason, times in sorted(why.items())) or "none"
            lines.append((f"{option}, {thread}", f"{on_cpu_s:.3f}", str(len(ran)), changes))
    return Table(("thread", "s on a CPU", "stints", "changes of priority or quantum"), tuple(lines))
