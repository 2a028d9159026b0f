"""Run metrics of a recording: the figures that its files give, each as a metric of its run and load point.

p50, p95 and p99 in a unit of time are latencies, unless the file had each transaction. Where no work was
counted, the study's main figure stands for it.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from steelyard.analysis.judgement.results import Metric
from steelyard.analysis.metrics.measured import Measured
from steelyard.analysis.metrics.programs import SCORE, figure, figures, of_unit
from steelyard.bundle.evidence.evidence import Evidence
from steelyard.study.workloads.published import PublishedWorkload, RecordedFigure


def recorded_metrics(evidence: Evidence, measured: Collection[str]) -> list[Measured]:
    """Each figure, NULL where a run has none.

    measured: names of metrics that are known already, which a file's own figure does not replace.
    """
    workload = evidence.study.workload
    if not isinstance(workload, PublishedWorkload):
        return []
    named = {name: _metric(name, one, name == workload.main_figure) for name, one in workload.figures.items()}
    return figures({name: found for name, found in named.items() if found[0].name not in measured})


def _metric(name: str, recorded: RecordedFigure, main: bool) -> tuple[Metric, float]:
    title = name.removesuffix("_percent").removesuffix("_per_s").replace("_", " ")
    title = re.sub(r"\b(cpu|os|io)\b", lambda found: found[1].upper(), title)
    unit = recorded.unit.replace("1/s", "/s")
    if main:
        return of_unit(Metric(SCORE, title, unit, recorded.better))
    return figure(name, title, unit, recorded.better)
