"""Scores of programs by number of instances: in total and each, or their mean where less is better."""

from __future__ import annotations

from steelyard import quantities as fmt
from steelyard.analysis.judgement.results import Estimate, Judgement, Metric
from steelyard.report.about.about import About
from steelyard.report.presented.marks import MARKS
from steelyard.report.presented.presented import Presented
from steelyard.report.text_table import Table


def table(presented: Presented) -> Table | None:
    """One row per number of instances and option; None where no program was run."""
    judgement, about = presented.judgement, presented.about
    work = presented.headlines.work
    shown = presented.headlines.scores
    if work is None or not shown:
        return None
    only = about.phases.clients[0]
    by = {(e.metric, e.clients or only, e.option): e for e in _by_point(judgement, about)}
    against = {
        (c.clients or only, c.option): c
        for c in judgement.comparisons
        if c.metric == work.name and _at_point(c.clients, about)
    }
    rows: list[tuple[str, ...]] = []
    for instances in about.phases.clients:
        for option in judgement.options:
            cpus = by.get(("cpus_used", instances, option))
            versus = against.get((instances, option))
            missing = "baseline" if option == judgement.baseline else fmt.MISSING
            rows.append(
                (
                    f"{MARKS[versus.outcome] if versus else '·'} {instances} × {option}",
                    *(_interval(by.get((metric.name, instances, option)), metric) for metric in shown),
                    fmt.ratio(versus.ratio, versus.low, versus.high) if versus else missing,
                    fmt.significant(cpus.value) if cpus else fmt.MISSING,
                )
            )
    return Table(("  instances × option", *map(_heading, shown), "ratio", "CPUs"), tuple(rows))


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
