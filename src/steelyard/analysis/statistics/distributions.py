"""Tail areas and critical values. scipy is imported inside: it takes 0.7 s."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
ALPHA = 0.05  # 1 - confidence, but where a study stops by itself


def _special() -> Any:
    from scipy import special

    return special


def t_two_sided(t: ArrayLike, df: float) -> Floats:
    """P(|T| >= |t|) of Student's t; 1 without degrees of freedom."""
    if df <= 0:
        return np.ones_like(np.asarray(t, dtype=np.float64))
    return np.asarray(2 * _special().stdtr(df, -np.abs(t)), dtype=np.float64)


def t_two_sided_each(t: Floats, df: Floats) -> Floats:
    """P(|T| >= |t|) of Student's t with each value's own degrees of freedom."""
    return np.asarray(2 * _special().stdtr(df, -np.abs(t)), dtype=np.float64)


def t_criticals(df: Floats, alpha: float) -> Floats:
    """The t that |T| exceeds with probability alpha, for each number of degrees of freedom."""
    return np.asarray(_special().stdtrit(df, 1 - alpha / 2), dtype=np.float64)


def t_critical(df: float, alpha: float) -> float:
    """The t that |T| exceeds with probability alpha; inf without degrees of freedom."""
    return float(_special().stdtrit(df, 1 - alpha / 2)) if df > 0 else math.inf


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


def holm(p_values: ArrayLike) -> Floats:
    """Holm's adjusted p-values, in the order given. Holm 1979."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted


def holm_levels(p_values: ArrayLike, alpha: float) -> Floats:
    """Level of each test's step in Holm's procedure: p <= level exactly where it is found. Holm 1979."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    steps = alpha / np.arange(len(p), 0, -1)
    failed = np.flatnonzero(p[order] > steps)
    if len(failed):
        # where one fails, those after it fail at the same step
        steps[failed[0] :] = steps[failed[0]]
    levels = np.empty_like(p)
    levels[order] = steps
    return levels


def benjamini_hochberg(p_values: ArrayLike) -> Floats:
    """Adjusted p-values that hold the false discovery rate. Benjamini & Hochberg 1995."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    ranks = np.arange(1, len(p) + 1)
    steps = np.minimum.accumulate((p[order] * len(p) / ranks)[::-1])[::-1]
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted
