"""Run metrics of a program that reports scores: its score, further scores, and the cost of one unit of it.

A score of which more is better is taken as a rate (bops, tps): the instances' scores are added, and what
they use in a second over what they score in a second is the cost of one operation. Of a score that is no
rate the same ratio still compares. Where less is better (a time) the instances' scores are averaged, and a
cost is that of one instance. CPU time is what the kernel accounted to each instance at its end (getrusage):
a monitor misses processes that end between its samples. Where it missed a tenth of the study's CPU time, its
other counters of the instances are not used either.

The figures of a recording are metrics likewise, each of its run and load point. p50, p95 and p99 in a unit of
time are latencies, unless the file had each transaction. Without counted work the study's main figure counts.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from steelyard.analysis.judgement import Better, Metric
from steelyard.analysis.metrics.measured import Measured, by_column
from steelyard.bundle.evidence import Evidence
from steelyard.quantities import time_unit_ns
from steelyard.study.workloads.program import ProgramWorkload, lower_is_better
from steelyard.study.workloads.published import PublishedWorkload, RecordedFigure

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

# of the instances: the metric's name, its title and its unit; all but CPU time as sampled
_USED = (
    ("cpu_us", "CPU time of the instances", "us"),
    ("runqueue_wait_us", "run-queue wait of the instances", "us"),
    ("switches_voluntary", "voluntary switches of the instances", "1"),
    ("switches_involuntary", "involuntary switches of the instances", "1"),
)
COSTS = tuple(f"{name}_per_{work}" for work in ("score", "instance") for name, *_ in _USED)


def is_score(metric: str) -> bool:
    """Whether the metric of this name is a score, of all instances or of each, or a further one."""
    return metric in (SCORE, EACH) or metric.startswith(FURTHER)


# what the instances use in a second over what they score in a second; of times, over their number in a second
_SCORES = """
    with scored as (
        select p.run, p.point, sum(score) as total, count(*) as instances,
            sum(cpu_ns) / any_value(p.seconds) / 1e9 as cpus, cpus * 1e6 as cpu_us,
            any_value(p.seconds) as seconds
        from scores join points p using (run, point) group by p.run, p.point
    ), sampled as (
        select run, point, any_value(rate_per_s) filter (metric = 'cpu_ns_total') as cpu_ns,
            any_value(rate_per_s) filter (metric = 'runqueue_wait_ns_total') / 1e3 as runqueue_wait_us,
            any_value(rate_per_s) filter (metric = 'voluntary_switches_total') as switches_voluntary,
            any_value(rate_per_s) filter (metric = 'involuntary_switches_total') as switches_involuntary
        from rates where monitor = 'processes' and entity = 'server' group by run, point
    ), seen as (
        from sampled where (select sum(cpu_ns) from sampled) >= {seen} * (select sum(cpus) from scored) * 1e9
    )
    select run, point,
        {columns} from scored left join seen using (run, point)
"""
# figures of the files or further scores, averaged over instances
_FIGURES = """
    with figures as (select unnest($figures, recursive := true))
    select metric as name, run, point, avg(value) * any_value(scale) as value
    from further_scores join figures using (name) group by metric, run, point
"""


def program_metrics(evidence: Evidence) -> list[Measured]:
    """Scores, the CPU that instances use, their costs; none where the work is no program."""
    workload = evidence.workload
    if not isinstance(workload, ProgramWorkload):
        return []
    cpus, unit, of_time = Metric(CPUS, "CPUs used", "CPUs", "neither"), workload.score_unit, 1.0
    if workload.lower_is_better:
        score, of_time = _of_unit(Metric(SCORE, _title(workload), unit, "lower"))
        scores, work, each, per_s = [score, cpus], "instance", "instance", "(instances / seconds)"
    else:
        total = Metric(SCORE, f"total {unit}", unit, "higher")
        scores = [total, Metric(EACH, f"{unit} per instance", unit, "higher"), cpus]
        work, each, per_s = "score", _counted(unit), "total"
    score = "total / instances" if workload.lower_is_better else "total"
    costs = [Metric(f"{name}_per_{work}", title, f"{short}/{each}", "lower") for name, title, short in _USED]
    of_costs = [f"{name} / {per_s} as {name}_per_{work}" for name, *_ in _USED]
    of_scores = [
        f"{score} * {of_time} as score",
        "total / instances as score_per_instance",
        "cpus as cpus_used",
    ]
    named = {
        name: figure(
            name, name, score.unit, "lower" if lower_is_better(score.unit, score.better) else "higher"
        )
        for name, score in workload.scores.items()
    }
    return [_measured(scores, of_scores), *figures(named), _measured(costs, of_costs)]


def _measured(metrics: Sequence[Metric], columns: Sequence[str]) -> Measured:
    return Measured(metrics, by_column(_SCORES.format(seen=_SEEN, columns=", ".join(columns))))


def figures(named: Mapping[str, tuple[Metric, float]]) -> list[Measured]:
    """Further scores by name, each with its metric and the scale to its unit."""
    rows = [{"name": name, "metric": metric.name, "scale": scale} for name, (metric, scale) in named.items()]
    return [Measured([metric for metric, _ in named.values()], _FIGURES, {"figures": rows})] if rows else []


def figure(name: str, title: str, unit: str, better: Better) -> tuple[Metric, float]:
    """The metric of a further score, and the scale to its unit; p50 ... in a unit of time are latencies."""
    if name in _LATENCIES and time_unit_ns(unit):
        return _of_unit(Metric(f"{name}_ns", f"latency {name}", unit, "lower"))
    return _of_unit(Metric(FURTHER + name, title, unit, better))


def _of_unit(metric: Metric) -> tuple[Metric, float]:
    """A time in ns, so that it is shown in the unit that fits; all else as it is. With the scale to it."""
    scale = time_unit_ns(metric.unit)
    return (metric, 1.0) if scale is None else (replace(metric, unit="ns"), scale)


def _counted(unit: str) -> str:
    """What a score counts: `transaction` of `tps`, `event` of `events/s`; another unit as it is."""
    what, _, per = unit.rpartition("/")
    return what.removesuffix("s") if what and per in ("s", "sec") else _RATES.get(unit.lower(), unit)


def _title(workload: ProgramWorkload) -> str:
    if workload.score is None:
        return "run time"
    return "time" if time_unit_ns(workload.score_unit) else f"mean {workload.score_unit}"


def recorded_metrics(evidence: Evidence, measured: Collection[str]) -> list[Measured]:
    """Each figure, NULL where a run has none.

    measured: names of metrics that are known already, which a file's own figure does not replace.
    """
    workload = evidence.workload
    if not isinstance(workload, PublishedWorkload):
        return []
    named = {name: _metric(name, one, name == workload.main_figure) for name, one in workload.figures.items()}
    return figures({name: found for name, found in named.items() if found[0].name not in measured})


def _metric(name: str, recorded: RecordedFigure, main: bool) -> tuple[Metric, float]:
    title = name.removesuffix("_percent").removesuffix("_per_s").replace("_", " ")
    title = re.sub(r"\b(cpu|os|io)\b", lambda found: found[1].upper(), title)
    unit = recorded.unit.replace("1/s", "/s")
    if main:
        return _of_unit(Metric(SCORE, title, unit, recorded.better))
    return figure(name, title, unit, recorded.better)
