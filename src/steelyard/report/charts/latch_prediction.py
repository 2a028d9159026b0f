"""What the model expects of the measured hold times, beside what was measured; and what else it expects."""

from __future__ import annotations

import math

from steelyard.analysis.latch_rows import LatchRow
from steelyard.analysis.results import Judgement
from steelyard.report import format as fmt
from steelyard.report.charts.figure import Figure, Panel, Spec, Table, plain_axis, quantitative, view
from steelyard.report.charts.theme import Colours, paint
from steelyard.report.inputs import About


def figure(judgement: Judgement, about: About, palette: Colours) -> Figure | None:
    """None where hold times were not measured."""
    rows = [row for row in judgement.latches if row.predicted_gets_per_s and row.gets_per_s]
    if not rows:
        return None
    pairs = [(row, row.gets_per_s or 0.0, row.predicted_gets_per_s or 0.0) for row in rows]
    missed = [
        (row, 100 * row.misses_per_get, 100 * row.predicted_misses_per_get)
        for row in rows
        if row.misses_per_get is not None and row.predicted_misses_per_get is not None
    ]
    panels = [_diagonal("gets", "gets/s", pairs, palette, about, {"type": "log", "nice": False})]
    if missed:
        panels.append(_diagonal("misses", "% misses per get", missed, palette, about, {"zero": True}))
    return Figure(
        name="latch-prediction",
        title="Predicted beside measured",
        caption="From measured hold times, think time and the costs of this machine, nothing fitted; on the"
        " dashed line both agree. Of more workers than CPUs only as many compete at once as there are CPUs.",
        panels=tuple(panels),
        table=_table(rows, about),
        layout="grid",
        key="line",
        notes=_errors(judgement, rows, about),
    )


def _errors(judgement: Judgement, rows: list[LatchRow], about: About) -> tuple[str, ...]:
    """How far off, apart for points within and beyond the CPUs."""
    over = {(one.option, p.clients) for one in judgement.scaling for p in one.points if p.oversubscribed}
    within = [row for row in rows if (row.option, row.clients) not in over]
    beyond = [row for row in rows if (row.option, row.clients) in over]
    parts: list[str] = []
    for title, chosen in (
        (f"With a CPU for each of the {about.points_are}", within),
        ("Beyond the CPUs", beyond),
    ):
        if chosen:
            errors = sorted(error for row in chosen if (error := _error(row)) is not None)
            middle = errors[len(errors) // 2]
            parts.append(
                f"{title} the predicted gets/s are {fmt.change(1 + errors[0])} to"
                f" {fmt.change(1 + errors[-1])} off what was measured, in the middle {fmt.change(1 + middle)}"
                f" ({fmt.count(len(errors), 'row')})."
            )
    return tuple(parts)


def _error(row: LatchRow) -> float | None:
    if not row.gets_per_s or not row.predicted_gets_per_s:
        return None
    return row.predicted_gets_per_s / row.gets_per_s - 1


def _table(rows: list[LatchRow], about: About) -> Table:
    return Table(
        (
            "latch",
            about.points_are,
            "measured gets/s",
            "predicted",
            "error",
            "measured % misses per get",
            "predicted",
            "difference",
        ),
        tuple(
            (
                f"{row.option}, {row.latch}",
                str(row.clients),
                fmt.significant(row.gets_per_s or 0.0),
                fmt.significant(row.predicted_gets_per_s or 0.0),
                fmt.MISSING if (error := _error(row)) is None else fmt.change(1 + error),
                *_misses(row.misses_per_get, row.predicted_misses_per_get),
            )
            for row in rows
        ),
    )


def _misses(measured: float | None, predicted: float | None) -> tuple[str, str, str]:
    if measured is None or predicted is None:
        return fmt.MISSING, fmt.MISSING, fmt.MISSING
    return (
        fmt.significant(100 * measured),
        fmt.significant(100 * predicted),
        f"{100 * (predicted - measured):+.1f} points",
    )


def _diagonal(
    name: str,
    title: str,
    pairs: list[tuple[LatchRow, float, float]],
    palette: Colours,
    about: About,
    scale: Spec,
) -> Panel:
    values = [value for _, *both in pairs for value in both if math.isfinite(value)]
    low, high = min(values), max(values)
    domain = [low / 1.2, high * 1.2] if scale.get("type") == "log" else [0, high * 1.05 or 1.0]
    drawn: list[Spec] = [
        {
            "option": row.option,
            "clients": row.clients,
            "measured": measured,
            "predicted": predicted,
        }
        for row, measured, predicted in pairs
    ]
    axes = {
        "x": quantitative(
            "measured", f"measured {title}", scale={**scale, "domain": domain}, axis=plain_axis(tickCount=4)
        ),
        "y": quantitative(
            "predicted", f"predicted {title}", scale={**scale, "domain": domain}, axis=plain_axis(tickCount=4)
        ),
    }
    tip = [
        {"field": "option", "type": "nominal"},
        {"field": "clients", "type": "quantitative", "title": about.points_are},
        {"field": "measured", "type": "quantitative", "format": ".3~s"},
        {"field": "predicted", "type": "quantitative", "format": ".3~s"},
    ]
    layers: list[Spec] = [
        {
            "data": {"values": [{"measured": edge, "predicted": edge} for edge in domain]},
            "mark": {"type": "line", "style": "mutedline", "strokeDash": [4, 3]},
            "encoding": axes,
        },
        {
            "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
            "encoding": {**axes, "color": palette.encode(), "tooltip": tip},
        },
    ]
    return Panel(f"latch-prediction-{name}", title, view(240, layers, paint(drawn, palette)))


def alternatives(judgement: Judgement, about: About) -> Figure | None:
    """What the model says of other settings; None where hold times were not measured."""
    if not judgement.what_if:
        return None
    return Figure(
        name="latch-alternatives",
        title="What other settings of the latch would do",
        caption="By formula, or by simulation where none is exact (children, turns, preempted holders), from"
        " the measured hold times, nothing fitted; trust it as far as predicted and measured agree above.",
        panels=(),
        table=Table(
            (
                "latch",
                about.points_are,
                "change",
                "gets/s",
                "% misses per get",
                "% sleeps per miss",
                "mean wait",
            ),
            tuple(
                (
                    f"{item.option}, {item.latch}",
                    str(item.clients),
                    item.change,
                    fmt.quantity(item.gets_per_s, "/s"),
                    fmt.significant(100 * item.misses_per_get),
                    fmt.significant(100 * item.sleeps_per_miss),
                    fmt.quantity(item.wait_mean_ns, "ns"),
                )
                for item in judgement.what_if
            ),
        ),
        open=True,
    )
