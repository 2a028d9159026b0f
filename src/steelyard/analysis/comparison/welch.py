"""Welch's t on the logs of run values of two bundles, whose runs were not interleaved (Welch 1947)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from steelyard.analysis.statistics import distributions
from steelyard.analysis.statistics.distributions import Floats

_ROUNDING = 1e-12


@dataclass(frozen=True)
class Welch:
    """Difference of two means, its standard error and degrees of freedom. runs: of the side with fewer.

    One run has a difference, of unknown error: it is infinite.
    """

    difference: float
    error: float
    degrees_of_freedom: float
    p_value: float
    runs: int

    def half_width(self, alpha: float) -> float:
        """Of the interval at level 1 - alpha."""
        return self.error * distributions.t_critical(self.degrees_of_freedom, alpha)


def welch(here: Floats, there: Floats) -> Welch | None:
    """There minus here; None where one side has no value."""
    runs = min(len(here), len(there))
    if not runs:
        return None
    difference = float(there.mean() - here.mean())
    if runs < 2:
        return Welch(difference, math.inf, 0.0, 1.0, runs)
    a, b = float(here.var(ddof=1)) / len(here), float(there.var(ddof=1)) / len(there)
    error = math.sqrt(a + b)
    if error == 0:
        # exact values: what differs beyond rounding differs for certain
        return Welch(difference, 0.0, 1.0, 0.0 if abs(difference) > _ROUNDING else 1.0, runs)
    df = (a + b) ** 2 / (a**2 / (len(here) - 1) + b**2 / (len(there) - 1))
    return Welch(difference, error, df, float(distributions.t_two_sided(difference / error, df)), runs)
