"""Compares options, one metric at one point: the run is the unit, blocks hold every option once.

Logs of the runs' values are fitted by option + block; the estimate is the difference of option means, its
error that of the pair's own scatter (see `scatter`). With two options that is the paired t test on the log
ratio. Intervals and p-values allow for as many chances as there are other options (Sidak 1967), whichever
pair is compared: so a pair has one interval, in a table against the baseline and in a verdict on the leader
alike. `equivalent` is two one-sided tests at 5 %: the 90 % interval lies inside the margin (Schuirmann 1987);
it comes before `better`, so that a difference proven but too small to matter is called equivalent. Its
p-value is multiplied by five, and if that is above the level, its interval includes 1: if one option alone
has rare pauses, runs without one are alike, and a t test at 5 % errs in 15 % of studies (benches/truth.py).
Where zeros occur the same is done with differences, relative to the baseline's mean. Different metrics and
points are not corrected for one another, but for the metrics of the verdict (see `intervals`).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from steelyard.analysis.comparison.block_table import block_table, points_of
from steelyard.analysis.comparison.notices import error_notices, error_rates, shared_notices
from steelyard.analysis.comparison.scatter import Fit, Ints, Scatter, scatter
from steelyard.analysis.judgement import FEWEST_BLOCKS, Comparison, Metric, Notice, Outcome
from steelyard.analysis.metrics.run_metrics import HEADLINES, RunMetrics
from steelyard.analysis.statistics.distributions import ALPHA

STRICTER = 5  # factor on the p-value of a difference too small to matter

Pair = tuple[str, str]


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


class _Judged(NamedTuple):
    """Of a pair: means of logs, or of values where zeros occur. half: of the interval at the pair's level."""

    distance: float
    half: float
    p_value: float
    shown: bool


class PairTests(Fit):
    """All options by one metric at one point: any pair of them can be compared.

    margin: smallest ratio that matters, as a fraction. point None: all points together.
    """

    def __init__(
        self,
        run_metrics: RunMetrics,
        metric: Metric,
        options: Sequence[str],
        margin: float,
        point: int | None = None,
    ) -> None:
        super().__init__(block_table(run_metrics, metric.name, options, point))
        self._metric, self._margin = metric, margin
        self._clients = None if point is None else points_of(run_metrics)[point]
        self._notices, self._failed = shared_notices(metric, self), error_rates(run_metrics)
        self._chances = max(len(self.options) - 1, 1)

    def against(self, baseline: str, alpha: float = ALPHA) -> tuple[Comparison, ...]:
        """Every option against the baseline. alpha: less for one of many metrics that are searched."""
        return self.comparisons({(option, baseline): alpha for option in self.options if option != baseline})

    def p_values(self, pairs: Iterable[Pair]) -> list[float]:
        """P-value of each difference (option, baseline), adjusted for the number of other options."""
        one, other, distances = self._distances(pairs)
        return self.scatter.p_values(distances, one, other, self._chances).tolist()

    def half_widths(self, pairs: Iterable[Pair], alpha: float, of: Scatter | None = None) -> list[float]:
        """Half-width of each pair's interval, on the scale of the fit (logs, but where zeros occur)."""
        one, other, _ = self._distances(pairs)
        return (of or self.scatter).half_widths(one, other, self._chances, alpha).tolist()

    def comparisons(self, levels: Mapping[Pair, float]) -> tuple[Comparison, ...]:
        """Of every pair (option, baseline) that is comparable, its interval at level 1 - its alpha."""
        levels = {pair: alpha for pair, alpha in levels.items() if self.comparable(pair)}
        if not levels:
            return ()
        narrow = self.half_widths(levels, 2 * ALPHA)
        judged = self._judged(levels)
        return tuple(self._comparison(*row) for row in zip(levels, judged, narrow, strict=True))

    def differences(self, levels: Mapping[Pair, float]) -> dict[Pair, Difference]:
        """Each pair's difference in the metric's unit; without those of which one has no values."""
        levels = {pair: alpha for pair, alpha in levels.items() if {*pair} <= {*self.options}}
        if not levels or not self.table.blocks:
            return {}
        judged = self._judged(levels)
        # the ratio's interval does not know how the baseline itself scatters
        of = scatter(self.table.values) if self.logs else self.scatter
        rows = zip(levels, judged, self._half_widths_at(levels, of), strict=True)
        return {pair: self._difference(pair, one, half) for pair, one, half in rows}

    def not_compared(self, baseline: str) -> tuple[Notice, ...]:
        """What cannot be compared with this baseline, and why."""
        table, metric = self.table, self._metric
        if not table.blocks:
            found = {"": "no block holds a value of every option"}
        elif baseline not in self.options:
            found = {baseline: "the baseline has too few values, or none"}
        else:
            found = dict.fromkeys(table.absent, "too few runs have a value")
            # the other metrics need no ratio; where they differ by much the reasons state it
            needed = metric.name in HEADLINES and len(self.options) > 1
            # a metric that is 0 everywhere, like errors where none occurred, needs no notice
            negative = [self.options[at] for at in np.flatnonzero((table.values < 0).any(axis=0))]
            found |= dict.fromkeys(negative, "negative in some runs, so there is no ratio")
            if needed and not self.logs and not self.mean(baseline) and table.values.any():
                found[""] = "0 in the baseline, so there is no ratio"
        return tuple(
            Notice("not-compared", text, option, detail=metric.title) for option, text in found.items()
        )

    def _judged(self, levels: Mapping[Pair, float]) -> list[_Judged]:
        """Each pair's difference: how far its interval reaches, the p-value at which it is judged."""
        one, other, distances = self._distances(levels)
        reach = math.log1p(self._margin) if self.logs else self._margin * np.abs(self.means[other])
        room = reach - np.abs(distances)
        outside = self.scatter.p_values(room, one, other, self._chances)
        small = (room > 0) & (outside < 2 * ALPHA)
        p_values = np.array(self.p_values(levels))
        judged = np.where(small, np.minimum(1.0, STRICTER * p_values), p_values).tolist()
        halves = self._half_widths_at(levels, self.scatter)
        rows = zip(distances.tolist(), halves, judged, levels.values(), strict=True)
        return [_Judged(distance, half, p, p <= level) for distance, half, p, level in rows]

    def _half_widths_at(self, levels: Mapping[Pair, float], of: Scatter) -> list[float]:
        """Half-width of each pair's interval at its own level."""
        found: dict[Pair, float] = {}
        for alpha in set(levels.values()):
            pairs = [pair for pair, level in levels.items() if level == alpha]
            found |= zip(pairs, self.half_widths(pairs, alpha, of), strict=True)
        return [found[pair] for pair in levels]

    def _distances(self, pairs: Iterable[Pair]) -> tuple[Ints, Ints, np.ndarray]:
        places = [[self.options.index(option) for option in pair] for pair in pairs]
        one, other = np.array(places, dtype=np.intp).reshape(-1, 2).T
        return one, other, self.means[one] - self.means[other]

    def _difference(self, pair: Pair, judged: _Judged, in_unit: float) -> Difference:
        """in_unit: half of the interval of the values themselves."""
        distance, half, p_value, shown = judged
        after, before = (math.exp(mean) if self.logs else mean for mean in map(self.mean, pair))
        low, high = after - before - in_unit, after - before + in_unit
        if not shown:
            low, high = min(low, 0.0), max(high, 0.0)
        elif self.logs and low <= 0 <= high:
            # proven by the ratio: the end at 0 is that of the ratio
            nearest = before * math.expm1(distance - math.copysign(half, distance))
            low, high = (nearest, high) if distance > 0 else (low, nearest)
        return Difference(before, after, low, high, p_value)

    def _comparison(self, pair: Pair, judged: _Judged, narrow: float) -> Comparison:
        distance, wide, p_value, shown = judged
        metric, blocks = self._metric, len(self.table.blocks)
        if self.logs:
            reach = math.log1p(self._margin)
            ratio, low, high = math.exp(distance), _exp(distance - wide), _exp(distance + wide)
        else:
            # two zeros are equivalent
            scale = self.mean(pair[1]) or math.inf
            reach, ratio = self._margin * scale, 1 + distance / scale
            low, high = max(0.0, ratio - wide / scale), ratio + wide / scale
        if not shown:
            low, high = min(low, 1.0), max(high, 1.0)
        outcome: Outcome = "better" if (distance > 0) == (metric.better == "higher") else "worse"
        if abs(distance) + narrow < reach:
            outcome = "equivalent"
        elif not shown:
            outcome = "inconclusive"
        elif metric.better == "neither":
            outcome = "different"
        notices = (*self._notices, *error_notices(self._failed, pair))
        unclear = shown and outcome != "equivalent" and abs(distance) - wide < reach
        if unclear and blocks >= FEWEST_BLOCKS and metric.name in HEADLINES:
            at = "" if self._clients is None else f" at N = {self._clients}:"
            text = f"proven to differ from {pair[1]}, but perhaps by less than the {100 * self._margin:.3g} %"
            detail = f"{metric.title}{at} {low:.3f} to {high:.3f} times"
            notices = (Notice("may-be-small", f"{text} that matters", pair[0], detail=detail), *notices)
        return Comparison(
            metric.name,
            *pair,
            clients=self._clients,
            ratio=ratio,
            low=low,
            high=high,
            p_value=p_value if blocks > 1 else math.nan,
            blocks=blocks,
            margin=self._margin,
            outcome=outcome,
            settled_at=_settled_at(blocks, narrow, reach) if outcome == "inconclusive" else None,
            notices=notices,
            mean="geometric mean" if self.logs else "mean",
        )


def _settled_at(blocks: int, narrow: float, reach: float) -> int | None:
    """Blocks after which the 90 % interval is half as wide as the margin: room for any estimate.

    Half-widths shrink with the root of the blocks. Seen in fewer than five a scatter may be ten times off.
    """
    if blocks < FEWEST_BLOCKS or not math.isfinite(narrow) or reach <= 0:
        return None
    return math.ceil(blocks * (narrow / (reach / 2)) ** 2)


def _exp(x: float) -> float:
    return math.exp(x) if x < 700 else math.inf
