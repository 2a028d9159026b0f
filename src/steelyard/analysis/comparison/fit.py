"""Least squares by option and block, of one metric at one point."""

from __future__ import annotations

import numpy as np

from steelyard.analysis.comparison.block_table import BlockTable
from steelyard.analysis.comparison.scatter import scatter
from steelyard.analysis.statistics.distributions import Floats


class Fit:
    """Option means, and what is left after options and blocks: residuals[block, option].

    In complete blocks a table of means. logs: whether they are of logs, as when every value is positive.
    options: those that have a value in enough blocks.
    """

    def __init__(self, table: BlockTable) -> None:
        self.table, self.options, self.logs = table, table.options, table.positive
        y: Floats = np.log(table.values) if self.logs else table.values
        self.means: Floats = np.full(len(self.options), np.nan)
        self.residuals: Floats = y
        if y.size:
            self.means = y.mean(axis=0)
            self.residuals = y - y.mean(axis=1, keepdims=True) - self.means + y.mean()
        self.scatter = scatter(y if y.size else np.zeros((0, 0)))

    def mean(self, option: str) -> float:
        """The option's mean, on the scale of the fit."""
        return float(self.means[self.options.index(option)])

    def comparable(self, pair: tuple[str, str]) -> bool:
        """Whether this option has a ratio to this baseline."""
        known = {*pair} <= {*self.options} and len(self.options) > 1 and bool(self.table.blocks)
        return known and (self.logs or self.mean(pair[1]) != 0)
