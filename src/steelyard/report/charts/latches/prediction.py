"""What the model expects of the measured hold times, beside what was measured."""

from __future__ import annotations

from steelyard import quantities as fmt
from steelyard.analysis.judgement.latches import LatchCosts, LatchRow
from steelyard.analysis.judgement.results import Judgement
from steelyard.report.about.about import About
from steelyard.report.charts.domain import domain_of
from steelyard.report.charts.figure import Figure, Panel, Spec
from steelyard.report.charts.marks import colour, paint, plain_axis, quantitative, view
from steelyard.report.presented.palette import Palette
from steelyard.report.presented.presented import Presented
from steelyard.report.text_table import Table, with_half


def figure(presented: Presented) -> Figure | None:
    """None where hold times were not measured."""
    judgement, about, palette = presented.judgement, presented.about, presented.palette
    rows = [row for row in judgement.latches if row.predicted_gets_per_s and row.gets_per_s]
    if not rows:
        return None
    pairs = [(row, row.gets_per_s or 0.0, row.predicted_gets_per_s or 0.0) for row in rows]
    missed = [
        (row, 100 * row.misses_per_get, 100 * row.predicted_misses_per_get)
        for row in rows
        if row.misses_per_get is not None and row.predicted_misses_per_get is not None
    ]
    panels = [_diagonal("gets", "gets/s", pairs, palette, about, log=True)]
    if missed:
        panels.append(_diagonal("misses", "% misses per get", missed, palette, about))
    return Figure(
        name="latch-prediction",
        title="Predicted beside measured",
        caption="The closed loop of the study, simulated: its think time, gets per lookup, latches and"
        " workers, with the measured hold times and the costs of this machine; on the dashed line both agree."
        " ± is half the 95 % interval of the simulation's own chance.",
        panels=tuple(panels),
        table=_table(rows, about),
        layout="grid",
        key="line",
        notes=(*_errors(judgement, rows, about), *_costs(judgement.latch_costs)),
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
                f"{title} the predicted gets/s differ by {fmt.change(1 + errors[0])} to"
                f" {fmt.change(1 + errors[-1])} from the measured ones, median {fmt.change(1 + middle)}"
                f" ({fmt.count(len(errors), 'row')})."
            )
    return tuple(parts)


def _costs(costs: LatchCosts | None) -> tuple[str, ...]:
    """What the predictions take from the machine, how often it was measured, and between which CPUs."""
    if costs is None:
        return ()
    between = f" between CPUs {' and '.join(map(str, costs.cpus))}" if costs.cpus else ""
    share = {"": "", "nothing": ", which share nothing"}.get(costs.share, f", which share the {costs.share}")
    times = f"{fmt.quantity(costs.hand_over_min_ns, 'ns')} to {fmt.quantity(costs.hand_over_max_ns, 'ns')}"
    hand_over = (
        f"Hand-over{between}{share}: median {fmt.quantity(costs.hand_over_ns, 'ns')}"
        f" ({times} in {fmt.count(costs.measured, 'measurement')}, one before each point of each run)."
    )
    if costs.wake_ns is None or costs.post_ns is None:
        return (hand_over,)
    return (
        hand_over,
        "Wake-up of a sleeper on another, idle CPU, calibrated before the first run:"
        f" {fmt.quantity(costs.wake_ns, 'ns')}, and {fmt.quantity(costs.post_ns, 'ns')} for the post; less"
        " where it fell asleep just before. Where at least every tenth miss slept, both are scaled until a"
        " simulated sleep lasts as long, and takes as much system time, as a measured one.",
    )


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
            "measured % sleeps per miss",
            "predicted",
        ),
        tuple(
            (
                f"{row.option}, {row.latch}",
                str(row.clients),
                fmt.significant(row.gets_per_s or 0.0),
                with_half(row.predicted_gets_per_s, row.predicted_gets_per_s_half),
                fmt.MISSING if (error := _error(row)) is None else fmt.change(1 + error),
                *_misses(row),
                with_half(row.sleeps_per_miss, None, 100),
                with_half(row.predicted_sleeps_per_miss, row.predicted_sleeps_per_miss_half, 100),
            )
            for row in rows
        ),
    )


def _misses(row: LatchRow) -> tuple[str, str, str]:
    measured, predicted = row.misses_per_get, row.predicted_misses_per_get
    if measured is None or predicted is None:
        return fmt.MISSING, fmt.MISSING, fmt.MISSING
    return (
        fmt.significant(100 * measured),
        with_half(predicted, row.predicted_misses_per_get_half, 100),
        f"{100 * (predicted - measured):+.1f} points",
    )


def _diagonal(
    name: str,
    title: str,
    pairs: list[tuple[LatchRow, float, float]],
    palette: Palette,
    about: About,
    log: bool = False,
) -> Panel:
    shown = domain_of((value for _, *both in pairs for value in both), log=log)
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
        "x": quantitative("measured", f"measured {title}", scale=shown.scale, axis=plain_axis(tickCount=4)),
        "y": quantitative("predicted", f"predicted {title}", scale=shown.scale, axis=plain_axis(tickCount=4)),
    }
    tip = [
        {"field": "option", "type": "nominal"},
        {"field": "clients", "type": "quantitative", "title": about.points_are},
        {"field": "measured", "type": "quantitative", "format": ".3~s"},
        {"field": "predicted", "type": "quantitative", "format": ".3~s"},
    ]
    layers: list[Spec] = [
        {
            "data": {"values": [{"measured": edge, "predicted": edge} for edge in (shown.low, shown.high)]},
            "mark": {"type": "line", "style": "mutedline", "strokeDash": [4, 3]},
            "encoding": axes,
        },
        {
            "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
            "encoding": {**axes, "color": colour(palette), "tooltip": tip},
        },
    ]
    return Panel(f"latch-prediction-{name}", title, view(240, layers, paint(drawn, palette)))
