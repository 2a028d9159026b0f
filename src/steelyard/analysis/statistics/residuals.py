"""Whether the residuals of a fitted curve follow one another: then the model misses a trend.

Lag-1 autocorrelation in the order of clients, against residuals of independent errors after the same
fit. These are correlated too (three parameters were taken from few points), so that no table of a
plain series applies: the fit's projection is put to normal errors (Durbin & Watson 1950; Monte Carlo).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard.analysis.judgement.scaling import Serial
from steelyard.analysis.statistics.distributions import Floats
from steelyard.analysis.statistics.scaling_models import Fitted

_ALPHA = 0.01  # of a hundred series without a trend one is called one
_DRAWS = 4999
_SEED = 20070  # a bundle that is judged again must give the same
_linalg: Any = np.linalg  # its stubs leave types open


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
    return Serial(lag1, float(null.mean()), p_value, p_value < _ALPHA)


def _lag1(residuals: Floats) -> Floats:
    """Of each row; residuals have mean 0 as far as the fit gives them one."""
    return (residuals[:, 1:] * residuals[:, :-1]).sum(axis=1) / (residuals**2).sum(axis=1)
