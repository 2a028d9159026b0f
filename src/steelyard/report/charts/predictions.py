"""What the model expects of the measured hold times, beside what was measured; and of other settings."""

from collections.abc import Iterator
from dataclasses import replace
from statistics import median

from steelyard import quantities as fmt
from steelyard.analysis.judgement import Judgement
from steelyard.analysis.judgement.latches import LatchCosts, LatchRow
from steelyard.report.about import About
from steelyard.report.charts.figure import Figure, Panel
from steelyard.report.charts.marks import bare_axis, domain_of, layer, quantitative
from steelyard.report.charts.shapes import lines
from steelyard.report.presented import Palette, Presented
from steelyard.report.table import Cell, Column, Row, Table, halved, percent, plain_table

_GETS = "gets_per_s", "predicted_gets_per_s"
_MISSES = "misses", "missed"


def predictions(presented: Presented) -> Figure | None:
    """None where hold times were not measured."""
    judgement, about, palette = presented.judgement, presented.about, presented.palette
    rows = [row for row in judgement.latches if row.predicted_gets_per_s and row.gets_per_s]
    if not rows:
        return None
    columns = (
        Column("latch", "name"),
        Column(about.points_are, "clients"),
        Column("measured gets/s", "gets_per_s"),
        Column("predicted", "expected"),
        Column("error", "ratio", fmt.change),
        Column("measured % misses per get", "misses"),
        Column("predicted", "expected_misses"),
        Column("difference", "points"),
        Column("measured % sleeps per miss", "sleeps_per_miss", percent),
        Column("predicted", "expected_sleeps"),
    )
    table = Table(columns, list(map(_row, rows)))
    missed = replace(table, data=[row for row in table.data if row["points"] is not None])
    panels = [_diagonal("gets", table, _GETS, "gets/s", palette, log=True)]
    if missed.data:
        panels.append(_diagonal("misses", missed, _MISSES, "% misses per get", palette))
    return Figure(
        "latch-prediction",
        "Predicted beside measured",
        "The closed loop of the study, simulated: its think time, gets per lookup, latches and"
        " workers, with the measured hold times and the costs of this machine; on the dashed line both agree."
        " ± is half the 95 % interval of the simulation's own chance.",
        tuple(panels),
        table,
        layout="grid",
        key="line",
        notes=(*_errors(judgement, rows, about), *_costs(judgement.latch_costs)),
    )


def _errors(judgement: Judgement, rows: list[LatchRow], about: About) -> Iterator[str]:
    """How far off, apart for points within and beyond the CPUs."""
    over = {(one.option, p.clients) for one in judgement.scaling for p in one.points if p.oversubscribed}
    for title, beyond in (
        (f"With a CPU for each of the {about.points_are}", False),
        ("Beyond the CPUs", True),
    ):
        ratios = sorted(_ratio(row) for row in rows if ((row.option, row.clients) in over) == beyond)
        if ratios:
            yield (
                f"{title} the predicted gets/s differ by {fmt.change(ratios[0])} to"
                f" {fmt.change(ratios[-1])} from the measured ones, median {fmt.change(median(ratios))}"
                f" ({fmt.count(len(ratios), 'row')})."
            )


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


def _row(row: LatchRow) -> Row:
    """What is measured of misses is compared or not shown at all."""
    measured, predicted = row.misses_per_get, row.predicted_misses_per_get
    misses: Row = dict.fromkeys((*_MISSES, "expected_misses", "points"))
    if measured is not None and predicted is not None:
        misses = {
            "misses": 100 * measured,
            "missed": 100 * predicted,
            "expected_misses": halved(predicted, row.predicted_misses_per_get_half, 100),
            "points": f"{100 * (predicted - measured):+.1f} points",
        }
    return {
        **vars(row),
        "name": f"{row.option}, {row.latch}",
        "ratio": _ratio(row),
        "expected": halved(row.predicted_gets_per_s, row.predicted_gets_per_s_half),
        **misses,
        "expected_sleeps": halved(row.predicted_sleeps_per_miss, row.predicted_sleeps_per_miss_half, 100),
    }


def _ratio(row: LatchRow) -> float:
    return (row.predicted_gets_per_s or 0.0) / (row.gets_per_s or 1.0)


def _diagonal(
    name: str, table: Table, fields: tuple[str, str], title: str, palette: Palette, log: bool = False
) -> Panel:
    measured, predicted = fields
    shown = domain_of([row[field] for row in table.data for field in fields], log=log)
    axes = {
        along: quantitative(field, f"{kind} {title}", scale=shown.scale, axis=bare_axis(tickCount=4))
        for along, field, kind in zip("xy", fields, ("measured", "predicted"), strict=True)
    }
    ends = [dict.fromkeys(fields, edge) for edge in (shown.low, shown.high)]
    spec = lines(
        table,
        axes["x"],
        axes["y"],
        ("option", "clients", f"{measured}:.3~s", f"{predicted}:.3~s"),
        height=240,
        palette=palette,
        size=60,
        joined=False,
        behind=[layer("line", axes, rows=ends, style="mutedline", strokeDash=[4, 3])],
    )
    return Panel(f"latch-prediction-{name}", title, spec)


def alternatives(presented: Presented) -> Figure | None:
    """What the model says of other settings; None where hold times were not measured."""
    what_if = presented.judgement.what_if
    if not what_if:
        return None
    return Figure(
        "latch-alternatives",
        "What other settings of the latch would do",
        "The simulation of above with one thing changed; trust it as far as predicted and measured"
        " agree there. ± is half the 95 % interval of the simulation's own chance.",
        (),
        plain_table(
            (
                "latch",
                presented.about.points_are,
                "change",
                "gets/s",
                "% misses per get",
                "% sleeps per miss",
                "mean time asleep",
            ),
            (
                (
                    f"{item.option}, {item.latch}",
                    item.clients,
                    item.change,
                    halved(item.gets_per_s, item.gets_per_s_half),
                    halved(item.misses_per_get, item.misses_per_get_half, 100),
                    100 * item.sleeps_per_miss,
                    Cell(item.wait_mean_ns, unit="ns"),
                )
                for item in what_if
            ),
        ),
        open=True,
    )
