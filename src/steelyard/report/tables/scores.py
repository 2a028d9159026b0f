"""Scores of programs by number of instances, and figures of recordings, each with its ratio."""

from __future__ import annotations

from functools import partial

from steelyard import quantities as fmt
from steelyard.analysis.judgement.results import Estimate, Metric
from steelyard.analysis.metrics.programs import FURTHER
from steelyard.report.presented.marks import MARKS
from steelyard.report.presented.presented import Presented
from steelyard.report.table import Cell, Column, Row, Table, ratio_of


def of_programs(presented: Presented) -> Table | None:
    """One row per number of instances and option; None where no program was run."""
    judgement, about = presented.judgement, presented.about
    work = presented.headlines.work
    shown = presented.headlines.scores
    if work is None or not shown or about.subject == "recording":
        return None
    points = about.phases.clients
    at_points = [e for e in judgement.estimates if e.clients is not None or len(points) == 1]
    # estimates over all points are those of the only one, where there is one
    by = {(e.metric, e.clients or points[0], e.option): e for e in at_points}
    against = {
        (c.metric, c.clients or points[0], c.option): c
        for c in judgement.comparisons
        if c.clients is not None or len(points) == 1
    }
    rows: list[Row] = []
    for instances in points:
        for option in judgement.options:
            at = instances, option
            found = {metric.name: against.get((metric.name, *at)) for metric in (work, *shown)}
            versus, missing = found[work.name], "baseline" if option == judgement.baseline else None
            rows.append(
                {
                    "name": f"{MARKS[versus.standing] if versus else '·'} {instances} × {option}",
                    "cpus": cpus.value if (cpus := by.get(("cpus_used", *at))) else None,
                    **{metric.name: by.get((metric.name, *at)) for metric in shown},
                    **{f"ratio of {name}": ratio_of(c) if c else missing for name, c in found.items()},
                }
            )
    further = [metric for metric in shown if metric.name.startswith(FURTHER)]
    columns = [
        Column("  instances × option", "name"),
        *(_column(metric) for metric in shown if metric not in further),
        Column("ratio", f"ratio of {work.name}"),
    ]
    for metric in further:
        columns += [_column(metric), Column(f"ratio of {metric.title}", f"ratio of {metric.name}")]
    return Table([*columns, Column("CPUs", "cpus")], rows)


def _column(metric: Metric) -> Column:
    return Column(_heading(metric), metric.name, partial(_interval, metric))


def _heading(metric: Metric) -> str:
    """`bops`, `bops/instance`, `run time`, `memory (MiB)`."""
    if metric.title.endswith(" per instance"):
        return f"{metric.unit}/instance"
    if metric.title == f"total {metric.unit}":
        return metric.unit
    return metric.title if metric.unit == "ns" else f"{metric.title} ({metric.unit})"


def _interval(metric: Metric, found: Estimate) -> str:
    if metric.unit == "ns":
        return fmt.interval(found.value, found.low, found.high, metric.unit)
    return fmt.thousands(found.value, found.low, found.high)


def of_files(presented: Presented) -> Table | None:
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
