"""How throughput grows with clients: % linear, models with intervals, the maximum that was measured.

Models (`statistics.scaling_models`) are chosen by AICc (Hurvich & Tsai 1989). Each is fitted twice: errors
in proportion to throughput, weighted by the scatter between blocks, and absolute errors of one size at
all points, as published fits of the law have it. The text is made in `scaling_text`.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from steelyard.analysis.comparison.block_table import points_of, values_of
from steelyard.analysis.judgement import Notice
from steelyard.analysis.judgement.scaling import Curve, Interval, MeasuredMaximum, Scaling, ScalingPoint
from steelyard.analysis.load.scaling_text import (
    LEAST_TO_CHOOSE,
    LEAST_TO_FIT,
    MISSED_TREND,
    correlation,
    sentence,
)
from steelyard.analysis.metrics.run_metrics import THROUGHPUT, RunMetrics
from steelyard.analysis.statistics.distributions import Floats, half_width
from steelyard.analysis.statistics.profile_likelihood import Ends, parameter_intervals, peak_interval, serial
from steelyard.analysis.statistics.scaling_models import Fitted, Model, Observed, SharedCore, Usl, fit
from steelyard.bundle.evidence import Evidence, Topology
from steelyard.study.workloads.workload import Workload

_PRIOR_DF = 4.0  # how far a point's own variance is drawn to that of all points
_NONE: Floats = np.zeros(0)


def scalings(evidence: Evidence, run_metrics: RunMetrics) -> Iterator[Scaling]:
    """Every option at all its points; nothing of an open loop, whose rate is given, or of one point.

    Nor of an emulated guest, on whose single CPU no client waits.
    """
    points = points_of(run_metrics)
    workload = evidence.workload
    if len(points) < 2 or workload.open_loop or evidence.instruction_time:
        return
    # a client that thinks does not compete for a CPU
    topology = Topology() if workload.thinks else evidence.topology
    labels = evidence.labels
    by_point = {
        clients: values_of(run_metrics, THROUGHPUT.name, labels, point) for point, clients in points.items()
    }
    levels = values_of(run_metrics, THROUGHPUT.name, labels)
    for option in evidence.options:
        seen = {clients: values.get(option.label, _NONE) for clients, values in by_point.items()}
        logs = {clients: np.log(x) for clients, x in seen.items() if len(x) and (x > 0).all()}
        if len(logs) > 1:
            means = [math.exp(float(each.mean())) for each in logs.values()]
            level = _level_error(levels.get(option.label, _NONE))
            yield scaling(option.label, [*logs], means, topology, workload, [*logs.values()], level)


def scaling(
    option: str,
    clients: Sequence[int],
    throughput_per_s: Sequence[float],
    topology: Topology,
    work: Workload,
    logs: Sequence[Floats] = (),
    level_error: float = 0.0,
) -> Scaling:
    """One series. logs: logarithms of the runs at each point, where known.

    level_error: half the 95 % interval of what all points have in common, as a logarithm. work: what the
    numbers of `clients` count.
    """
    rows = zip(clients, throughput_per_s, logs or [_NONE] * len(clients), strict=True)
    ordered = sorted(rows, key=lambda row: row[0])
    least, slowest, fewest = ordered[0]
    points = tuple(
        ScalingPoint(
            n,
            per_s,
            linear := per_s * least / (slowest * n),
            topology.cpus is not None and n > topology.cpus,
            *_linear_ends(linear, own, fewest),
        )
        for n, per_s, own in ordered
    )
    most = max(points, key=lambda point: point.throughput_per_s)
    maximum = MeasuredMaximum(most.clients, most.throughput_per_s, most is points[-1])
    curves = absolute = tuple[Curve, ...]()
    if len(points) >= LEAST_TO_FIT:
        models = _candidates(points, topology)
        x = [p.clients for p in points], [p.throughput_per_s for p in points]
        curves = _curves(models, Observed.of(*x, _weights([own for _, _, own in ordered])), level_error)
        # a variance measured at each point would turn absolute errors into proportional ones
        absolute = _curves(models, Observed.of(*x, relative=False), level_error)
    text = sentence(points, maximum, curves, absolute, topology, work)
    return Scaling(option, points, maximum, curves, absolute, text)


def _linear_ends(linear: float, logs: Floats, fewest: Floats) -> Ends:
    """Interval of linear: Student's t on the log ratio within blocks to the fewest clients."""
    if not len(logs) == len(fewest) > 1:
        return 0.0, math.inf
    half = half_width(logs - fewest)
    return linear * math.exp(-half), linear * math.exp(half)


def scaling_notices(found: Sequence[Scaling]) -> list[Notice]:
    """One notice per option whose best curve misses a trend in its data."""
    return [
        Notice("scaling-residuals", MISSED_TREND, one.option, detail=correlation(best.serial))
        for one in found
        for best in one.curves[:1]
        if best.serial and best.serial.trend
    ]


def _candidates(points: Sequence[ScalingPoint], topology: Topology) -> list[Model]:
    most = points[-1].clients
    cores = topology.cores or topology.cpus or math.inf
    beyond = sum(p.clients > cores for p in points)
    # a kink needs points on both sides of it
    if len(points) < LEAST_TO_CHOOSE or min(beyond, len(points) - beyond) < 2:
        return [Usl()]
    cpus = topology.cpus or most
    return [Usl(), SharedCore(int(cores), cpus if cpus > cores else most)]


def _weights(logs: Sequence[Floats]) -> list[float] | None:
    """1/variance of each point's mean; None (all alike) with fewer than three blocks."""
    counts = [len(each) for each in logs]
    if min(counts) < 3:
        return None
    own = [float(each.var(ddof=1)) for each in logs]
    common = float(np.mean(own))
    if common == 0:
        return None
    return [
        n / (((n - 1) * v + _PRIOR_DF * common) / (n - 1 + _PRIOR_DF))
        for n, v in zip(counts, own, strict=True)
    ]


def _level_error(runs: Floats) -> float:
    """Half the 95 % interval of the mean logarithm of runs; 0 of one run, which does not show it.

    A run is fast or slow at all its points alike: the residuals of a curve do not show that.
    """
    logs = np.log(runs[runs > 0])
    return half_width(logs) if len(logs) > 1 else 0.0


def _curves(models: Sequence[Model], observed: Observed, level_error: float) -> tuple[Curve, ...]:
    """Every model fitted, the best first."""
    # the sort is stable: without a criterion the law, named first, stays first
    best_first = sorted((fit(model, observed) for model in models), key=lambda found: found.aicc)
    return tuple(_curve(found, level_error) for found in best_first)


def _curve(found: Fitted, level_error: float) -> Curve:
    lam, *others = parameter_intervals(found)
    rate = float(found.parameters[0])
    ends = [_widened(rate, lam, level_error), *others]
    names = ("lambda", *found.model.parameters)
    peak = None
    if found.model.name == "usl":
        value, (low, high) = peak_interval(found)
        peak = Interval(value, low, high)
    return Curve(
        model=found.model.name,
        errors="proportional" if found.observed.relative else "absolute",
        parameters={
            name: Interval(value, low, high)
            for name, value, (low, high) in zip(names, found.parameters.tolist(), ends, strict=True)
        },
        degrees_of_freedom=found.degrees_of_freedom,
        residual_sd=found.residual_sd,
        aicc=found.aicc if math.isfinite(found.aicc) else None,
        fitted_per_s=tuple(found.at(found.observed.clients.tolist()).tolist()),
        peak=peak,
        serial=serial(found),
    )


def _widened(value: float, ends: Ends, by: float) -> Ends:
    """The interval of a rate whose level is itself uncertain: independent errors of its logarithm."""
    low, high = ends
    if math.isnan(low):
        return ends
    below = math.log(value / low) if low > 0 else math.inf
    return value * math.exp(-math.hypot(below, by)), value * math.exp(math.hypot(math.log(high / value), by))
