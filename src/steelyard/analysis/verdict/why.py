"""Why: the costs of a transaction that differ between two options, in numbers and in sentences.

The sentences say what was counted and no more: which costs differ, by how much, how sure. Costs
are many, so sentences keep to those that hold at a false discovery rate of 5 %, and to those that
are material: at least the floor of their kind of cost and, for times, a share of the baseline's
server CPU. What the verdict or the tables compare is called here what they call it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from steelyard.analysis.comparison.compare import ALPHA, Contest, Difference
from steelyard.analysis.comparison.pairwise import Duel
from steelyard.analysis.judgement.results import CostDifference, Metric
from steelyard.analysis.metrics.costs import SERVER_CPU
from steelyard.analysis.metrics.dispatcher import COSTS as SIMULATED
from steelyard.analysis.metrics.dispatcher import LONGEST_WAIT
from steelyard.analysis.metrics.latches import COSTS as LATCHES
from steelyard.analysis.metrics.programs import COSTS
from steelyard.analysis.metrics.run_metrics import P99, THROUGHPUT, WAIT_PREFIX, Measures
from steelyard.analysis.statistics import distributions
from steelyard.quantities import percent, quantity, significant

USER = "server_user_us_per_txn"
SYSTEM = "server_system_us_per_txn"
_PARTS = (USER, SYSTEM)
# beside those that monitors declare
_OTHERS = (*LATCHES, *COSTS, *SIMULATED, LONGEST_WAIT.name)
_WORTH_SAYING = 0.05  # relative change of a cost
_MATERIAL = 0.03  # of the baseline's server CPU, for times; the study's own margin where that is less
_MOST_SENTENCES = 6


@dataclass(frozen=True)
class _Cost:
    """A cost with what sentences need beside it. p_value: adjusted over all costs of the pair.

    floor: the least change that is material, in the cost's unit.
    """

    metric: Metric
    difference: CostDifference
    p_value: float
    floor: float

    @property
    def change(self) -> float:
        """After minus before."""
        return self.difference.after - self.difference.before

    @property
    def proven(self) -> bool:
        """Whether it differs, all costs considered."""
        return self.p_value <= ALPHA

    @property
    def material(self) -> bool:
        """Whether so large a change can be a reason."""
        return abs(self.change) >= self.floor

    def say(self, value: float) -> str:
        """A value with its unit, in the step of unit that suits the cost itself."""
        largest = max(self.difference.before, self.difference.after)
        return quantity(value, self.difference.unit, largest)


class Costs:
    """What a transaction costs more or less under one option than under another, for pairs of options.

    Values are those of the tables: geometric means over blocks and points (plain means where zeros
    occur), with the intervals of the comparisons. options: all of the study; margin: the smallest
    difference that matters to it, as a fraction; alpha: of the tables' intervals.
    """

    def __init__(
        self,
        measures: Measures,
        options: Sequence[str],
        duels: Sequence[Duel],
        margin: float,
        alpha: float = ALPHA,
    ) -> None:
        self._measures, self._options, self._margin, self._alpha = measures, options, margin, alpha
        waits = tuple(m.name for m in measures.metrics if m.name.startswith(WAIT_PREFIX))
        names = (*measures.costs, *_OTHERS, *waits, THROUGHPUT.name)
        self._metrics = [m for m in map(measures.metric, names) if m is not None]
        pairs = [(duel.option, duel.rival) for duel in duels]
        self._found = {
            metric.name: Contest(measures, metric, options, margin).differences(pairs, alpha)
            for metric in self._metrics
        }

    def differences(self, duel: Duel) -> tuple[CostDifference, ...]:
        """Every cost of the pair, CPU and its parts first."""
        return tuple(cost.difference for cost in self._of(duel))

    def reasons(self, duel: Duel, closed_loop: bool = True) -> tuple[str, ...]:
        """What goes with the difference between two options, a sentence each, CPU first."""
        costs = {cost.metric.name: cost for cost in self._of(duel)}
        said: list[str] = []
        if SERVER_CPU.name in costs:
            said.append(_cpu(costs, duel))
            said += self._pace(costs[SERVER_CPU.name], duel) if closed_loop else ()
        said += self._tail(duel) if closed_loop else ()
        rest = [cost for name, cost in costs.items() if name not in (SERVER_CPU.name, *_PARTS)]
        rest = [c for c in rest if c.proven and c.material and _relative(c) >= _WORTH_SAYING]
        # times first, the longest before the others; then what is counted, by relative change
        rest.sort(key=lambda c: (c.difference.unit != "us", -abs(c.change) if _timed(c) else 0.0))
        said += [_other(cost, duel) for cost in rest[: _MOST_SENTENCES - len(said)]]
        return tuple(said)

    def _of(self, duel: Duel) -> list[_Cost]:
        judged = {metric.name: comparison for metric, comparison in duel.by_metric}
        found: list[tuple[Metric, CostDifference, float]] = []
        for metric in self._metrics:
            tested = self._found[metric.name].get((duel.option, duel.rival))
            if metric.name == THROUGHPUT.name or tested is None or not (tested.before or tested.after):
                continue
            if metric.summary == "maximum":
                tested = self._of_maxima(metric, duel, tested)
            if known := judged.get(metric.name):
                # the verdict has judged it: one interval of one quantity
                low, high = (tested.before * (end - 1) for end in (known.low, known.high))
                tested = Difference(tested.before, tested.after, low, high, known.p_value)
            found.append((metric, _cost_of(metric, duel, tested), tested.p_value))
        adjusted = distributions.benjamini_hochberg([p for _, _, p in found])
        cpu = next((d for metric, d, _ in found if metric.name == SERVER_CPU.name), None)
        whole = cpu.after - cpu.before if cpu and (cpu.low > 0 or cpu.high < 0) else None
        matters_us = min(self._margin, _MATERIAL) * cpu.before if cpu else 0.0
        return [
            _Cost(
                metric,
                _shared(difference, whole),
                # what the verdict has judged is no longer looked for among many
                p_value=_judged_p(difference) if metric.name in judged else float(p),
                floor=max(metric.floor, matters_us if difference.unit == "us" else 0.0),
            )
            for (metric, difference, _), p in zip(found, adjusted, strict=True)
        ]

    def _of_maxima(self, metric: Metric, duel: Duel, tested: Difference) -> Difference:
        """The highest of all runs, which has no interval; whether the two differ is tested by runs."""
        column, option = self._measures.values[metric.name], self._measures.option
        before, after = (float(np.nanmax(column[option == o])) for o in (duel.rival, duel.option))
        return Difference(before, after, -math.inf, math.inf, tested.p_value)

    def _pace(self, cpu: _Cost, duel: Duel) -> tuple[str, ...]:
        """How far server CPU goes as an explanation of throughput; nothing where that hardly differs."""
        work = self._found.get(THROUGHPUT.name, {}).get((duel.option, duel.rival))
        d = cpu.difference
        if work is None or work.before <= 0 or d.after <= 0 or not (cpu.proven and cpu.material):
            return ()
        return (
            f"Were server CPU the only limit, throughput would be {significant(d.before / d.after)} times"
            f" that of {d.baseline}; {significant(work.after / work.before)} times was measured.",
        )

    def _tail(self, duel: Duel) -> tuple[str, ...]:
        """The slowest transactions, which the verdict on a closed loop does not count.

        Only where the comparison of the tables calls them better or worse.
        """
        metric = self._measures.metric(P99.name)
        pair = duel.option, duel.rival
        if metric is None:
            return ()
        contest = Contest(self._measures, metric, self._options, self._margin)
        found, difference = contest.comparisons([pair], [self._alpha]), contest.differences([pair]).get(pair)
        if difference is None or not found or found[0].outcome not in ("better", "worse"):
            return ()
        cost = _Cost(P99, _cost_of(P99, duel, difference), found[0].p_value, floor=0.0)
        if _relative(cost) < _WORTH_SAYING:
            return ()
        d = cost.difference
        return (
            f"Latency p99: {cost.say(d.after)} under {duel.option}, {cost.say(d.before)} under {duel.rival}"
            f" ({percent(abs(cost.change) / d.before)} {'lower' if cost.change < 0 else 'higher'}).",
        )


def _judged_p(difference: CostDifference) -> float:
    """0 or 1, as the interval leaves out 0 or not."""
    return 0.0 if difference.low > 0 or difference.high < 0 else 1.0


def _cost_of(metric: Metric, duel: Duel, found: Difference) -> CostDifference:
    return CostDifference(
        metric=metric.name,
        option=duel.option,
        baseline=duel.rival,
        unit=metric.unit.partition("/")[0],
        before=found.before,
        after=found.after,
        low=found.low,
        high=found.high,
        share=None,
    )


def _shared(cost: CostDifference, whole: float | None) -> CostDifference:
    """With its share of the difference in server CPU, for the parts that add up to it."""
    if whole is None or cost.metric not in (SERVER_CPU.name, *_PARTS):
        return cost
    share = (cost.after - cost.before) / whole
    return replace(cost, share=share)


def _relative(cost: _Cost) -> float:
    return abs(cost.change) / max(cost.difference.before, cost.difference.after)


def _timed(cost: _Cost) -> bool:
    return cost.difference.unit == "us"


def _cpu(costs: dict[str, _Cost], duel: Duel) -> str:
    option, rival = duel.option, duel.rival
    cost = costs[SERVER_CPU.name]
    d = cost.difference
    title = cost.metric.full_title
    whole = title[:1].upper() + title[1:]
    if not math.isfinite(d.high):
        return (
            f"{whole}: {cost.say(d.after)} under {option}, {cost.say(d.before)} under {rival}, in one block."
        )
    if not cost.proven:
        return (
            f"{whole}: {cost.say(d.after)} under {option}, {cost.say(d.before)} under {rival};"
            f" no difference is shown ({cost.say(d.low)} to {cost.say(d.high)})."
        )
    if not cost.material:
        return (
            f"{whole} differs too little to matter: {cost.say(d.after)} under {option},"
            f" {cost.say(d.before)} under {rival} ({_signed(cost)})."
        )
    ends = sorted((abs(d.low), abs(d.high)))
    verb, more = ("saves", "") if cost.change < 0 else ("costs", "more ")
    text = (
        f"{option} {verb} {cost.say(abs(cost.change))} {more or 'of '}{title} against"
        f" {rival} ({_signed(cost)}, from {cost.say(d.before)} to"
        f" {cost.say(d.after)}; 95 % interval of the difference {cost.say(ends[0])} to"
        f" {cost.say(ends[1])})"
    )
    modes = [
        f"{part.say(abs(part.change))} {'less' if part.change < 0 else 'more'} in {mode} mode"
        for name, mode in ((USER, "user"), (SYSTEM, "system"))
        if (part := costs.get(name)) and part.proven and part.material
    ]
    return f"{text}: {' and '.join(modes)}." if modes else f"{text}."


def _signed(cost: _Cost) -> str:
    if not cost.difference.before:
        return "from none"
    return f"{'−' if cost.change < 0 else '+'}{percent(abs(cost.change) / cost.difference.before)}"


def _other(cost: _Cost, duel: Duel) -> str:
    d = cost.difference
    option, rival = duel.option, duel.rival
    less = "less" if cost.change < 0 else "more"
    if d.unit == "1":
        less = "fewer" if cost.change < 0 else "more"
    title = cost.metric.title
    relative = percent(abs(cost.change) / d.before) if d.before > 0 else ""
    how_much = f" ({relative} {less})" if relative else f" ({less})"
    return (
        f"{title[0].upper()}{title[1:]}: {cost.say(d.after)} {cost.metric.each} under {option},"
        f" {cost.say(d.before)} under {rival}{how_much}."
    )
