"""Least squares by option and block, of one metric at one point."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from steelyard.analysis.layout import Layout
from steelyard.analysis.tails import Floats


@dataclass(frozen=True)
class Fit:
    """Option means, and what is left after options and blocks.

    On logs when every value is positive, else on the values themselves. se: standard error of the
    difference of two options, infinite without degrees of freedom.
    """

    layout: Layout
    means: Floats
    residuals: Floats
    df: int
    se: float

    @property
    def logs(self) -> bool:
        """Whether means and residuals are of logs."""
        return self.layout.positive

    def mean(self, option: str) -> float:
        """The option's mean, on the scale of the fit."""
        return float(self.means[self.layout.options.index(option)])

    def comparable(self, baseline: str) -> bool:
        """Whether anything can be compared with this baseline."""
        layout = self.layout
        known = baseline in layout.options and len(layout.options) > 1 and bool(layout.blocks)
        return known and (self.logs or self.mean(baseline) != 0)


def fit(layout: Layout) -> Fit:
    """Least squares by option and block; in complete blocks a table of means.

    With two options the residual is that of the paired t test.
    """
    y: Floats = np.log(layout.values) if layout.positive else layout.values
    blocks, options = y.shape
    if not y.size:
        return Fit(layout, np.full(len(layout.options), np.nan), y, 0, math.inf)
    means: Floats = y.mean(axis=0)
    residuals = y - y.mean(axis=1, keepdims=True) - means + y.mean()
    df = (blocks - 1) * (options - 1)
    if df == 0:
        return Fit(layout, means, residuals, df, math.inf)
    variance = float((residuals**2).sum()) / df
    # identical copies leave rounding noise instead of zero: it must not prove anything
    least = 1e-12 * max(1.0, float(np.abs(y).max()))
    return Fit(layout, means, residuals, df, max(math.sqrt(2 * variance / blocks), least))
