"""Least squares by option and block, of one metric at one point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.analysis.comparison.block_table import Layout
from steelyard.analysis.comparison.scatter import Scatter, scatter
from steelyard.analysis.statistics.distributions import Floats


@dataclass(frozen=True)
class Fit:
    """Option means, and what is left after options and blocks: residuals[block, option].

    On logs when every value is positive, else on the values themselves.
    """

    layout: Layout
    means: Floats
    residuals: Floats
    scatter: Scatter

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
    """Least squares by option and block; in complete blocks a table of means."""
    y: Floats = np.log(layout.values) if layout.positive else layout.values
    if not y.size:
        return Fit(layout, np.full(len(layout.options), np.nan), y, scatter(np.zeros((0, 0))))
    means: Floats = y.mean(axis=0)
    residuals = y - y.mean(axis=1, keepdims=True) - means + y.mean()
    return Fit(layout, means, residuals, scatter(y))
