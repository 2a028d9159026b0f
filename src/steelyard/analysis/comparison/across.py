"""What bundles say together: how many times one is another, where curves cross, whether a finding holds."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from steelyard import quantities as fmt
from steelyard.analysis.judgement import Comparison, Estimate, Judgement, Metric
from steelyard.analysis.statistics.distributions import half_width
from steelyard.study.workloads.workload import Workload

FEWEST_PLATFORMS = 5
"""For an interval over platforms: of fewer, the scatter between them is not known."""
_OPTIONS_MAX = 4

Row = tuple[Comparison, Estimate, Estimate]


def short_names(paths: Sequence[str]) -> dict[str, str]:
    """What sentences call each bundle: the name of its folder where no other has the same."""
    short = {path: path.rstrip("/").rpartition("/")[2].removesuffix(".bundle") for path in paths}
    return short if len({*short.values()}) == len(short) else {path: path for path in paths}


@dataclass(frozen=True)
class Pair:
    """Two bundles. cores: of each, None: not known; work: what clients are called; several: of options."""

    here: str
    there: str
    cores: tuple[int | None, int | None]
    work: Workload
    several: bool

    def sentences(self, metric: Metric, rows: Mapping[str, Sequence[Row]]) -> Iterator[str]:
        """One for each option. rows: by option, a load point each, comparison and levels here and there."""
        for option, unsorted in list(rows.items())[:_OPTIONS_MAX]:
            points = sorted(unsorted, key=lambda row: row[0].clients or 0)
            of = f"{option}: " if self.several else ""
            first, last = points[0], points[-1]
            text = f"{of}{metric.title} of {self.there} is {_times(first[0])} times that of {self.here}"
            if first is not last:
                text += f" with {self._at(first)}, {_times(last[0])} times with {self._at(last)}"
                text += self._beyond_cores(metric, points) + self._crossing(metric, points)
            yield f"{text}."

    def _at(self, row: Row) -> str:
        return self.work.counted(row[0].clients or 1)

    def _beyond_cores(self, metric: Metric, points: Sequence[Row]) -> str:
        """How the ratio changes up to the number of cores of the one that is ahead, and beyond."""
        ahead = (points[0][0].ratio > 1) == (metric.better == "higher")
        cores = self.cores[ahead]
        by_clients = {c.clients: c.ratio for c, _, _ in points}
        if cores is None or cores not in by_clients or cores in (points[0][0].clients, points[-1][0].clients):
            return ""
        start, middle, end = points[0][0].ratio, by_clients[cores], points[-1][0].ratio
        name = (self.here, self.there)[ahead]
        return (
            f". The ratio changes by {fmt.change(middle / start)} up to {self.work.counted(cores)}"
            f" (the cores of {name}), then by {fmt.change(end / middle)} up to {points[-1][0].clients}"
        )

    def _crossing(self, metric: Metric, points: Sequence[Row]) -> str:
        """How many clients the slower needs to reach the faster with the fewest, by interpolation."""
        if metric.better != "higher" or points[0][0].ratio == 1 or points[0][0].outcome == "equivalent":
            return ""
        ahead = points[0][0].ratio > 1
        slow = [(c.clients or 1, here if ahead else there) for c, here, there in points]
        _, here, there = points[0]
        target = there if ahead else here
        names = (self.here, self.there) if ahead else (self.there, self.here)
        at = _reaches([(n, e.value) for n, e in slow], target.value)
        goal = f"{names[1]} with {self._at(points[0])}"
        if at is None:
            return f". {names[0]} does not reach {goal}, up to {slow[-1][0]}"
        needs = f". {names[0]} needs {fmt.significant(at)} {self.work.points_are} to reach {goal}"
        if any(fmt.says_nothing(e.low, e.high) for e in (target, *(e for _, e in slow))):
            below, above = next((a, b) for a, b in pairwise([n for n, _ in slow]) if a <= at <= b)
            return f"{needs} (interpolated between {below} and {above})"
        ends = (
            _reaches([(n, e.high) for n, e in slow], target.low),
            _reaches([(n, e.low) for n, e in slow], target.high),
        )
        low, high = (fmt.significant(end) if end else "beyond" for end in ends)
        return f"{needs} [{low} to {high}]"


def _times(found: Comparison) -> str:
    return fmt.ratio(found.ratio, found.low, found.high).removesuffix(" [no interval]")


def _reaches(points: Sequence[tuple[int, float]], target: float) -> float | None:
    """Where a line through the points first reaches the target; None where it never does."""
    if points[0][1] >= target:
        return float(points[0][0])
    for (a, below), (b, above) in pairwise(points):
        if below < target <= above:
            return a + (b - a) * (target - below) / (above - below)
    return None


def no_platforms(judged: Mapping[str, Judgement], unlike: Sequence[str]) -> str:
    """Why bundles are not platforms of one study; '' where they are, and of single options.

    unlike: in what else than their platform they differ.
    """
    first = next(iter(judged.values()))
    if any(judgement.baseline != first.baseline for judgement in judged.values()):
        unlike = [*unlike, "their baseline"]
    if not unlike or len(first.options) == 1:
        return ""
    return f"Whether a finding holds on them all is unknown: they also differ in {'; '.join(unlike[:3])}."


def holds(judged: Mapping[str, Judgement]) -> Iterator[str]:
    """Whether each option's effect is the same in all bundles, which are platforms of one study."""
    first = next(iter(judged.values()))
    others = [option for option in first.options if option != first.baseline]
    roles = first.headlines
    points = {c.clients for c in first.comparisons} - {None}
    for metric in dict.fromkeys(filter(None, (roles.foremost, roles.cpu))):
        for option in others:
            found = [
                c
                for judgement in judged.values()
                for c in judgement.comparisons
                if c.metric == metric.name and c.option == option and c.clients is None
            ]
            if len(found) == len(judged) and metric.better != "neither":
                over = f" ({found[0].mean} of all load points)" if points else ""
                yield _holds(metric, option, first.baseline, found, over)


def _holds(metric: Metric, option: str, baseline: str, found: Sequence[Comparison], over: str) -> str:
    signs = [c.ratio > 1 for c in found]
    upward = 2 * sum(signs) >= len(signs)
    proven = [(c.ratio > 1) == upward for c in found if c.standing in ("better", "worse")]
    same, of = signs.count(upward), len(found)
    ratios = [c.ratio for c in found]
    span = fmt.span_of(ratios, fmt.significant)
    title = metric.full_title[:1].upper() + metric.full_title[1:]
    text = f"{title} of {option} is {span} times that of {baseline}{over}"
    more, less = ("higher", "lower") if upward else ("lower", "higher")
    shown = "one run each" if all(c.blocks == 1 for c in found) else f"proven on {sum(proven)}"
    told = f"{more} on {same} of {of} platforms, {shown}"
    if not all(proven):
        told += f", proven {less} on {proven.count(False)}"
    if of >= FEWEST_PLATFORMS and 0 < min(ratios) <= max(ratios) < math.inf:
        mean, low, high, factor = _over_platforms(ratios)
        told += f"; over platforms {fmt.ratio(mean, low, high)}, which differ by {factor:.2f} times (SD)"
    return f"{text}: {told}."


def _over_platforms(ratios: Sequence[float]) -> tuple[float, float, float, float]:
    """Ratio over platforms with its 95 % interval, and the standard deviation between platforms as a factor.

    Random effects without weights, Student's t on the logarithms: weights from few blocks would be worse than
    none (Higgins, Thompson, Spiegelhalter 2009, J. R. Stat. Soc. A 172).
    """
    logs = np.log(ratios)
    mean, sd = float(logs.mean()), float(logs.std(ddof=1))
    half = half_width(logs)
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half), math.exp(sd)
