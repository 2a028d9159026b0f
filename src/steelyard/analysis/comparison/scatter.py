"""How runs scatter about option and block: one variance for all options, and one for each.

A noisy option beside quiet ones makes a pooled variance too small for it and too large for them: with one of
5 % SD beside three of 1 % a pooled 5 % test errs in 11 % of studies. So each option has its own variance, by
restricted maximum likelihood of the model option + block with unequal variances (Patterson & Thompson 1971),
and each pair its own degrees of freedom (Satterthwaite 1946). Where options do scatter alike that gives power
away. The p-value of a pair is therefore the mean of both tests, the pooled one weighted by the root of the
p-value of the hypothesis that all options scatter alike (Bartlett's statistic, its distribution by
simulation, since residuals within a block are correlated; the root had fewer errors and more power in
simulation than the p-value itself). Error rates and power of this rule are measured by benches/truth.py.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from steelyard.analysis.comparison.block_table import BlockTable
from steelyard.analysis.statistics import distributions
from steelyard.analysis.statistics.distributions import Floats

Ints = NDArray[np.intp]
_STEPS = 40
_CONVERGED = 1e-6
_BISECTIONS = 30
_LEAST_SHARE = 0.01  # of the median of all options: the least variance that is assumed for one
_LEAST_VARIANCE = 1e-200  # 1 / variance stays finite where copies are exact
_MOST_WEIGHT = 0.5  # of one option in its block's level
_SIMULATED = 1000
_SEED = 1937  # the weight of a bundle's scatter must not change when it is judged again


@dataclass(frozen=True)
class Scatter:
    """Variances of a run about its option and block. own, own_df: by option.

    pooled_df: (blocks - 1)(options - 1); 0 where there is one block or one option. alike: p-value of
    the hypothesis that all options scatter alike; 1 for two options, whose scatter cannot be distinguished.
    least_se: below it a standard error is rounding noise.
    """

    blocks: int
    pooled: float
    pooled_df: int
    own: Floats
    own_df: Floats
    alike: float
    least_se: float

    def p_values(self, distances: Floats, one: Ints, other: Ints, chances: int) -> Floats:
        """P-values of differences of option means, adjusted for so many chances (Sidak 1967).

        distances, one, other: one per pair; the last two are indices of options.
        """
        if self.pooled_df <= 0:
            return np.ones_like(distances)
        return self._mixed(np.abs(distances), *self._errors(one, other), chances)

    def half_widths(self, one: Ints, other: Ints, chances: int, alpha: float) -> Floats:
        """Half-width of the interval of each difference: its p-value is alpha at the ends."""
        if self.pooled_df <= 0:
            return np.full(len(one), math.inf)
        errors, df = self._errors(one, other)
        each = -math.expm1(math.log1p(-alpha) / chances)
        ends = errors * distributions.t_criticals(df, each)
        # of two options the pooled test alone counts
        if self.pooled_weight == 1:
            return ends[1]
        low, high = ends.min(axis=0), ends.max(axis=0)
        for _ in range(_BISECTIONS):
            middle: Floats = (low + high) / 2
            outside = self._mixed(middle, errors, df, chances) > alpha
            low, high = np.where(outside, middle, low), np.where(outside, high, middle)
        return high

    @property
    def pooled_weight(self) -> float:
        """How much a test with the pooled variance counts, 0 to 1."""
        return math.sqrt(self.alike)

    def _errors(self, one: Ints, other: Ints) -> tuple[Floats, Floats]:
        """Standard errors and degrees of freedom of the pairs: by own variances, and by the pooled one."""
        a, b = self.own[one], self.own[other]
        with np.errstate(all="ignore"):
            df = (a + b) ** 2 / (a**2 / self.own_df[one] + b**2 / self.own_df[other])
        # no variance at all: rounding noise alone is left, which has no degrees of freedom of its own
        df = np.where(np.isfinite(df), df, float(self.pooled_df))
        variances = np.stack([a + b, np.full_like(a, 2 * self.pooled)])
        errors = np.maximum(np.sqrt(variances / self.blocks), self.least_se)
        return errors, np.stack([df, np.full_like(df, self.pooled_df)])

    def _mixed(self, distances: Floats, errors: Floats, df: Floats, chances: int) -> Floats:
        own, pooled = distributions.sidak(distributions.t_two_sided(distances / errors, df), chances)
        return self.pooled_weight * pooled + (1 - self.pooled_weight) * own


def scatter(values: Floats) -> Scatter:
    """The scatter of values[block, option] about option and block."""
    blocks, options = values.shape
    df = max(blocks - 1, 0) * max(options - 1, 0)
    nothing = np.full(options, math.nan)
    # identical copies leave rounding noise instead of zero: it must not prove anything
    least_se = 1e-12 * max(1.0, float(np.abs(values).max(initial=0.0)))
    if not df:
        return Scatter(blocks, math.nan, df, nothing, nothing, 1.0, least_se)
    pooled, own, own_df = (found[0] for found in _variances(values[None]))
    alike = 1.0
    if options > 2 and pooled > least_se**2:
        known = _unequal_by_chance(blocks, options)
        statistic = float(_bartlett(own[None], own_df[None])[0])
        alike = 1 - float(np.searchsorted(known, statistic)) / len(known)
    return Scatter(blocks, float(pooled), df, own, own_df, alike, least_se)


def _variances(y: Floats) -> tuple[Floats, Floats, Floats]:
    """Pooled variance [study], own variances and their degrees of freedom [study, option].

    y[study, block, option]. The level of a block is the mean of its values, weighted by 1/variance;
    what that mean takes from an option's own degrees of freedom is its weight.
    """
    blocks, options = y.shape[1:]
    centred = y - y.mean(axis=1, keepdims=True)
    residuals = centred - centred.mean(axis=2, keepdims=True)
    pooled = (residuals**2).sum(axis=(1, 2)) / ((blocks - 1) * (options - 1))
    own = np.repeat(np.maximum(pooled, _LEAST_VARIANCE)[:, None], options, axis=1)
    own_df = np.full_like(own, float(blocks - 1))
    for _ in range(_STEPS):
        weights = 1 / own
        shares = weights / weights.sum(axis=1, keepdims=True)
        level = (centred * shares[:, None, :]).sum(axis=2, keepdims=True)
        own_df = (blocks - 1) * (1 - np.minimum(shares, _MOST_WEIGHT))
        before, own = own, ((centred - level) ** 2).sum(axis=1) / own_df
        # a noisy option tells nothing of the least variance of quiet ones
        middle = np.sort(own, axis=1)[:, [(options - 1) // 2, options // 2]].mean(axis=1, keepdims=True)
        least = _LEAST_SHARE * middle
        own = np.maximum(own, np.maximum(least, _LEAST_VARIANCE))
        if (np.abs(own - before) <= _CONVERGED * own).all():
            break
    return pooled, own, own_df


def _bartlett(own: Floats, own_df: Floats) -> Floats:
    """Bartlett's statistic (1937) of each study, without its correction for small samples."""
    total = own_df.sum(axis=1)
    mean = (own_df * own).sum(axis=1) / total
    return total * np.log(mean) - (own_df * np.log(own)).sum(axis=1)


@lru_cache(maxsize=64)
def _unequal_by_chance(blocks: int, options: int) -> Floats:
    """The statistic in studies whose options scatter alike, in ascending order."""
    chance = np.random.default_rng(_SEED)
    _, own, own_df = _variances(chance.normal(size=(_SIMULATED, blocks, options)))
    return np.sort(_bartlett(own, own_df))


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

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Each pair of options once, of which one has a ratio to the other."""
        pairs = combinations(self.options, 2)
        return [(a, b) for a, b in pairs if self.comparable((a, b)) or self.comparable((b, a))]

    def comparable(self, pair: tuple[str, str]) -> bool:
        """Whether this option has a ratio to this baseline.

        That of two zeros is 1, unless the metric is 0 everywhere. Negative values have no ratio.
        """
        if not {*pair} <= {*self.options} or len(self.options) < 2 or not self.table.blocks:
            return False
        if self.logs:
            return True
        mine = self.table.values[:, [self.options.index(option) for option in pair]]
        ratio = self.mean(pair[1]) != 0 or self.mean(pair[0]) == 0
        return bool(ratio and mine.min() >= 0 and self.table.values.any())
