"""Least squares by option and block, of one metric at one point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.analysis.comparison.block_table import BlockTable
from steelyard.analysis.comparison.scatter import Scatter, scatter
from steelyard.analysis.statistics.distributions import Floats


@dataclass(frozen=True)
class Fit:
    """Option means, and what is left after options and blocks: residuals[block, option].

    On logs when every value is positive, else on the values themselves.
    """

    table: BlockTable
    means: Floats
    residuals: Floats
    scatter: Scatter

    @property
    def logs(self) -> bool:
        """Whether means and residuals are of logs."""
        return self.table.positive

    def mean(self, option: str) -> float:
        """The option's mean, on the scale of the fit."""
        return float(self.means[self.table.options.index(option)])

    def comparable(self, baseline: str) -> bool:
        """Whether anything can be compared with this baseline."""
        table = self.table
        known = baseline in table.options and len(table.options) > 1 and bool(table.blocks)
        return known and (self.logs or self.mean(baseline) != 0)


def fit(table: BlockTable) -> Fit:
    """Least squares by option and block; in complete blocks a table of means."""
    y: Floats = np.log(table.values) if table.positive else table.values
    if not y.size:
        return Fit(table, np.full(len(table.options), np.nan), y, scatter(np.zeros((0, 0))))
    means: Floats = y.mean(axis=0)
    residuals = y - y.mean(axis=1, keepdims=True) - means + y.mean()
    return Fit(table, means, residuals, scatter(y))
