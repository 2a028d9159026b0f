"""Which factor matters: main effects, two-factor interactions, allocation of variation.

Jain, The Art of Computer Systems Performance Analysis (1991), chapters 17-18 and 22: a share is
the term's sum of squares over the total. Exclusions and lost runs make designs unbalanced; sums of
squares are then of type II (each term after all others that do not contain it; Yates 1934), by
least squares. In balanced designs that is Jain's own; elsewhere shares need not add up, since what
two factors explain together is given to neither. Blocks are taken out first: they are a nuisance.
Interactions of three and more factors stay in what is left over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from steelyard.analysis import tails
from steelyard.analysis.layout import lay_out
from steelyard.analysis.measures import Measures
from steelyard.analysis.results import Effect, Metric
from steelyard.analysis.tails import Floats
from steelyard.bundle.evidence import Option

Codes = tuple[str, ...]


@dataclass(frozen=True)
class Term:
    """A main effect (one factor) or an interaction (two), on the scale of the values given.

    deviations: of each combination of levels that was run, what this term alone adds to the grand
    mean; totals: the same with the main effects of its factors.
    """

    factors: Codes
    share: float
    p_value: float
    deviations: Mapping[Codes, float]
    totals: Mapping[Codes, float]


def effects(measures: Measures, metric: Metric, options: Sequence[Option]) -> tuple[Effect, ...]:
    """Effects on the log scale, all points together, largest share first; () where zeros occur."""
    layout = lay_out(measures, metric.name, [o.label for o in options])
    if not layout.blocks or not layout.positive or len(layout.options) < 2:
        return ()
    levels = {o.label: o.levels for o in options}
    terms = decompose(np.log(layout.values), [levels[label] for label in layout.options])
    found = [
        Effect(
            metric=metric.name,
            factors=term.factors,
            share=term.share,
            p_value=term.p_value,
            levels={codes: float(np.exp(total)) for codes, total in term.totals.items()},
        )
        for term in terms
    ]
    return tuple(sorted(found, key=lambda effect: -effect.share))


def decompose(values: Floats, levels: Sequence[Mapping[str, str]]) -> tuple[Term, ...]:
    """Terms of values[block, option]. levels: of each option, its code by factor.

    Factors of which only one level was run, and interactions that exclusions leave nothing of,
    are left out.
    """
    design = _Design(levels)
    means: Floats = values.mean(axis=0)
    blocks, options = values.shape
    residuals = values - values.mean(axis=1, keepdims=True) - means + values.mean()
    noise, noise_df = float((residuals**2).sum()), (blocks - 1) * (options - 1)
    total = noise + blocks * float(((means - means.mean()) ** 2).sum())
    terms: list[Term] = []
    for term in design.terms:
        others = [t for t in design.terms if t != term and not set(term) < set(t)]
        without, rank = design.residual(means, others)
        left, rank_with = design.residual(means, [*others, term])
        df = rank_with - rank
        if df <= 0:
            continue
        squares = max(blocks * (without - left), 0.0)
        spread = noise / noise_df if noise_df else 0.0
        p = tails.f_tail(squares / df / spread, df, noise_df) if spread > 0 else 1.0
        share = squares / total if total > 0 else 0.0
        terms.append(Term(term, share, p, *design.levels_of(means, term)))
    return tuple(terms)


class _Design:
    """Effect-coded columns (levels sum to zero) of every main effect and pair of factors."""

    def __init__(self, levels: Sequence[Mapping[str, str]]) -> None:
        self._levels = levels
        names = list(levels[0])
        self._codes = {name: list(dict.fromkeys(at[name] for at in levels)) for name in names}
        moving = [name for name in names if len(self._codes[name]) > 1]
        mains: list[Codes] = [(name,) for name in moving]
        self.terms: list[Codes] = [*mains, *combinations(moving, 2)]
        self._columns = {term: self._coded(term) for term in self.terms}

    def residual(self, y: Floats, terms: Sequence[Codes]) -> tuple[float, int]:
        """Residual sum of squares and rank of a model of these terms."""
        x = self._matrix(terms)
        coefficients, _, rank, _ = np.linalg.lstsq(x, y, rcond=1e-9)
        return float(((y - x @ coefficients) ** 2).sum()), int(rank)

    def levels_of(self, y: Floats, term: Codes) -> tuple[dict[Codes, float], dict[Codes, float]]:
        """Deviations and totals by combination of codes, the other main effects allowed for."""
        mains = [t for t in self.terms if len(t) == 1]
        model = mains if len(term) == 1 else [*mains, term]
        solved = np.linalg.lstsq(self._matrix(model), y, rcond=1e-9)[0]
        coefficients = np.asarray(solved, dtype=np.float64)
        parts: dict[Codes, Floats] = {}
        at = 1
        for t in model:
            width = self._columns[t].shape[1]
            parts[t] = self._columns[t] @ coefficients[at : at + width]
            at += width
        alone: Floats = parts[term]
        whole: Floats = alone.copy()
        if len(term) > 1:
            for name in term:
                whole += parts[(name,)]
        combos = [tuple(codes[name] for name in term) for codes in self._levels]
        return (
            dict(zip(combos, alone.tolist(), strict=True)),
            dict(zip(combos, whole.tolist(), strict=True)),
        )

    def _matrix(self, terms: Sequence[Codes]) -> Floats:
        ones = np.ones((len(self._levels), 1))
        return np.hstack([ones, *(self._columns[t] for t in terms)])

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
