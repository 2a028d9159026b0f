"""Intervals of a fitted curve's parameters, by profile likelihood.

A value v of a parameter lies in the 95 % interval where RSS(v), the least over the other parameters,
is at most RSS_min (1 + t^2 / (n - 3)), t being Student's with n - 3 degrees of freedom: Bates & Watts
1988, chapter 6. A percentile bootstrap takes the residual SD for known, which is far too narrow with
few points; with Student's factor it still covers too little near a bound of a parameter.

The residuals of a curve follow one another where its model misses a trend: lag-1 autocorrelation in the
order of clients, against residuals of independent errors after the same fit. These are correlated too (three
parameters were taken from few points), so that no table of a plain series applies: the fit's projection is
put to normal errors (Durbin & Watson 1950; Monte Carlo).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.analysis.judgement.scaling import Serial
from steelyard.analysis.statistics.distributions import ALPHA, Floats, Ints, t_critical
from steelyard.analysis.statistics.scaling_models import Fitted, Problem, UslByPeak

LEAST_DF = 2  # with one, t is 12.7 and most intervals run from bound to bound
# distances from the optimum, in half widths of the interval with the other parameters known
_SEARCHED = np.geomspace(0.25, 4096, 16)
_REFINED = np.linspace(0, 1, 17)
_MOST_LOG = 50.0
_LEAST_PER_SQUARE = 1e-9  # a peak beyond 30,000 clients is the same as none

Ends = tuple[float, float]
NO_INTERVAL = (math.nan, math.nan)
_ALPHA_OF_TREND = 0.01  # of a hundred series without a trend one is called one
_DRAWS = 4999
_SEED = 20070  # a bundle that is judged again must give the same
_linalg: Any = np.linalg  # its stubs leave types open


def parameter_intervals(found: Fitted) -> list[Ends]:
    """95 % intervals of lambda and the model's two parameters; NaN with fewer than five points."""
    if found.degrees_of_freedom < LEAST_DF:
        return [NO_INTERVAL] * 3
    profile = _Profile(found.model, found.observed, found.theta, _limit(found))
    lam, *others = profile.ends((0, 1, 2))
    return [(math.exp(lam[0]), math.exp(lam[1])), *others]


def peak_interval(found: Fitted) -> tuple[float, Ends]:
    """Clients at the law's maximum, sqrt((1 - sigma) / kappa), and its 95 % interval: one or more.

    Infinite without coherency.
    """
    log_lambda, sigma, kappa = found.theta.tolist()
    per_square = kappa / (1 - sigma) if kappa < 1 - sigma else 1.0
    if found.degrees_of_freedom < LEAST_DF:
        return _peak(per_square), NO_INTERVAL
    best = np.array([log_lambda, sigma, per_square])
    ((low, high),) = _Profile(UslByPeak(), found.observed, best, _limit(found)).ends((2,))
    return _peak(per_square), (_peak(high), _peak(low))


def _peak(per_square: float) -> float:
    return 1 / math.sqrt(per_square) if per_square > _LEAST_PER_SQUARE else math.inf


def _limit(found: Fitted) -> float:
    """The largest RSS of parameters that lie within."""
    df = found.degrees_of_freedom
    return max(found.residual_sd, found.observed.rounding) ** 2 * (df + t_critical(df, ALPHA) ** 2)


@dataclass(frozen=True)
class _Profile(Problem):
    """RSS as one parameter moves away from the best and the others follow. limit: where it ends."""

    best: Floats
    limit: float

    def ends(self, parameters: Sequence[int]) -> list[Ends]:
        """Both ends of the interval of each of these parameters, on the scale in which it is fitted.

        All at once, an end a way: from the best outwards until RSS exceeds the limit, then between.
        """
        slopes = np.sqrt(self.observed.weights)[:, None] * self.curve(self.best[None, :])[1][0]
        units = np.sqrt(self.limit) / np.sqrt(np.maximum((slopes**2).sum(axis=0), 1e-300))
        low, high = self.bounds
        held = np.repeat(list(parameters), 2)
        bounds = np.column_stack([low, high])[list(parameters)].ravel()
        reach = units[held, None] * _SEARCHED
        # no rate is e^50 times another; beyond that its square overflows
        reach[held == 0] = np.minimum(reach[held == 0], _MOST_LOG)
        signs = np.tile([-1.0, 1.0], len(parameters))[:, None]
        values = np.clip(self.best[held, None] + signs * reach, low[held, None], high[held, None])
        along = self._following(held, values, np.tile(self.best, (len(held), 1)))
        beyond = self._rss(along) > self.limit
        first = np.argmax(beyond, axis=1)
        ways = np.arange(len(held))
        inner = np.where((first > 0)[:, None], along[ways, first - 1], self.best)
        outer = along[ways, first, held]
        from_ = inner[ways, held]
        between = from_[:, None] + (outer - from_)[:, None] * _REFINED
        rss = self._rss(self._following(held, between, inner))
        after = np.maximum(np.argmax(rss > self.limit, axis=1), 1)
        at, before = (ways, after), (ways, after - 1)
        rise = rss[at] - rss[before]
        part = np.clip((self.limit - rss[before]) / np.where(rise > 0, rise, np.inf), 0.0, 1.0)
        width = between[at] - between[before]
        found = np.where(beyond.any(axis=1), between[before] + part * width, bounds)
        return [(float(below), float(above)) for below, above in found.reshape(-1, 2)]

    def _following(self, held: Ints, values: Floats, start: Floats) -> Floats:
        """[way, value, parameter]: the best parameters at each value of the one that is held."""
        ways, many = values.shape
        rows = np.repeat(start, many, axis=0)
        rows[np.arange(len(rows)), np.repeat(held, many)] = values.ravel()
        return self.solve(rows, np.repeat(held, many)).reshape(ways, many, 3)

    def _rss(self, theta: Floats) -> Floats:
        values, _ = self.curve(theta.reshape(-1, 3))
        return self.rss(values).reshape(theta.shape[:-1])


def serial(found: Fitted) -> Serial | None:
    """None without usable residuals: fewer than five points, or an exact fit."""
    observed, theta = found.observed, found.theta
    values, slopes = found.curve(theta[None, :])
    root = np.sqrt(observed.weights)
    residuals = root * (observed.fitted_values - values[0])
    if found.degrees_of_freedom < 2 or found.residual_sd < observed.rounding:
        return None
    # a parameter on its bound took nothing from the residuals
    low, high = found.bounds
    free = (theta > low) & (theta < high)
    basis = _linalg.qr((root[:, None] * slopes[0])[:, free])[0]
    errors = np.random.default_rng(_SEED).normal(size=(_DRAWS, len(root)))
    null = _lag1(errors - errors @ basis @ basis.T)
    lag1 = float(_lag1(residuals[None, :])[0])
    p_value = float((1 + (null >= lag1).sum()) / (_DRAWS + 1))
    return Serial(lag1, float(null.mean()), p_value, p_value < _ALPHA_OF_TREND)


def _lag1(residuals: Floats) -> Floats:
    """Of each row; residuals have mean 0 as far as the fit gives them one."""
    return (residuals[:, 1:] * residuals[:, :-1]).sum(axis=1) / (residuals**2).sum(axis=1)
