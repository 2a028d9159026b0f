"""Figures that the files of a recording give: each with its interval over runs, and its ratio."""

from __future__ import annotations

from steelyard import quantities as fmt
from steelyard.analysis.judgement.results import Estimate, Metric
from steelyard.report.presented.marks import MARKS
from steelyard.report.presented.presented import Presented
from steelyard.report.text_table import Table


def table(presented: Presented) -> Table | None:
    """One row per figure and option, over all load points; None where nothing was recorded."""
    judgement = presented.judgement
    if presented.about.subject != "recording" or not presented.headlines.scores:
        return None
    estimates = {(e.metric, e.option): e for e in judgement.estimates if e.clients is None}
    against = {(c.metric, c.option): c for c in judgement.comparisons if c.clients is None}
    rows: list[tuple[str, ...]] = []
    for metric in presented.headlines.scores:
        for option in judgement.options:
            found = against.get((metric.name, option))
            estimate = estimates.get((metric.name, option))
            if estimate is None:
                continue
            missing = "baseline" if option == judgement.baseline else fmt.MISSING
            rows.append(
                (
                    f"{MARKS[found.standing] if found else '·'} {metric.title}",
                    option,
                    _value(estimate, metric),
                    fmt.ratio(found.ratio, found.low, found.high) if found else missing,
                )
            )
    return Table(("  figure", "option", "value", "ratio"), tuple(rows)) if rows else None


def _value(estimate: Estimate, metric: Metric) -> str:
    unit = "" if metric.unit == "1" else metric.unit
    return fmt.interval(estimate.value, estimate.low, estimate.high, unit)
