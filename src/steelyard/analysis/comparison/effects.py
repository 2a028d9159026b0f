"""Which factor matters: main effects, two-factor interactions, allocation of variation.

Jain, The Art of Computer Systems Performance Analysis (1991), chapters 17-18 and 22: a share is
the term's sum of squares over the total. Exclusions and lost runs make designs unbalanced; sums of
squares are then of type II (each term after all others that do not contain it; Yates 1934), by
least squares. In balanced designs that is Jain's own; elsewhere shares need not add up, since what
two factors explain together is given to neither. Blocks are taken out first: they are a nuisance.
Interactions of three and more factors stay in what is left over.

Tests allow for options that scatter unequally, as comparisons do (see `scatter`): F against the pooled
noise, and the ANOVA-type statistic with each option's own variance (Brunner, Dette & Munk 1997), their
p-values weighted alike. They are adjusted over all effects of a metric (Holm 1979). A share has a 95 %
interval by parametric bootstrap, corrected for its bias (noise looks like variation between options).
"""

from collections.abc import Mapping, Sequence
from itertools import combinations, product

import numpy as np

from steelyard.analysis.comparison.block_table import block_table
from steelyard.analysis.comparison.scatter import Scatter, scatter
from steelyard.analysis.judgement import Effect, Metric
from steelyard.analysis.metrics.run_metrics import RunMetrics
from steelyard.analysis.statistics import distributions
from steelyard.analysis.statistics.distributions import Floats
from steelyard.study.study import Option

Codes = tuple[str, ...]
_REPLICAS = 1000
_SEED = 1991  # intervals of a bundle must not change when it is judged again


def effects(run_metrics: RunMetrics, metric: Metric, options: Sequence[Option]) -> tuple[Effect, ...]:
    """Effects on the log scale, all points together, largest share first; () where zeros occur."""
    table = block_table(run_metrics, metric.name, [o.label for o in options])
    if not table.blocks or not table.positive or len(table.options) < 2:
        return ()
    levels = {o.label: o.levels for o in options}
    found = decompose(metric.name, np.log(table.values), [levels[label] for label in table.options])
    return tuple(sorted(found, key=lambda effect: -effect.share))


def decompose(metric: str, values: Floats, levels: Sequence[Mapping[str, str]]) -> list[Effect]:
    """Effects on logs values[block, option]. levels: of each option, its code by factor.

    Factors of which one level alone was run, and interactions that exclusions empty, are left out.
    """
    design = _Design(levels)
    means: Floats = values.mean(axis=0)
    blocks = len(values)
    noisy = scatter(values)
    noise = noisy.pooled * noisy.pooled_df if noisy.pooled_df else 0.0
    kept: list[tuple[Codes, Floats, int]] = []
    for term in design.terms:
        others = [t for t in design.terms if t != term and not set(term) < set(t)]
        projection, df = design.projection(term, others)
        if df > 0:
            kept.append((term, projection, df))
    squares = [blocks * max(float(means @ q @ means), 0.0) for _, q, _ in kept]
    total = noise + blocks * float(((means - means.mean()) ** 2).sum())
    p_values = distributions.holm(
        [_p_value(noisy, q, s, df) for (_, q, df), s in zip(kept, squares, strict=True)]
    )
    ends = _share_intervals(noisy, means, [q for _, q, _ in kept])
    return [
        Effect(metric, term, s / total if total > 0 else 0.0, *end, float(p), design.levels_of(means, term))
        for (term, _, _), s, p, end in zip(kept, squares, p_values, ends, strict=True)
    ]


def _p_value(noisy: Scatter, projection: Floats, squares: float, df: int) -> float:
    """Of a term's sum of squares, were there no effect. projection: onto the term's columns."""
    if noisy.pooled_df <= 0 or noisy.pooled <= noisy.least_se**2:
        return 1.0
    pooled = distributions.f_tail(squares / df / noisy.pooled, df, noisy.pooled_df)
    # under unequal variances V the sum of squares is spread as a multiple of chi-square (Box 1954)
    spread = projection * noisy.own
    expected = float(np.trace(spread))
    df_above = expected**2 / float(np.trace(spread @ spread))
    df_below = expected**2 / float((np.diag(spread) ** 2 / noisy.own_df).sum())
    own = distributions.f_tail(squares / expected, df_above, df_below)
    return noisy.pooled_weight * pooled + (1 - noisy.pooled_weight) * own


def _share_intervals(
    noisy: Scatter, means: Floats, projections: Sequence[Floats]
) -> list[tuple[float, float]]:
    """95 % interval of each term's share; 0 to 1 where there is no noise to judge by (one block)."""
    if noisy.pooled_df <= 0:
        return [(0.0, 1.0) for _ in projections]
    chance = np.random.default_rng(_SEED)
    blocks, options = noisy.blocks, len(means)
    # variances come out differently each time; as one for all options as often as these scatter alike
    pooled = noisy.pooled / noisy.pooled_df * chance.chisquare(noisy.pooled_df, (_REPLICAS, 1))
    own = noisy.own / noisy.own_df * chance.chisquare(noisy.own_df, (_REPLICAS, options))
    drawn = np.where(chance.random((_REPLICAS, 1)) < noisy.pooled_weight, pooled, own)
    again = means + chance.normal(size=(_REPLICAS, options)) * np.sqrt(drawn / blocks)
    around = again - again.mean(axis=1, keepdims=True)
    # the means hold their noise already: what is drawn on top of it is taken off again
    noise = drawn.mean(axis=1) * (noisy.pooled_df - (options - 1))
    total = np.maximum(noise + blocks * (around**2).sum(axis=1), np.finfo(float).tiny)
    found: list[tuple[float, float]] = []
    for q in projections:
        # noise adds to a sum of squares in the means as seen, and once more in those drawn
        added = 2 * (np.diag(q) * drawn).sum(axis=1)
        squares = np.maximum(blocks * np.einsum("ro,op,rp->r", again, q, again) - added, 0.0)
        low, high = np.quantile(np.minimum(squares / total, 1.0), [0.025, 0.975])
        found.append((float(low), float(high)))
    return found


class _Design:
    """Effect-coded columns (levels sum to zero) of every main effect and pair of factors."""

    def __init__(self, levels: Sequence[Mapping[str, str]]) -> None:
        self._levels = levels
        names = list(levels[0])
        self._codes = {name: list(dict.fromkeys(at[name] for at in levels)) for name in names}
        moving = [name for name in names if len(self._codes[name]) > 1]
        self.terms: list[Codes] = [*((name,) for name in moving), *combinations(moving, 2)]
        self._columns = {term: self._coded(term) for term in self.terms}

    def projection(self, term: Codes, others: Sequence[Codes]) -> tuple[Floats, int]:
        """Projection onto what a term adds to a model of the others, and its rank."""
        without, rank = self._onto(others)
        with_it, rank_with = self._onto([*others, term])
        return with_it - without, rank_with - rank

    def _onto(self, terms: Sequence[Codes]) -> tuple[Floats, int]:
        u, sizes, _ = np.linalg.svd(self._matrix(terms), full_matrices=False)
        kept = u[:, sizes > 1e-9 * sizes[0]]
        return kept @ kept.T, kept.shape[1]

    def levels_of(self, y: Floats, term: Codes) -> dict[Codes, float]:
        """By combination of codes its ratio to the grand mean, the other main effects allowed for."""
        mains = [t for t in self.terms if len(t) == 1]
        model = mains if len(term) == 1 else [*mains, term]
        solved = np.linalg.lstsq(self._matrix(model), y, rcond=1e-9)[0]
        coefficients = np.asarray(solved, dtype=np.float64)
        whole: Floats = np.zeros(len(self._levels))
        at = 1
        for t in model:
            width = self._columns[t].shape[1]
            if set(t) <= set(term):
                whole += self._columns[t] @ coefficients[at : at + width]
            at += width
        combos = [tuple(codes[name] for name in term) for codes in self._levels]
        return dict(zip(combos, np.exp(whole).tolist(), strict=True))

    def _matrix(self, terms: Sequence[Codes]) -> Floats:
        return np.hstack([np.ones((len(self._levels), 1)), *(self._columns[t] for t in terms)])

    def _coded(self, term: Codes) -> Floats:
        singles = [self._single(name) for name in term]
        widths = [range(single.shape[1]) for single in singles]
        columns = [
            np.prod([s[:, j] for s, j in zip(singles, picks, strict=True)], axis=0)
            for picks in product(*widths)
        ]
        return np.stack(columns, axis=1).astype(np.float64)

    def _single(self, name: str) -> Floats:
        codes = self._codes[name]
        rows = np.vstack([np.eye(len(codes) - 1), -np.ones(len(codes) - 1)])
        return rows[[codes.index(at[name]) for at in self._levels]]
