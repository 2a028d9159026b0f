"""Scores of programs by number of instances: in total and each, or their mean where less is better.

The ratio of the compared score stands beside it, that of each further score beside that one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from steelyard import quantities as fmt
from steelyard.analysis.judgement.results import Estimate, Judgement, Metric
from steelyard.analysis.metrics.programs import FURTHER
from steelyard.report.about.about import About
from steelyard.report.presented.marks import MARKS
from steelyard.report.presented.presented import Presented
from steelyard.report.table import Table, plain_table, ratio_of


def table(presented: Presented) -> Table | None:
    """One row per number of instances and option; None where no program was run."""
    judgement, about = presented.judgement, presented.about
    work = presented.headlines.work
    shown = presented.headlines.scores
    if work is None or not shown or about.subject == "recording":
        return None
    only = about.phases.clients[0]
    by = {(e.metric, e.clients or only, e.option): e for e in _by_point(judgement, about)}
    against = {
        (c.metric, c.clients or only, c.option): c
        for c in judgement.comparisons
        if _at_point(c.clients, about)
    }
    compared = [metric for metric in shown if not metric.name.startswith(FURTHER)]
    further = [metric for metric in shown if metric.name.startswith(FURTHER)]
    rows: list[Sequence[Any]] = []
    for instances in about.phases.clients:
        for option in judgement.options:
            at = instances, option
            found = {metric: against.get((metric.name, *at)) for metric in (work, *further)}
            versus, missing = found[work], "baseline" if option == judgement.baseline else None
            ratios = {metric: ratio_of(c) if c else missing for metric, c in found.items()}
            cpus = by.get(("cpus_used", *at))
            mark = MARKS[versus.standing] if versus else "·"
            rows.append(
                (
                    f"{mark} {instances} × {option}",
                    *(_interval(by.get((metric.name, *at)), metric) for metric in compared),
                    ratios[work],
                    *(
                        cell
                        for metric in further
                        for cell in (_interval(by.get((metric.name, *at)), metric), ratios[metric])
                    ),
                    cpus and cpus.value,
                )
            )
    names = [name for metric in further for name in (_heading(metric), f"ratio of {metric.title}")]
    head = ("  instances × option", *map(_heading, compared), "ratio", *names, "CPUs")
    return plain_table(head, rows)


def _heading(metric: Metric) -> str:
    """`bops`, `bops/instance`, `run time`, `memory (MiB)`."""
    if metric.title.endswith(" per instance"):
        return f"{metric.unit}/instance"
    if metric.title == f"total {metric.unit}":
        return metric.unit
    return metric.title if metric.unit == "ns" else f"{metric.title} ({metric.unit})"


def _at_point(clients: int | None, about: About) -> bool:
    """Estimates over all points are those of the only one, where there is one."""
    return clients is not None or len(about.phases.clients) == 1


def _by_point(judgement: Judgement, about: About) -> list[Estimate]:
    return [e for e in judgement.estimates if _at_point(e.clients, about)]


def _interval(estimate: Estimate | None, metric: Metric) -> str:
    if estimate is None:
        return fmt.MISSING
    if metric.unit == "ns":
        return fmt.interval(estimate.value, estimate.low, estimate.high, metric.unit)
    return fmt.thousands(estimate.value, estimate.low, estimate.high)
