"""An option's throughput over its numbers of clients: load points, fitted models."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Interval:
    """A value with its 95 % interval; high is infinite where it is open, both ends NaN without any."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class ScalingPoint:
    """One number of clients. linear: throughput per client, over that of the fewest clients.

    linear_low, linear_high: its 95 % interval, from ratios within blocks; 0 and infinite where there is none.
    oversubscribed: more clients than CPUs, so that some of them only wait for one.
    """

    clients: int
    throughput_per_s: float
    linear: float
    oversubscribed: bool
    linear_low: float = 0.0
    linear_high: float = math.inf


@dataclass(frozen=True)
class MeasuredMaximum:
    """The point with the most throughput. last: it has the most clients too, so that more may bring more."""

    clients: int
    throughput_per_s: float
    last: bool


@dataclass(frozen=True)
class Serial:
    """How the residuals of a curve follow one another in the order of clients.

    lag1: their autocorrelation at lag 1, -1 to 1; expected: of independent errors after the same fit;
    p_value: probability that these give one so large or larger. trend: whether that is beyond chance.
    """

    lag1: float
    expected: float
    p_value: float
    trend: bool


@dataclass(frozen=True)
class Curve:
    """A model of scaling, fitted. parameters: by name, lambda first (transactions/s of one client).

    errors: proportional, fitted on logarithms and weighted; absolute, plain least squares on throughput.
    degrees_of_freedom: points - 3; below 2 no interval is known. residual_sd: of the logarithm, or in
    transactions/s. aicc: None with too few points for it. fitted_per_s: at the points. peak: number of
    clients with the most throughput, None where the model has none. serial: None below 5 points.
    """

    model: str
    errors: Literal["proportional", "absolute"]
    parameters: Mapping[str, Interval]
    degrees_of_freedom: int
    residual_sd: float
    aicc: float | None
    fitted_per_s: tuple[float, ...]
    peak: Interval | None
    serial: Serial | None


@dataclass(frozen=True)
class Scaling:
    """How an option's throughput grows with clients.

    curves: errors in proportion, the best first; absolute: the same models by absolute errors, the best
    first; both empty with too few points. sentence: what the data show, and what they do not.
    """

    option: str
    points: tuple[ScalingPoint, ...]
    maximum: MeasuredMaximum
    curves: tuple[Curve, ...]
    absolute: tuple[Curve, ...]
    sentence: str
