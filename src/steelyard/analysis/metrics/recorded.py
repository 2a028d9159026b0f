"""Run metrics of a recording: the figures that its files give, each as a metric of its run and load point.

p50, p95 and p99 in a unit of time are latencies, unless the file had each transaction. Where no work was
counted, the study's main figure stands for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from steelyard.analysis.judgement.results import Metric
from steelyard.analysis.metrics.programs import FURTHER, SCORE
from steelyard.analysis.statistics.distributions import Floats
from steelyard.bundle.evidence.evidence import Evidence
from steelyard.quantities import time_unit_ns
from steelyard.study.workloads.published import PublishedWorkload, RecordedFigure

_LATENCIES = ("p50", "p95", "p99")


def recorded_metrics(
    evidence: Evidence, row_of: Mapping[tuple[int, int], int], measured: Mapping[str, Floats]
) -> list[tuple[Metric, Floats]]:
    """Each figure with one value per run and load point, NaN where a run has none.

    measured: metrics that are known already, which a file's own figure does not replace.
    """
    workload = evidence.study.workload
    if not isinstance(workload, PublishedWorkload):
        return []
    table = evidence.view("further_scores")
    names: NDArray[np.object_] = np.asarray(table["name"], dtype=object)
    found: list[tuple[Metric, Floats]] = []
    for name, figure in workload.figures.items():
        values = np.full(len(row_of), np.nan)
        for i in np.flatnonzero(names == name):
            row = row_of.get((int(table["run"][i]), int(table["point"][i])))
            if row is not None:
                values[row] = table["value"][i]
        metric, scale = _metric(name, figure, name == workload.main_figure)
        if not (metric.name in measured and np.isfinite(measured[metric.name]).any()):
            found.append((metric, values * scale))
    return found


def _metric(name: str, figure: RecordedFigure, main: bool) -> tuple[Metric, float]:
    """The figure as a metric, and the scale to its unit; times are in ns, to be shown as it fits."""
    scale = time_unit_ns(figure.unit)
    unit = figure.unit.replace("1/s", "/s") if scale is None else "ns"
    title = name.removesuffix("_percent").removesuffix("_per_s").replace("_", " ")
    title = re.sub(r"\b(cpu|os|io)\b", lambda found: found[1].upper(), title)
    if main:
        return Metric(SCORE, title, unit, figure.better), scale or 1.0
    if name in _LATENCIES and scale is not None:
        return Metric(f"{name}_ns", f"latency {name}", "ns", "lower"), scale
    return Metric(FURTHER + name, title, unit, figure.better), scale or 1.0
