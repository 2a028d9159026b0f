"""Tail areas and critical values. scipy is imported inside: it takes 0.7 s."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_ROUNDING = 1e-12
ALPHA = 0.05  # 1 - confidence, but where a study stops by itself


def _special() -> Any:
    from scipy import special

    return special


def t_two_sided(t: ArrayLike, df: ArrayLike) -> Floats:
    """P(|T| >= |t|) of Student's t; 1 without degrees of freedom."""
    tails = 2 * _special().stdtr(df, -np.abs(t))
    return np.where(np.asarray(df) > 0, tails, 1.0)


def t_criticals(df: ArrayLike, alpha: float) -> Floats:
    """The t that |T| exceeds with probability alpha, for each number of degrees of freedom."""
    return np.asarray(_special().stdtrit(df, 1 - alpha / 2), dtype=np.float64)


def t_critical(df: float, alpha: float) -> float:
    """The t that |T| exceeds with probability alpha; inf without degrees of freedom."""
    return float(t_criticals(df, alpha)) if df > 0 else math.inf


def t_test(values: Floats) -> Floats:
    """P-value of the hypothesis that their mean, along the last axis, is 0: two-sided."""
    n = values.shape[-1]
    error = np.maximum(values.std(axis=-1, ddof=1) / math.sqrt(n), 1e-12)
    return t_two_sided(values.mean(axis=-1) / error, n - 1)


def trend(x: Floats, y: Floats, df: int) -> tuple[float, float]:
    """Slope of y over x, both without their means, and the p-value of the hypothesis that there is none."""
    spread = float((x**2).sum())
    slope = float((x * y).sum()) / spread
    error = max(math.sqrt(float(((y - slope * x) ** 2).sum()) / df / spread), 1e-15)
    return slope, float(t_two_sided(slope / error, df))


def f_tail(f: float, df1: float, df2: float) -> float:
    """P(F >= f); 1 where it cannot be tested."""
    return float(_special().fdtrc(df1, df2, f)) if min(df1, df2) > 0 else 1.0


def half_width(values: Floats) -> float:
    """Half of the 95 % interval of their mean; infinite of a single one."""
    n = len(values)
    return t_critical(n - 1, ALPHA) * float(values.std(ddof=1)) / math.sqrt(n) if n > 1 else math.inf


def chi2_tail(x: float, df: float) -> float:
    """P(chi-square >= x)."""
    return float(_special().chdtrc(df, x)) if df > 0 else 1.0


def sidak(p_values: ArrayLike, chances: int) -> Floats:
    """P-values of the least of so many independent ones. Sidak 1967."""
    p = np.asarray(p_values, dtype=np.float64)
    return np.asarray(-np.expm1(chances * np.log1p(-np.minimum(p, 1 - 1e-16))))


def _in_steps(p_values: ArrayLike, steps: Callable[[Floats], Floats]) -> Floats:
    """Steps of a procedure, which takes the p-values in ascending order, in the order given."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    found = np.empty_like(p)
    found[order] = steps(p[order])
    return found


def holm(p_values: ArrayLike) -> Floats:
    """Holm's adjusted p-values, in the order given. Holm 1979."""

    def adjusted(p: Floats) -> Floats:
        return np.minimum(np.maximum.accumulate(p * np.arange(len(p), 0, -1)), 1.0)

    return _in_steps(p_values, adjusted)


def holm_levels(p_values: ArrayLike, alpha: float) -> Floats:
    """Level of each test's step in Holm's procedure: p <= level exactly where it is found. Holm 1979."""

    def levels(p: Floats) -> Floats:
        steps: Floats = alpha / np.arange(len(p), 0, -1)
        for first in np.flatnonzero(p > steps)[:1]:
            # where one fails, those after it fail at the same step
            steps[first:] = steps[first]
        return steps

    return _in_steps(p_values, levels)


def benjamini_hochberg(p_values: ArrayLike) -> Floats:
    """Adjusted p-values that hold the false discovery rate. Benjamini & Hochberg 1995."""

    def adjusted(p: Floats) -> Floats:
        each = p * len(p) / np.arange(1, len(p) + 1)
        return np.minimum(np.minimum.accumulate(each[::-1])[::-1], 1.0)

    return _in_steps(p_values, adjusted)


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
        return self.error * t_critical(self.degrees_of_freedom, alpha)


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
    return Welch(difference, error, df, float(t_two_sided(difference / error, df)), runs)
