"""Run metrics of a program that reports a score: in total, per instance, and the cost of one unit of it.

Scores are taken as rates (bops, tps): what the instances use in a second over what they score in a
second is the cost of one operation. Of a score that is no rate the same ratio still compares.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steelyard.analysis.judgement.results import Metric
from steelyard.analysis.statistics.distributions import Floats
from steelyard.bundle.evidence.evidence import Evidence
from steelyard.study.workloads.program import ProgramWorkload

SCORE = "score"
EACH = "score_per_instance"
CPU_PER_SCORE = "cpu_us_per_score"
CPUS = "cpus_used"

# counters of the instances, and their scale to the metric's unit
_COSTS = (
    (CPU_PER_SCORE, "CPU time of the instances", "us", "cpu_ns_total", 1e-3),
    ("runqueue_wait_us_per_score", "run-queue wait of the instances", "us", "runqueue_wait_ns_total", 1e-3),
    (
        "switches_voluntary_per_score",
        "voluntary switches of the instances",
        "1",
        "voluntary_switches_total",
        1,
    ),
    (
        "switches_involuntary_per_score",
        "involuntary switches of the instances",
        "1",
        "involuntary_switches_total",
        1,
    ),
)
COSTS = tuple(name for name, *_ in _COSTS)


def program_metrics(evidence: Evidence, row_of: Mapping[tuple[int, int], int]) -> list[tuple[Metric, Floats]]:
    """Each metric with one value per run and load point; none where the work is no program."""
    workload = evidence.study.workload
    if not isinstance(workload, ProgramWorkload):
        return []
    unit = workload.unit
    total, instances = np.zeros(len(row_of)), np.zeros(len(row_of))
    columns = (evidence.scores[name].tolist() for name in ("run", "point", "score"))
    for run, point, score in zip(*columns, strict=True):
        total[row_of[run, point]] += score
        instances[row_of[run, point]] += 1
    known = np.where(instances > 0, total, np.nan)
    cpu_per_s = _rate(evidence, row_of, "cpu_ns_total")
    return [
        (Metric(SCORE, f"total {unit}", unit, "higher"), known),
        (Metric(EACH, f"{unit} per instance", unit, "higher"), known / np.maximum(instances, 1)),
        (Metric(CPUS, "CPUs used", "CPUs", "neither"), cpu_per_s / 1e9),
        *(
            (
                Metric(name, title, f"{short}/{unit}", "lower"),
                _rate(evidence, row_of, counter) * scale / known,
            )
            for name, title, short, counter, scale in _COSTS
        ),
    ]


def _rate(evidence: Evidence, row_of: Mapping[tuple[int, int], int], counter: str) -> Floats:
    """Growth per second of a counter of the instances, by row; NaN where it was not sampled."""
    rates = evidence.rates
    found = np.full(len(row_of), np.nan)
    instances = (rates["monitor"] == "processes") & (rates["entity"] == "server")
    for i in np.flatnonzero(instances & (rates["metric"] == counter)):
        row = row_of.get((int(rates["run"][i]), int(rates["point"][i])))
        if row is not None:
            found[row] = rates["rate_per_s"][i]
    return found
