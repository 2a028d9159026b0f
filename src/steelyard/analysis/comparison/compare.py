"""Compares options, one metric at one point: the run is the unit, blocks hold every option once.

Logs of the runs' values are fitted by option + block; the estimate is the difference of option
means, its error that of the pair's own scatter (see `scatter`). With two options that is the paired t
test on the log ratio. Intervals and p-values allow for as many chances as there are other options (Sidak
1967), whichever pair is compared: so a pair has one interval, in a table against the baseline and in
a verdict on the leader alike. `equivalent` is two one-sided tests at 5 %: the 90 % interval lies inside
the margin (Schuirmann 1987); it comes before `better`, so that a difference proven but too small to
matter is called equivalent. Its p-value is multiplied by five, and if that is above the level, its interval
includes 1: if one option alone has rare pauses, its runs without one are fast and alike, and a t test
at 5 % errs in 15 % of studies (benches/truth.py). Where zeros occur the same is done with differences,
relative to the baseline's mean. Different metrics and points are not corrected for one another, but for
the metrics of the verdict (see `intervals`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from steelyard.analysis.comparison.block_table import BlockTable, block_table, points_of
from steelyard.analysis.comparison.fit import fit
from steelyard.analysis.comparison.notices import PairNotices
from steelyard.analysis.comparison.scatter import Ints, Scatter, scatter
from steelyard.analysis.judgement.outcome import FEWEST_BLOCKS, Outcome
from steelyard.analysis.judgement.results import Better, Comparison, Metric, Notice
from steelyard.analysis.metrics.run_metrics import HEADLINES, RunMetrics

ALPHA = 0.05
_STRICTER = 5  # of a difference too small to matter: its p-value counts so many times

Pair = tuple[str, str]


@dataclass(frozen=True)
class Compared:
    """Comparisons of one metric, and notices on what could not be compared."""

    comparisons: tuple[Comparison, ...]
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True)
class Difference:
    """Option minus baseline in the metric's unit, with its interval. before, after: of the two."""

    before: float
    after: float
    low: float
    high: float
    p_value: float

    @property
    def shown(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low > 0 or self.high < 0


def compare(
    run_metrics: RunMetrics,
    metric: Metric,
    options: Sequence[str],
    baseline: str,
    margin: float,
    point: int | None = None,
    alpha: float = ALPHA,
) -> Compared:
    """Every option against the baseline. margin: smallest ratio that matters, as a fraction.

    point None: all points together. alpha: less where the metric is one of many that are searched.
    The notices list what cannot be compared.
    """
    tests = PairTests(run_metrics, metric, options, margin, point)
    pairs = [(option, baseline) for option in tests.options if option != baseline]
    return Compared(tests.comparisons(pairs, [alpha] * len(pairs)), tests.not_compared(options, baseline))


class PairTests:
    """All options by one metric at one point: any pair of them can be compared.

    options: those that have a value in enough blocks. logs: whether the fit is on logarithms.
    """

    def __init__(
        self,
        run_metrics: RunMetrics,
        metric: Metric,
        options: Sequence[str],
        margin: float,
        point: int | None = None,
    ) -> None:
        self._fit = fit(block_table(run_metrics, metric.name, options, point))
        self._metric, self._margin = metric, margin
        self._clients = None if point is None else points_of(run_metrics)[point]
        self._notices = PairNotices(run_metrics, metric, self._fit)
        self.options = self._fit.table.options
        self.logs = self._fit.logs

    def comparable(self, pair: Pair) -> bool:
        """Whether this option has a ratio to this baseline."""
        return pair[0] in self.options and self._fit.comparable(pair[1])

    def p_values(self, pairs: Sequence[Pair]) -> list[float]:
        """P-value of each difference (option, baseline), adjusted for the number of other options."""
        one, other, distances = self._distances(pairs)
        return self._fit.scatter.p_values(distances, one, other, self._chances).tolist()

    def half_widths(self, pairs: Sequence[Pair], alpha: float) -> list[float]:
        """Half-width of each pair's interval, on the scale of the fit (logs, but where zeros occur)."""
        one, other, _ = self._distances(pairs)
        return self._fit.scatter.half_widths(one, other, self._chances, alpha).tolist()

    def comparisons(self, pairs: Sequence[Pair], alphas: Sequence[float]) -> tuple[Comparison, ...]:
        """Of every pair (option, baseline) that is comparable, its interval at level 1 - alpha."""
        levels = {pair: alpha for pair, alpha in zip(pairs, alphas, strict=True) if self.comparable(pair)}
        found = list(levels)
        if not found:
            return ()
        p_values, shown = self._shown(levels)
        narrow = self.half_widths(found, 2 * ALPHA)
        wide = self._half_widths_at(levels, self._fit.scatter)
        return tuple(
            self._comparison(pair, p, wide[pair], small, pair in shown)
            for pair, p, small in zip(found, p_values, narrow, strict=True)
        )

    def differences(self, pairs: Sequence[Pair], alphas: Sequence[float]) -> dict[Pair, Difference]:
        """Each pair's difference in the metric's unit; without those of which one has no values."""
        known = set(self.options)
        levels = {pair: alpha for pair, alpha in zip(pairs, alphas, strict=True) if known.issuperset(pair)}
        found = list(levels)
        if not found or not self._fit.table.blocks:
            return {}
        wide = self._half_widths_at(levels, self._fit.scatter)
        p_values, shown = self._shown(levels)
        # the ratio's interval does not know how the baseline itself scatters
        in_unit = self._half_widths_at(levels, scatter(self._fit.table.values)) if self.logs else wide
        return {
            pair: self._difference(pair, wide[pair], in_unit[pair], p, pair in shown)
            for pair, p in zip(found, p_values, strict=True)
        }

    def _shown(self, levels: Mapping[Pair, float]) -> tuple[list[float], set[Pair]]:
        """P-values at which pairs are judged, and those whose difference is shown at their level."""
        one, other, distances = self._distances(list(levels))
        reach = math.log1p(self._margin) if self.logs else self._margin * np.abs(self._fit.means[other])
        room = reach - np.abs(distances)
        outside = self._fit.scatter.p_values(room, one, other, self._chances)
        small = (room > 0) & (outside < 2 * ALPHA)
        p_values = np.array(self.p_values(list(levels)))
        judged = np.where(small, np.minimum(1.0, _STRICTER * p_values), p_values).tolist()
        return judged, {pair for (pair, level), p in zip(levels.items(), judged, strict=True) if p <= level}

    def _half_widths_at(self, levels: Mapping[Pair, float], of: Scatter) -> dict[Pair, float]:
        """Half-width of each pair's interval at its own level."""
        found: dict[Pair, float] = {}
        for alpha in set(levels.values()):
            pairs = [pair for pair, level in levels.items() if level == alpha]
            one, other, _ = self._distances(pairs)
            halves = of.half_widths(one, other, self._chances, alpha).tolist()
            found |= dict(zip(pairs, halves, strict=True))
        return found

    def _difference(self, pair: Pair, half: float, in_unit: float, p_value: float, shown: bool) -> Difference:
        """half: of the interval on the scale of the fit; in_unit: of that of the values themselves."""
        after, before = (self._fit.mean(option) for option in pair)
        distance = after - before
        if self.logs:
            before, after = math.exp(before), math.exp(after)
        low, high = after - before - in_unit, after - before + in_unit
        if not shown:
            low, high = min(low, 0.0), max(high, 0.0)
        elif self.logs and low <= 0 <= high:
            # proven by the ratio: the end at 0 is that of the ratio
            nearest = before * math.expm1(distance - math.copysign(half, distance))
            low, high = (nearest, high) if distance > 0 else (low, nearest)
        return Difference(before, after, low, high, p_value)

    def not_compared(self, options: Sequence[str], baseline: str) -> tuple[Notice, ...]:
        """What cannot be compared with this baseline, and why."""
        table, metric = self._fit.table, self._metric
        if not table.blocks:
            return (Notice("not-compared", "no block holds a value of every option", detail=metric.title),)
        if baseline not in table.options:
            return (Notice("not-compared", "not measured in the baseline", baseline, detail=metric.title),)
        missing = tuple(
            Notice("not-compared", "too few runs have a value", option, detail=metric.title)
            for option in table.absent
        )
        # the other metrics need no ratio; where they differ by much the reasons state it
        needed = metric.name in HEADLINES and len(table.options) > 1
        if needed and not self._fit.comparable(baseline) and _some(table):
            text = "0 in the baseline, so there is no ratio"
            return (*missing, Notice("not-compared", text, detail=metric.title))
        return missing

    @property
    def _chances(self) -> int:
        return max(len(self.options) - 1, 1)

    def _distances(self, pairs: Sequence[Pair]) -> tuple[Ints, Ints, np.ndarray]:
        place = {option: i for i, option in enumerate(self.options)}
        one = np.array([place[option] for option, _ in pairs], dtype=np.intp)
        other = np.array([place[baseline] for _, baseline in pairs], dtype=np.intp)
        return one, other, self._fit.means[one] - self._fit.means[other]

    def _comparison(self, pair: Pair, p_value: float, wide: float, narrow: float, shown: bool) -> Comparison:
        option, baseline = pair
        distance = self._fit.mean(option) - self._fit.mean(baseline)
        if self._fit.logs:
            reach = math.log1p(self._margin)
            ratio = math.exp(distance)
            low, high = _exp(distance - wide), _exp(distance + wide)
        else:
            scale = abs(self._fit.mean(baseline))
            reach = self._margin * scale
            ratio = 1 + distance / scale
            low, high = max(0.0, ratio - wide / scale), ratio + wide / scale
        if not shown:
            low, high = min(low, 1.0), max(high, 1.0)
        small = abs(distance) + narrow < reach
        outcome = _outcome(self._metric.better, distance, shown, small)
        blocks = len(self._fit.table.blocks)
        found = Comparison(
            metric=self._metric.name,
            option=option,
            baseline=baseline,
            clients=self._clients,
            ratio=ratio,
            low=low,
            high=high,
            p_value=p_value if blocks > 1 else math.nan,
            blocks=blocks,
            margin=self._margin,
            outcome=outcome,
            settled_at=_settled_at(blocks, narrow, reach) if outcome == "inconclusive" else None,
            notices=self._notices.of(option, baseline),
        )
        unclear = blocks >= FEWEST_BLOCKS and shown and not small and abs(distance) - wide < reach
        if unclear and self._metric.name in HEADLINES:
            return replace(found, notices=(_may_be_small(self._metric, found), *found.notices))
        return found


def _settled_at(blocks: int, narrow: float, reach: float) -> int | None:
    """Blocks after which the 90 % interval is half as wide as the margin: room for any estimate.

    Half-widths shrink with the root of the blocks. A scatter seen in fewer than five may be ten times too
    small or too large.
    """
    if blocks < FEWEST_BLOCKS or not math.isfinite(narrow) or reach <= 0:
        return None
    return math.ceil(blocks * (narrow / (reach / 2)) ** 2)


def _exp(x: float) -> float:
    return math.exp(x) if x < 700 else math.inf


def _outcome(better: Better, distance: float, proven: bool, small: bool) -> Outcome:
    if small:
        return "equivalent"
    if not proven:
        return "inconclusive"
    if better == "neither":
        return "different"
    return "better" if (distance > 0) == (better == "higher") else "worse"


def _may_be_small(metric: Metric, found: Comparison) -> Notice:
    at = "" if found.clients is None else f" at N = {found.clients}:"
    return Notice(
        "may-be-small",
        f"proven to differ from {found.baseline}, but perhaps by less than the"
        f" {100 * found.margin:.3g} % that matters",
        found.option,
        detail=f"{metric.title}{at} {found.low:.3f} to {found.high:.3f} times",
    )


def _some(table: BlockTable) -> bool:
    """A metric that is 0 everywhere, like errors where none occurred, needs no notice."""
    return bool((table.values != 0).any())
