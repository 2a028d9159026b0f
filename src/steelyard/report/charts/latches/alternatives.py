"""What the model expects of other settings of a latch."""

from __future__ import annotations

from steelyard import quantities as fmt
from steelyard.report.charts.figure import Figure
from steelyard.report.presented.presented import Presented
from steelyard.report.text_table import Table, with_half


def figure(presented: Presented) -> Figure | None:
    """What the model says of other settings; None where hold times were not measured."""
    what_if, about = presented.judgement.what_if, presented.about
    if not what_if:
        return None
    return Figure(
        name="latch-alternatives",
        title="What other settings of the latch would do",
        caption="The simulation of above with one thing changed; trust it as far as predicted and measured"
        " agree there. ± is half the 95 % interval of the simulation's own chance.",
        panels=(),
        table=Table(
            (
                "latch",
                about.points_are,
                "change",
                "gets/s",
                "% misses per get",
                "% sleeps per miss",
                "mean time asleep",
            ),
            tuple(
                (
                    f"{item.option}, {item.latch}",
                    str(item.clients),
                    item.change,
                    with_half(item.gets_per_s, item.gets_per_s_half),
                    with_half(item.misses_per_get, item.misses_per_get_half, 100),
                    fmt.significant(100 * item.sleeps_per_miss),
                    fmt.quantity(item.wait_mean_ns, "ns"),
                )
                for item in what_if
            ),
        ),
        open=True,
    )
