"""How long the weighed threads of a simulated machine were at each priority."""

from __future__ import annotations

from typing import Any

from steelyard import quantities as fmt
from steelyard.bundle.series.columns import rows
from steelyard.report.charts.domain import domain_of
from steelyard.report.charts.figure import Figure, Panel, Spec
from steelyard.report.charts.marks import colour, dash, dots, nominal, own_legend, paint, quantitative, view
from steelyard.report.presented.palette import Palette
from steelyard.report.presented.presented import Presented
from steelyard.report.text_table import Table

_BANDS = 10  # priorities per row of the table


def figure(presented: Presented) -> Figure | None:
    """One panel per number of threads, one line per option. None where no machine was simulated."""
    palette = presented.palette
    data = rows(presented.series.priorities)
    if not data:
        return None
    points = sorted({int(row["clients"]) for row in data})
    return Figure(
        name="priorities",
        title="Seconds at each priority",
        caption="Of all weighed threads together, running or waiting for a CPU, in one run's measure phase;"
        " mean over runs. Sleeping threads are not counted.",
        panels=tuple(
            Panel(
                f"priorities-{point}",
                fmt.count(point, "thread"),
                _steps([row for row in data if row["clients"] == point], palette),
            )
            for point in points
        ),
        table=_table(data, points),
        layout="grid",
        key="dash" if palette.by_option else "none",
    )


def _steps(data: list[dict[str, Any]], palette: Palette) -> Spec:
    every: list[dict[str, Any]] = []
    for option in dict.fromkeys(row["option"] for row in data):
        known = {int(row["priority"]): row["seconds"] for row in data if row["option"] == option}
        every += [
            {"option": option, "priority": priority, "seconds": known.get(priority, 0.0)}
            for priority in range(max(60, *(int(row["priority"]) + 1 for row in data)))
        ]
    encoding: Spec = {
        "x": quantitative("priority", "priority", axis={"tickCount": 6, "format": "d"}),
        "y": quantitative(
            "seconds",
            "s",
            scale=domain_of(row["seconds"] for row in every).scale,
            axis={"tickCount": 4, "format": "~s"},
        ),
    }
    tip = [
        {"field": "option", "type": "nominal"},
        {"field": "priority", "type": "quantitative"},
        {"field": "seconds", "type": "quantitative", "format": ".3~r"},
    ]
    look = _look(palette)
    line: Spec = {"mark": {"type": "line", "interpolate": "step"}, "encoding": {**encoding, **look}}
    points = dots({**encoding, "color": look["color"]}, tip, seen=False)
    return view(180, [line, points], paint(every, palette))


def _look(palette: Palette) -> Spec:
    """Few options are drawn: where the page has no colour for each, the chart brings its own."""
    if palette.by_option:
        return {"color": colour(palette), "strokeDash": dash(palette)}
    return {name: nominal("option", None, legend=own_legend()) for name in ("color", "strokeDash")}


def _table(data: list[dict[str, Any]], points: list[int]) -> Table:
    bands = sorted({int(row["priority"]) // _BANDS for row in data})
    lines: list[tuple[str, ...]] = []
    for option in dict.fromkeys(str(row["option"]) for row in data):
        for point in points:
            mine = [row for row in data if row["option"] == option and row["clients"] == point]
            sums = [
                sum(row["seconds"] for row in mine if row["priority"] // _BANDS == band) for band in bands
            ]
            lines.append(
                (
                    f"{option}, {fmt.count(point, 'thread')}",
                    *(fmt.significant(s) if s else "0" for s in sums),
                )
            )
    head = tuple(f"{band * _BANDS}–{band * _BANDS + _BANDS - 1}" for band in bands)
    return Table(("seconds at priority", *head), tuple(lines))
