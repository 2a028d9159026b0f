"""Fits throughput over clients by two models of what stops it from growing in proportion.

Universal Scalability Law (Gunther 2007): X(N) = lambda N / (1 + sigma (N-1) + kappa N (N-1)).
Shared core: c = min(N, P) + s max(0, min(N, T) - P) cores' worth on P cores with T CPUs, then
Amdahl on c: X(N) = lambda c / (1 + sigma (c-1)). Where two CPUs share a core the throughput has
a kink at P; the USL reads it as coherency and invents a peak.

Weighted least squares, on logarithms (errors in proportion) or on throughput itself, parameters
held to what they can mean. The estimates of sigma and kappa correlate at about -0.97, so neither
means much without the other. Intervals: see `likelihood`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from steelyard.analysis.statistics.distributions import Floats, Ints

_linalg: Any = np.linalg  # its stubs leave types open
_STEPS = 60
_SETTLED = 1e-12  # change of RSS, as a part of it
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Usl:
    """Contention sigma and coherency kappa; start and highest: of these two, none below 0."""

    name: ClassVar = "usl"
    parameters: ClassVar = ("sigma", "kappa")
    start: ClassVar = (0.01, 1e-4)
    highest: ClassVar = (1.0, math.inf)

    def log_capacity(self, clients: Floats, a: Floats, b: Floats) -> tuple[Floats, Floats, Floats]:
        """log(X / lambda) and its derivatives by a (sigma) and b (kappa): columns, one row per fit."""
        others, pairs = clients - 1, clients * (clients - 1)
        lost = 1 + a * others + b * pairs
        return np.log(clients / lost), -others / lost, -pairs / lost


@dataclass(frozen=True)
class SharedCore:
    """Contention sigma, and yield: what a client beyond the cores adds, as a part of a core."""

    cores: int
    cpus: int
    name: ClassVar = "shared-core"
    parameters: ClassVar = ("sigma", "yield")
    start: ClassVar = (0.01, 0.5)
    highest: ClassVar = (1.0, 1.0)

    def log_capacity(self, clients: Floats, a: Floats, b: Floats) -> tuple[Floats, Floats, Floats]:
        """log(X / lambda) and its derivatives by a (sigma) and b (yield): columns, one row per fit."""
        beyond = np.maximum(0.0, np.minimum(clients, self.cpus) - self.cores)
        c = np.minimum(clients, self.cores) + b * beyond
        lost = 1 + a * (c - 1)
        return np.log(c / lost), -(c - 1) / lost, beyond * (1 / c - a / lost)


@dataclass(frozen=True)
class UslByPeak(Usl):
    """The law by contention sigma and 1 / peak^2, so that its peak sqrt((1 - sigma) / kappa) has a profile.

    Only with peaks of one client or more.
    """

    parameters: ClassVar = ("sigma", "per_peak_squared")
    highest: ClassVar = (1.0, 1.0)

    def log_capacity(self, clients: Floats, a: Floats, b: Floats) -> tuple[Floats, Floats, Floats]:
        """log(X / lambda) and its derivatives by a (sigma) and b (1 / peak^2): columns, one row per fit."""
        logs, by_sigma, by_kappa = super().log_capacity(clients, a, (1 - a) * b)
        return logs, by_sigma - b * by_kappa, (1 - a) * by_kappa


Model = Usl | SharedCore


@dataclass(frozen=True)
class Observed:
    """Throughput per second at each number of clients; weights: 1/variance, of any common scale.

    relative: whether errors are in proportion to the value (fit on logarithms).
    """

    clients: Floats
    throughput_per_s: Floats
    weights: Floats
    relative: bool

    @classmethod
    def of(
        cls,
        clients: Sequence[float],
        throughput_per_s: Sequence[float],
        weights: Sequence[float] | None = None,
        relative: bool = True,
    ) -> "Observed":
        """Raises ValueError for lengths that differ, too few points, or what is not positive."""
        n = np.asarray(clients, dtype=np.float64)
        x = np.asarray(throughput_per_s, dtype=np.float64)
        w = np.ones_like(x) if weights is None else np.asarray(weights, dtype=np.float64)
        if not len(n) == len(x) == len(w):
            raise ValueError("clients, throughput and weights differ in length")
        if len(np.unique(n)) < 4:
            raise ValueError(f"{len(np.unique(n))} points cannot hold three parameters: 4 are needed")
        if not ((n > 0) & (x > 0) & (w > 0)).all():
            raise ValueError("clients, throughput and weights must be above zero")
        return cls(n, x, w / w.mean(), relative)

    @property
    def rounding(self) -> float:
        """The residual SD, on the scale of the fit, below which residuals are rounding alone."""
        return _ROUNDING * (1.0 if self.relative else float(self.throughput_per_s.max()))

    @property
    def fitted_values(self) -> Floats:
        """Throughput on the scale of the fit: its logarithm where errors are relative."""
        return np.log(self.throughput_per_s) if self.relative else self.throughput_per_s


@dataclass(frozen=True)
class Problem:
    """A model, and what it is fitted to. theta: parameters, one row per fit, lambda as its logarithm."""

    model: Model
    observed: Observed

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """Lowest and highest parameters."""
        return np.array([-np.inf, 0.0, 0.0]), np.array([np.inf, *self.model.highest])

    def curve(self, theta: Floats) -> tuple[Floats, Floats]:
        """Values [fit, point] and derivatives [fit, point, parameter] on the scale of the fit."""
        shape, by_a, by_b = self.model.log_capacity(self.observed.clients, theta[:, 1:2], theta[:, 2:3])
        logs = theta[:, :1] + shape
        slopes = np.stack([np.ones_like(logs), by_a + 0 * logs, by_b + 0 * logs], axis=-1)
        if self.observed.relative:
            return logs, slopes
        values = np.exp(logs)
        return values, values[..., None] * slopes

    def rss(self, values: Floats) -> Floats:
        """Weighted sum of squares of what is left, of each row of values."""
        return (self.observed.weights * (self.observed.fitted_values - values) ** 2).sum(axis=1)

    def solve(self, start: Floats, held: Ints | None = None) -> Floats:
        """Levenberg and Marquardt's method from each row of `start` at once, steps cut at the bounds.

        A parameter on its bound is left out of a step that would push it through. held: for
        each row the number of the parameter that stays as it starts.
        """
        low, high = self.bounds
        root, y = np.sqrt(self.observed.weights), self.observed.fitted_values
        theta = start.copy()
        damping = np.full(len(theta), 1e-3)
        values, slopes = self.curve(theta)
        cost = self.rss(values)
        for _ in range(_STEPS):
            j = root[:, None] * slopes
            gradient = np.einsum("rnp,rn->rp", j, root * (y - values))
            stuck = ((theta <= low) & (gradient < 0)) | ((theta >= high) & (gradient > 0))
            if held is not None:
                stuck[np.arange(len(theta)), held] = True
            normal = np.einsum("rnp,rnq->rpq", j, j)
            normal[stuck[:, :, None] | stuck[:, None, :]] = 0.0
            diagonal = np.einsum("rpp->rp", normal)
            raised = diagonal * (1 + damping[:, None]) + 1e-300
            raised[stuck] = 1.0
            np.einsum("rpp->rp", normal)[:] = raised
            step: Floats = _linalg.solve(normal, np.where(stuck, 0.0, gradient)[..., None])[..., 0]
            tried: Floats = np.clip(theta + step, low, high)
            new_values, new_slopes = self.curve(tried)
            new_cost = self.rss(new_values)
            better = new_cost <= cost
            settled = np.abs(new_cost - cost) <= _SETTLED * cost
            theta[better], cost[better] = tried[better], new_cost[better]
            values[better], slopes[better] = new_values[better], new_slopes[better]
            damping = np.clip(np.where(better, damping / 5, damping * 5), 1e-12, 1e12)
            if settled.all():
                break
        return theta


@dataclass(frozen=True)
class Fitted(Problem):
    """parameters: lambda (throughput per second of one client) and the model's two, by name.

    residual_sd: of the logarithm where the fit was relative, else in transactions per second; divisor n - 3.
    aicc: Akaike's criterion corrected for few points (4 parameters with the variance); inf below 6 points.
    """

    parameters: Floats
    residual_sd: float
    aicc: float

    @property
    def degrees_of_freedom(self) -> int:
        """Points beyond the three parameters."""
        return len(self.observed.clients) - 3

    @property
    def theta(self) -> Floats:
        """The parameters as they are fitted: lambda as its logarithm."""
        return np.array([math.log(self.parameters[0]), *self.parameters[1:]])

    def at(self, clients: Sequence[float]) -> Floats:
        """The fitted throughput a second at these numbers of clients."""
        theta = self.parameters.reshape(1, 3)
        shape = self.model.log_capacity(np.asarray(clients, dtype=np.float64), theta[:, 1:2], theta[:, 2:3])
        return theta[0, 0] * np.exp(shape[0][0])


def fit(model: Model, observed: Observed) -> Fitted:
    """The model fitted to what was observed."""
    problem, n = Problem(model, observed), len(observed.clients)
    # lambda from the first point
    first = math.log(observed.throughput_per_s[0] / observed.clients[0])
    theta = problem.solve(np.array([[first, *model.start]]))
    rss = max(float(problem.rss(problem.curve(theta)[0])[0]), np.finfo(float).tiny)
    return Fitted(
        model=model,
        observed=observed,
        parameters=np.array([np.exp(theta[0, 0]), *theta[0, 1:]]),
        residual_sd=math.sqrt(rss / (n - 3)),
        aicc=n * math.log(rss / n) + 8 + 40 / (n - 5) if n > 5 else math.inf,
    )
