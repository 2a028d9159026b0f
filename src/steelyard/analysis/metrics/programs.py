"""Run metrics of a program that reports scores: its score, further scores, and the cost of one unit of it.

A score of which more is better is taken as a rate (bops, tps): the instances' scores are added, and what
they use in a second over what they score in a second is the cost of one operation. Of a score that is no
rate the same ratio still compares. Where less is better (a time) the instances' scores are averaged, and a
cost is that of one instance. CPU time is what the kernel accounted to each instance at its end (getrusage):
a monitor misses processes that end between its samples. Where it missed a tenth of the study's CPU time, its
other counters of the instances are not used either.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.analysis.judgement.results import Metric
from steelyard.analysis.statistics.distributions import Floats
from steelyard.bundle.evidence.evidence import Columns, Evidence
from steelyard.quantities import time_unit_ns
from steelyard.study.workloads.program import ProgramWorkload, lower_is_better

SCORE = "score"
EACH = "score_per_instance"
CPU_PER_SCORE = "cpu_us_per_score"
CPU_PER_INSTANCE = "cpu_us_per_instance"
CPUS = "cpus_used"
# names of further scores
FURTHER = "score_of_"
# a further score of this name, in a unit of time, is the latency
_LATENCIES = ("p50", "p95", "p99")

# units that are rates by name, and what they count
_RATES = {"tps": "transaction", "qps": "query", "rps": "request", "ops": "operation", "iops": "operation"}

# a monitor that saw less than this share of the instances' CPU time missed processes
_SEEN = 0.9

_CPU = ("cpu_us", "CPU time of the instances", "us")
# of the instances, as sampled: the metric's name, its title, its unit, the counter, and the scale to the unit
_SAMPLED = (
    ("runqueue_wait_us", "run-queue wait of the instances", "us", "runqueue_wait_ns_total", 1e-3),
    ("switches_voluntary", "voluntary switches of the instances", "1", "voluntary_switches_total", 1),
    ("switches_involuntary", "involuntary switches of the instances", "1", "involuntary_switches_total", 1),
)
COSTS = tuple(f"{name}_per_{work}" for work in ("score", "instance") for name, *_ in (_CPU, *_SAMPLED))

Rows = Mapping[tuple[int, int], int]


@dataclass(frozen=True)
class _Scores:
    """Sums by row: of the scores, and of the instances that have one. row: one per run and load point."""

    total: Floats
    instances: Floats

    @property
    def mean(self) -> Floats:
        return self.total / self.instances


def is_score(metric: str) -> bool:
    """Whether the metric of this name is a score, of all instances or of each, or a further one."""
    return metric in (SCORE, EACH) or metric.startswith(FURTHER)


def program_metrics(evidence: Evidence, row_of: Rows) -> list[tuple[Metric, Floats]]:
    """Each metric with one value per run and load point; none where the work is no program."""
    workload = evidence.study.workload
    if not isinstance(workload, ProgramWorkload):
        return []
    scores = _summed(evidence.view("scores"), "score", row_of)
    cpus = (Metric(CPUS, "CPUs used", "CPUs", "neither"), _cpus(evidence, row_of))
    further = _further(evidence, workload, row_of)
    if workload.lower_is_better:
        metric, values = _of_time(Metric(SCORE, _title(workload), workload.score_unit, "lower"), scores.mean)
        per_s = scores.instances / _seconds(evidence, row_of)
        return [(metric, values), cpus, *further, *_costs(evidence, row_of, "instance", "instance", per_s)]
    unit = workload.score_unit
    return [
        (Metric(SCORE, f"total {unit}", unit, "higher"), scores.total),
        (Metric(EACH, f"{unit} per instance", unit, "higher"), scores.mean),
        cpus,
        *further,
        *_costs(evidence, row_of, "score", _counted(unit), scores.total),
    ]


def _counted(unit: str) -> str:
    """What a score counts: `transaction` of `tps`, `event` of `events/s`; another unit as it is."""
    what, _, per = unit.rpartition("/")
    return what.removesuffix("s") if what and per in ("s", "sec") else _RATES.get(unit.lower(), unit)


def _title(workload: ProgramWorkload) -> str:
    if workload.score is None:
        return "run time"
    return "time" if time_unit_ns(workload.score_unit) else f"mean {workload.score_unit}"


def _of_time(metric: Metric, values: Floats) -> tuple[Metric, Floats]:
    """A time in ns, so that it is shown in the unit that fits; all else as it is."""
    scale = time_unit_ns(metric.unit)
    if scale is None:
        return metric, values
    return Metric(metric.name, metric.title, "ns", metric.better), values * scale


def _further(evidence: Evidence, workload: ProgramWorkload, row_of: Rows) -> list[tuple[Metric, Floats]]:
    """Further scores, averaged over instances; p50, p95 and p99 in a unit of time are latencies."""
    names: NDArray[np.object_] = np.asarray(evidence.view("further_scores")["name"], dtype=object)
    found: list[tuple[Metric, Floats]] = []
    for name, score in workload.scores.items():
        rows = {key: column[names == name] for key, column in evidence.view("further_scores").items()}
        better = "lower" if lower_is_better(score.unit, score.better) else "higher"
        metric = Metric(FURTHER + name, name, score.unit, better)
        if name in _LATENCIES and time_unit_ns(score.unit):
            metric = Metric(f"{name}_ns", f"latency {name}", score.unit, "lower")
        found.append(_of_time(metric, _summed(rows, "value", row_of).mean))
    return found


def _summed(rows: Columns, column: str, row_of: Rows) -> _Scores:
    total, instances = np.zeros(len(row_of)), np.zeros(len(row_of))
    columns = (rows[name].tolist() for name in ("run", "point", column))
    for run, point, score in zip(*columns, strict=True):
        total[row_of[run, point]] += score
        instances[row_of[run, point]] += 1
    known = instances > 0
    return _Scores(np.where(known, total, np.nan), np.where(known, instances, np.nan))


def _seconds(evidence: Evidence, row_of: Rows) -> Floats:
    """Length of the measure phase by row."""
    found = np.full(len(row_of), np.nan)
    points = evidence.view("points")
    for run, point, seconds in zip(points["run"], points["point"], points["seconds"], strict=True):
        found[row_of[int(run), int(point)]] = seconds
    return found


def _cpus(evidence: Evidence, row_of: Rows) -> Floats:
    """CPU time of the instances per second, as the kernel accounted it at their end."""
    return _summed(evidence.view("scores"), "cpu_ns", row_of).total / _seconds(evidence, row_of) / 1e9


def _costs(
    evidence: Evidence, row_of: Rows, work: str, unit: str, per_s: Floats
) -> list[tuple[Metric, Floats]]:
    """What the instances use per unit of their work. per_s: that work per second, by row."""
    cpus = _cpus(evidence, row_of)
    rates = [(*_CPU, cpus * 1e6)]
    if np.nansum(_rate(evidence, row_of, "cpu_ns_total")) >= _SEEN * np.nansum(cpus) * 1e9:
        rates += [(*words, _rate(evidence, row_of, counter) * scale) for *words, counter, scale in _SAMPLED]
    return [
        (Metric(f"{name}_per_{work}", title, f"{short}/{unit}", "lower"), rate / per_s)
        for name, title, short, rate in rates
    ]


def _rate(evidence: Evidence, row_of: Rows, counter: str) -> Floats:
    """Growth per second of a counter of the instances, by row; NaN where it was not sampled."""
    rates = evidence.view("rates")
    found = np.full(len(row_of), np.nan)
    instances = (rates["monitor"] == "processes") & (rates["entity"] == "server")
    for i in np.flatnonzero(instances & (rates["metric"] == counter)):
        row = row_of.get((int(rates["run"][i]), int(rates["point"][i])))
        if row is not None:
            found[row] = rates["rate_per_s"][i]
    return found
