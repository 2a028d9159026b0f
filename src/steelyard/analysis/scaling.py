"""How throughput grows with clients: % linear, the model that fits best, and what cannot be said.

Models (see `curves`) are chosen by AICc (Hurvich & Tsai 1989); below a difference of 2 they cannot
be told apart. A peak beyond the data is an extrapolation: it is given only with a closed interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from steelyard.analysis.curves import Fitted, Model, Observed, SharedCore, Usl, fit
from steelyard.analysis.layout import lay_out, points_of
from steelyard.analysis.measures import THROUGHPUT, Measures
from steelyard.analysis.results import Curve, Interval, Scaling, ScalingPoint
from steelyard.analysis.tails import Floats
from steelyard.analysis.words import digits, percent
from steelyard.bundle.evidence import Evidence, Topology

_LEAST_TO_FIT, _LEAST_TO_CHOOSE = 4, 6
_TELLING = 2.0  # of AICc
_PRIOR_DF = 4.0  # how far a point's own variance is drawn to that of all points
_TITLES = {"usl": "the Universal Scalability Law", "shared-core": "the shared-core model"}


def scalings(evidence: Evidence, measures: Measures) -> tuple[Scaling, ...]:
    """Every option at all its points; nothing of an open loop, whose rate is given, or of one point.

    Nor of an emulated guest, whose one CPU nobody waits for.
    """
    points = points_of(measures)
    workload = evidence.study.workload
    if len(points) < 2 or workload.open_loop or evidence.instruction_time:
        return ()
    # who thinks does not compete for a CPU
    topology = Topology() if workload.thinks else evidence.topology
    found: list[Scaling] = []
    for option in evidence.options:
        seen = {
            clients: lay_out(measures, THROUGHPUT.name, [option.label], point).values.ravel()
            for point, clients in points.items()
        }
        seen = {clients: x for clients, x in seen.items() if len(x) and (x > 0).all()}
        if len(seen) > 1:
            logs = [np.log(values) for values in seen.values()]
            means = [math.exp(float(each.mean())) for each in logs]
            found.append(
                scaling(option.label, list(seen), means, topology, _weights(logs), workload.points_are)
            )
    return tuple(found)


def scaling(
    option: str,
    clients: Sequence[int],
    throughput_per_s: Sequence[float],
    topology: Topology,
    weights: Sequence[float] | None = None,
    points_are: str = "clients",
) -> Scaling:
    """One series. weights: 1/variance of each point's logarithm, on any common scale.

    points_are: what the numbers of `clients` count, in the plural.
    """
    order = sorted(range(len(clients)), key=lambda i: clients[i])
    first = order[0]
    points = tuple(
        ScalingPoint(
            clients=clients[i],
            throughput_per_s=throughput_per_s[i],
            linear=throughput_per_s[i] * clients[first] / (throughput_per_s[first] * clients[i]),
            oversubscribed=topology.cpus is not None and clients[i] > topology.cpus,
        )
        for i in order
    )
    curves: list[Curve] = []
    if len(points) >= _LEAST_TO_FIT:
        observed = Observed.of(
            [p.clients for p in points],
            [p.throughput_per_s for p in points],
            None if weights is None else [weights[i] for i in order],
        )
        fits = [fit(model, observed) for model in _candidates(points, topology)]
        # the sort is stable: without a criterion the law, named first, stays first
        curves = [_curve(found, points) for found in sorted(fits, key=lambda f: f.aicc)]
    return Scaling(option, points, tuple(curves), _sentence(points, curves, topology, points_are))


def _candidates(points: Sequence[ScalingPoint], topology: Topology) -> list[Model]:
    most = points[-1].clients
    cores = topology.cores or topology.cpus
    if cores is None or len(points) < _LEAST_TO_CHOOSE:
        return [Usl()]
    beyond = sum(p.clients > cores for p in points)
    within = len(points) - beyond
    # a kink needs points on both sides of it
    if beyond < 2 or within < 2:
        return [Usl()]
    cpus = topology.cpus or most
    return [Usl(), SharedCore(cores, cpus if cpus > cores else most)]


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


def _curve(found: Fitted, points: Sequence[ScalingPoint]) -> Curve:
    low, high = np.percentile(found.replicas, [2.5, 97.5], axis=0)
    names = ("lambda", *found.model.parameters)
    return Curve(
        model=found.model.name,
        parameters={
            name: Interval(float(v), float(a), float(b))
            for name, v, a, b in zip(names, found.parameters, low, high, strict=True)
        },
        residual_sd=found.residual_sd,
        aicc=found.aicc if math.isfinite(found.aicc) else None,
        fitted_per_s=tuple(found.at([p.clients for p in points]).tolist()),
        peak=_peak(found) if found.model.name == "usl" else None,
    )


def _peak(found: Fitted) -> Interval:
    """Clients at the law's maximum, sqrt((1 - sigma) / kappa), at least one; infinite without coherency."""

    def of(sigma: Floats, kappa: Floats) -> Floats:
        known = kappa > 1e-9
        return np.where(known, np.maximum(1.0, np.sqrt((1 - sigma) / np.where(known, kappa, 1.0))), np.inf)

    each = of(found.replicas[:, 1], found.replicas[:, 2])
    # an order statistic: between a finite and an infinite peak nothing can be interpolated
    low, high = np.quantile(each, [0.025, 0.975], method="higher")
    value = of(found.parameters[1:2], found.parameters[2:3])[0]
    return Interval(float(value), float(low), float(high))


def _sentence(
    points: Sequence[ScalingPoint], curves: Sequence[Curve], topology: Topology, points_are: str
) -> str:
    last = points[-1]
    base = points[0].clients
    than = "" if base == 1 else f" (of {base} {points_are}: one alone was not measured)"
    parts = [f"{last.clients} {points_are} give {percent(last.linear)} of linear{than}."]
    if not curves:
        parts.append(
            f"{len(points)} points are too few for a curve: {_LEAST_TO_FIT} are needed,"
            f" {_LEAST_TO_CHOOSE} to choose between models."
        )
    else:
        parts += [_choice(curves), _meaning(curves[0], points, topology, points_are)]
    if beyond := [p.clients for p in points if p.oversubscribed]:
        cpus = f"{topology.cpus} CPU{'s' * (topology.cpus != 1)}"
        parts.append(
            f"From {beyond[0]} {points_are} on there are more of them than the {cpus}: that part is"
            " oversubscription, not parallelism."
        )
    return " ".join(parts)


def _choice(curves: Sequence[Curve]) -> str:
    best, *others = curves
    title = _TITLES[best.model]
    if not others:
        return f"By {title}:"
    one, other = best.aicc or 0.0, others[0].aicc or 0.0
    text = f"(AICc {one:.1f} against {other:.1f} of {_TITLES[others[0].model]})"
    if other - one < _TELLING:
        return f"The models cannot be told apart {text}; by {title}, slightly the better:"
    return f"{title[0].upper()}{title[1:]} fits best {text}:"


def _meaning(curve: Curve, points: Sequence[ScalingPoint], topology: Topology, points_are: str) -> str:
    sigma = curve.parameters["sigma"]
    serial = f"{_span(sigma)} of the work is serial (contention)"
    if curve.model == "shared-core":
        each = _span(curve.parameters["yield"])
        cores = topology.cores or topology.cpus
        return f"beyond {cores} cores further {points_are} add {each} of a core each; {serial}."
    kappa = curve.parameters["kappa"]
    coherency = f"coherency {digits(kappa.value)} [{digits(kappa.low)} to {digits(kappa.high)}]"
    return f"{serial}, {coherency}; {_said_of_peak(curve.peak, points[-1].clients, points_are)}"


def _said_of_peak(peak: Interval | None, most: int, points_are: str) -> str:
    if peak is None or (not math.isfinite(peak.high) and not peak.value <= most):
        low = "" if peak is None or not math.isfinite(peak.low) else f", from {digits(peak.low)} on"
        return (
            f"no peak can be given: {most} {points_are} do not reach it and its interval has no upper"
            f" end{low}."
        )
    high = digits(peak.high) if math.isfinite(peak.high) else "no end"
    text = f"most throughput at {digits(peak.value)} {points_are} [{digits(peak.low)} to {high}]"
    if peak.value <= most:
        return f"{text}, within what was measured."
    return f"{text}: an extrapolation, since only {most} were measured."


def _span(interval: Interval) -> str:
    """`2.08 % [1.28 to 2.99 %]`."""
    return f"{percent(interval.value)} [{digits(100 * interval.low)} to {percent(interval.high)}]"
