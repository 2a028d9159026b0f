"""How throughput grows with clients, in one text: what the data show, and what they do not.

Below a difference of 2 in AICc models cannot be distinguished. A peak beyond the data is an
extrapolation: it is given only with a closed interval.
"""

import math
from collections.abc import Sequence

from steelyard.analysis.judgement.scaling import Curve, Interval, MeasuredMaximum, ScalingPoint, Serial
from steelyard.bundle.evidence import Topology
from steelyard.quantities import p_value, percent, significant
from steelyard.study.workloads.workload import Workload

LEAST_TO_FIT, LEAST_TO_CHOOSE = 4, 6
MISSED_TREND = (
    "the residuals of the fitted curve follow one another: the model misses a trend in the data, and"
    " its intervals are too narrow"
)
_LEAST_FOR_INTERVALS = 5
_CLEAR = 2.0  # of AICc
_TITLES = {"usl": "the Universal Scalability Law", "shared-core": "the shared-core model"}


def sentence(
    points: Sequence[ScalingPoint],
    maximum: MeasuredMaximum,
    curves: Sequence[Curve],
    absolute: Sequence[Curve],
    topology: Topology,
    work: Workload,
) -> str:
    """All of it. curves, absolute: as in Scaling, the best first."""
    last = points[-1]
    base = points[0].clients
    than = "" if base == 1 else f" (of {work.counted(base)}: one alone was not measured)"
    parts = [f"{work.counted(last.clients)} give {percent(last.linear)} of linear{than}."]
    if not curves:
        parts.append(
            f"{len(points)} points are too few for a curve: {LEAST_TO_FIT} are needed,"
            f" {LEAST_TO_CHOOSE} to choose between models."
        )
    else:
        best = curves[0]
        parts += [_choice(curves), _meaning(best, last.clients, topology, work)]
        end = ", the last point" if maximum.last else ""
        parts.append(
            f"The measured maximum is {significant(maximum.throughput_per_s)}/s, at"
            f" {work.counted(maximum.clients)}{end}."
        )
        if not _known(best.parameters["sigma"]):
            parts.append(
                f"No intervals: {len(points)} points leave one degree of freedom, {_LEAST_FOR_INTERVALS}"
                " points are needed."
            )
        if best.serial and best.serial.trend:
            parts.append(f"{MISSED_TREND[0].upper()}{MISSED_TREND[1:]} ({correlation(best.serial)}).")
        parts += [_other_fit(other, work) for other in absolute if _differ(best, other)]
    if beyond := [p.clients for p in points if p.oversubscribed]:
        cpus = f"{topology.cpus} CPU{'s' * (topology.cpus != 1)}"
        parts.append(
            f"From {work.counted(beyond[0])} on there are more of them than the {cpus}: that part is"
            " oversubscription, not parallelism."
        )
    return " ".join(parts)


def correlation(found: Serial) -> str:
    """`lag-1 correlation 0.83, -0.09 expected of independent errors, p < 0.001`."""
    return (
        f"lag-1 correlation {found.lag1:.2f}, {found.expected:.2f} expected of independent errors,"
        f" {p_value(found.p_value)}"
    )


def _choice(curves: Sequence[Curve]) -> str:
    best, *others = curves
    title = _TITLES[best.model]
    if not others:
        return f"By {title}:"
    one, other = best.aicc or 0.0, others[0].aicc or 0.0
    text = f"(AICc {one:.1f} against {other:.1f} of {_TITLES[others[0].model]})"
    if other - one < _CLEAR:
        return f"The models cannot be distinguished {text}; by {title}, slightly the better:"
    return f"{title[0].upper()}{title[1:]} fits best {text}:"


def _meaning(curve: Curve, most: int, topology: Topology, work: Workload) -> str:
    serial = f"{_share(curve.parameters['sigma'])} of the work is serial (contention)"
    if curve.model == "shared-core":
        each = _share(curve.parameters["yield"])
        cores = topology.cores or topology.cpus
        return f"beyond {cores} cores further {work.points_are} add {each} of a core each; {serial}."
    return f"{serial}, {_coherency(curve)}; {_peak_text(curve.peak, most, work)}"


def _coherency(curve: Curve) -> str:
    kappa = curve.parameters["kappa"]
    return f"coherency {significant(kappa.value)}{_interval(kappa)}"


def _peak_text(peak: Interval | None, most: int, work: Workload) -> str:
    if peak is None or (not math.isfinite(peak.high) and not peak.value <= most):
        unknown = f"peak unknown: {work.counted(most)} do not reach it"
        if peak is not None and not _known(peak):
            return f"{unknown}, and it has no interval."
        if peak is None or not math.isfinite(peak.low):
            return f"{unknown}, and its 95 % CI has no upper bound."
        return f"{unknown} (95 % CI from {significant(peak.low)}, no upper bound)."
    text = f"most throughput at {_peak(peak, work)}"
    if peak.value <= most:
        return f"{text}, within what was measured."
    return f"{text}: an extrapolation, since only {most} were measured."


def _peak(peak: Interval, work: Workload) -> str:
    n = peak.value
    at = work.counted(1) if n == 1 else f"{significant(n)} {work.points_are}"
    return f"{at}{_interval(peak)}"


def _interval(value: Interval) -> str:
    """After the value; '' where there is none."""
    if not _known(value):
        return ""
    low = significant(value.low)
    if math.isinf(value.high):
        return f" (95 % CI from {low}, no upper bound)"
    return f" [{low} to {significant(value.high)}]"


def _differ(best: Curve, other: Curve) -> bool:
    """Whether two fits of one model give different answers: a value of one outside the other's interval."""
    if best.model != other.model or not _known(best.parameters["sigma"]):
        return False
    pairs = [(best.parameters[name], other.parameters[name]) for name in best.parameters if name != "lambda"]
    return any(not (a.low <= b.value <= a.high and b.low <= a.value <= b.high) for a, b in pairs)


def _other_fit(other: Curve, work: Workload) -> str:
    parts = [f"contention {_share(other.parameters['sigma'])}"]
    if other.model == "shared-core":
        parts.append(f"{_share(other.parameters['yield'])} of a core each beyond the cores")
    else:
        parts.append(_coherency(other))
        if other.peak and math.isfinite(other.peak.high):
            parts.append(f"a peak at {_peak(other.peak, work)}")
        else:
            parts.append("no peak")
    return (
        "This assumes errors in proportion to throughput. With errors of the same absolute size at all"
        f" points the model gives {', '.join(parts)}: outside the intervals above."
    )


def _share(interval: Interval) -> str:
    """`2.08 % [1.28 to 2.99 %]`; the value alone where there is no interval."""
    if not _known(interval):
        return percent(interval.value)
    return f"{percent(interval.value)} [{significant(100 * interval.low)} to {percent(interval.high)}]"


def _known(interval: Interval) -> bool:
    return not math.isnan(interval.low)
