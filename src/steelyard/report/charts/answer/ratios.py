"""Ratios to the baseline with their intervals: where an interval clears the margin, it matters."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard import quantities as fmt
from steelyard.analysis.judgement.results import Comparison, Metric
from steelyard.report.charts.domain import cut_note
from steelyard.report.charts.figure import Figure, Panel, Spec
from steelyard.report.charts.forest import forest
from steelyard.report.presented.headings import heading
from steelyard.report.presented.marks import MARKS, WORDS
from steelyard.report.presented.palette import Palette
from steelyard.report.presented.presented import Presented
from steelyard.report.text_table import Table

# on a phone, longer labels stand above their interval: beside it they would leave no picture
_LONGEST_BESIDE = 14
_MANY = 8


def figure(presented: Presented) -> Figure | None:
    """A panel for each of throughput, CPU per transaction and p99 that was compared."""
    found = [(metric, presented.comparisons[metric.name]) for metric in presented.judged]
    compared = [(metric, items) for metric, items in found if items]
    if not compared:
        return None
    baseline, palette = presented.judgement.baseline, presented.palette
    margin = compared[0][1][0].margin
    panels = tuple(_panel(metric, items, palette) for metric, items in compared)
    return Figure(
        name="ratios",
        title=f"Compared with {baseline}",
        caption=(
            f"Ratio to the baseline {baseline}{presented.about.over(', geometric mean over ')}, with"
            " its 95 % interval, adjusted for the number of options."
            f" Grey band: differences under {margin * 100:.3g} %, which the study calls too "
            f"small to matter.{cut_note(panels)}"
        ),
        panels=panels,
        table=_table(compared),
        layout="tabs" if len(compared[0][1]) > _MANY else "grid",
        key="none" if palette.by_option else "fill",
    )


def _panel(metric: Metric, items: Sequence[Comparison], palette: Palette) -> Panel:
    long = max(len(item.option) for item in items) > _LONGEST_BESIDE
    return Panel(
        f"ratios-{metric.name}",
        heading(metric),
        _plot(metric, items, palette, above=False),
        _plot(metric, items, palette, above=True) if long else None,
    )


def _plot(metric: Metric, items: Sequence[Comparison], palette: Palette, above: bool) -> Spec:
    named = [(item.option, item) for item in items]
    order = [item.option for item in items]
    row_px = 36 if above else 26 if len(items) <= _MANY else 20
    return forest(named, order, _direction(metric), palette, row_px, above)


def _direction(metric: Metric) -> str:
    if metric.better == "lower":
        return "← less is better"
    return "more is better →" if metric.better == "higher" else "ratio"


def _table(compared: list[tuple[Metric, Sequence[Comparison]]]) -> Table:
    return Table(
        ("option", "metric", "ratio [95 % interval]", "", "outcome", "p, adjusted", "blocks"),
        tuple(
            (
                item.option,
                heading(metric),
                fmt.ratio(item.ratio, item.low, item.high),
                MARKS[item.standing],
                WORDS[item.standing],
                fmt.probability(item.p_value),
                str(item.blocks),
            )
            for metric, items in compared
            for item in items
        ),
    )
