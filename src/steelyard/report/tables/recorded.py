"""Figures that the files of a recording give: each with its interval over runs, and its ratio."""

from __future__ import annotations

from steelyard.report.presented.marks import MARKS
from steelyard.report.presented.presented import Presented
from steelyard.report.table import Cell, Column, Table, ratio_of


def table(presented: Presented) -> Table | None:
    """One row per figure and option, over all load points; None where nothing was recorded."""
    judgement = presented.judgement
    if presented.about.subject != "recording" or not presented.headlines.scores:
        return None
    estimates = {(e.metric, e.option): e for e in judgement.estimates if e.clients is None}
    against = {(c.metric, c.option): c for c in judgement.comparisons if c.clients is None}
    rows = [
        {
            "figure": f"{MARKS[found.standing] if found else '·'} {metric.title}",
            "option": option,
            "value": Cell(estimate.value, estimate.low, estimate.high, metric.unit.removeprefix("1")),
            "ratio": ratio_of(found) if found else "baseline" if option == judgement.baseline else None,
        }
        for metric in presented.headlines.scores
        for option in judgement.options
        for found in [against.get((metric.name, option))]
        if (estimate := estimates.get((metric.name, option)))
    ]
    columns = (Column("  figure", "figure"), *map(Column, ("option", "value", "ratio")))
    return Table(columns, rows) if rows else None
