"""Tail areas and critical values. scipy is imported inside: it takes 0.7 s.

Dunnett & Dunnett-type values for complete blocks: all comparisons share the baseline and the
residual, so the k statistics follow a multivariate t with correlation 0.5 (Dunnett 1955).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def _special() -> Any:
    from scipy import special

    return special


def t_two_sided(t: ArrayLike, df: float) -> Floats:
    """P(|T| >= |t|) of Student's t; 1 without degrees of freedom."""
    if df <= 0:
        return np.ones_like(np.asarray(t, dtype=np.float64))
    return np.asarray(2 * _special().stdtr(df, -np.abs(t)), dtype=np.float64)


def t_critical(df: float, alpha: float) -> float:
    """The t that |T| exceeds with probability alpha; inf without degrees of freedom."""
    return float(_special().stdtrit(df, 1 - alpha / 2)) if df > 0 else math.inf


def f_tail(f: float, df1: float, df2: float) -> float:
    """P(F >= f); 1 where it cannot be tested."""
    return float(_special().fdtrc(df1, df2, f)) if min(df1, df2) > 0 else 1.0


def chi2_tail(x: float, df: float) -> float:
    """P(chi-square >= x)."""
    return float(_special().chdtrc(df, x)) if df > 0 else 1.0


def dunnett_p(t: ArrayLike, treatments: int, df: float) -> Floats:
    """P(max |T_i| >= |t|) over `treatments` comparisons with one baseline, in complete blocks."""
    sizes = np.abs(np.asarray(t, dtype=np.float64))
    if treatments == 1 or df <= 0:
        return t_two_sided(sizes, df)
    inside = np.array([_all_inside(min(float(x), 200.0), treatments, df) for x in sizes.ravel()])
    # the quadrature is good to 1e-9; the single test is a floor that it must not fall below
    return np.clip(1 - inside, t_two_sided(sizes.ravel(), df), 1.0).reshape(sizes.shape)


@lru_cache(maxsize=256)
def dunnett_critical(treatments: int, df: float, alpha: float) -> float:
    """The two-sided critical value d: P(max |T_i| >= d) = alpha; inf without df."""
    if df <= 0 or treatments == 1:
        return t_critical(df, alpha)
    low, high = t_critical(df, alpha), t_critical(df, alpha / treatments)  # Bonferroni bounds it
    for _ in range(50):
        middle = (low + high) / 2
        if 1 - _all_inside(middle, treatments, df) > alpha:
            low = middle
        else:
            high = middle
    return (low + high) / 2


@lru_cache(maxsize=64)
def _nodes(df: float) -> tuple[Floats, Floats, Floats, Floats]:
    """Quadrature over the baseline's normal deviate z, and over the residual SD s."""
    special = _special()
    z, z_weight = np.polynomial.hermite_e.hermegauss(96)
    u, u_weight = np.polynomial.legendre.leggauss(96)
    # s^2 = chi^2_df / df, integrated between far quantiles with its density in log form
    low = math.sqrt(float(special.chdtri(df, 1 - 1e-13)) / df)
    high = math.sqrt(float(special.chdtri(df, 1e-13)) / df)
    s = low + (high - low) * (u + 1) / 2
    log_density = (
        math.log(2) + (df / 2) * math.log(df / 2) - math.lgamma(df / 2) + (df - 1) * np.log(s) - df * s**2 / 2
    )
    s_weight = u_weight * (high - low) / 2 * np.exp(log_density)
    return z, z_weight / math.sqrt(2 * math.pi), s, s_weight / s_weight.sum()


def _all_inside(d: float, treatments: int, df: float) -> float:
    """P(all |T_i| < d), T_i = (Z_i - Z_0) / (s sqrt 2): independent once z_0 and s are given."""
    ndtr = _special().ndtr
    z, z_weight, s, s_weight = _nodes(df)
    reach = math.sqrt(2) * d * s[:, None]
    within = ndtr(z[None, :] + reach) - ndtr(z[None, :] - reach)
    return float(s_weight @ (within**treatments) @ z_weight)


def holm(p_values: ArrayLike) -> Floats:
    """Holm's adjusted p-values, in the order given. Holm 1979."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted


def benjamini_hochberg(p_values: ArrayLike) -> Floats:
    """Adjusted p-values that hold the false discovery rate. Benjamini & Hochberg 1995."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    ranks = np.arange(1, len(p) + 1)
    steps = np.minimum.accumulate((p[order] * len(p) / ranks)[::-1])[::-1]
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted
