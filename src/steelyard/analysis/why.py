"""Why: the costs of a transaction that differ between two options, in numbers and in sentences.

The sentences say what was counted and no more: which costs differ, by how much, how sure. Costs
are many, so sentences keep to those that hold at a false discovery rate of 5 %, and to those that
are material: at least the floor of their kind of cost and, for times, a share of the baseline's
server CPU.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from steelyard.analysis import tails
from steelyard.analysis.comparison import ALPHA
from steelyard.analysis.costs import SERVER_CPU
from steelyard.analysis.latch_costs import COSTS as LATCHES
from steelyard.analysis.layout import lay_out
from steelyard.analysis.measures import P99, THROUGHPUT, WAIT_PREFIX, Measures
from steelyard.analysis.program import COSTS
from steelyard.analysis.results import CostDifference, Metric
from steelyard.analysis.simulated import COSTS as SIMULATED
from steelyard.analysis.simulated import LONGEST_WAIT
from steelyard.analysis.words import digits, each, percent, quantity, titled

USER = "server_user_us_per_txn"
SYSTEM = "server_system_us_per_txn"
_PARTS = (USER, SYSTEM)
_ENGINE = "engine_cpu_us_per_txn"
_OTHERS = (
    "front_cpu_us_per_txn",
    "server_runqueue_wait_us_per_txn",
    "server_switches_voluntary_per_txn",
    "server_switches_involuntary_per_txn",
    "row_lock_wait_us_per_txn",
    "wal_bytes_per_txn",
    "redo_bytes_per_txn",
    "read_bytes_per_txn",
    "written_bytes_per_txn",
    _ENGINE,
    *LATCHES,
    *COSTS,
    *SIMULATED,
    LONGEST_WAIT.name,
)
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


def cost_differences(measures: Measures, option: str, baseline: str) -> tuple[CostDifference, ...]:
    """What a transaction costs more or less under an option, with paired 95 % intervals.

    Runs of one block are paired; a run's value is the mean over its points.
    """
    return tuple(cost.difference for cost in _costs(measures, option, baseline, 0.0))


def reasons(
    measures: Measures, option: str, rival: str, margin: float, closed_loop: bool = True
) -> tuple[str, ...]:
    """What goes with the difference between two options, a sentence each, CPU first.

    margin: the smallest difference that matters to the study, as a fraction.
    """
    costs = {cost.metric.name: cost for cost in _costs(measures, option, rival, margin)}
    said: list[str] = []
    if SERVER_CPU.name in costs:
        said.append(_cpu(costs, option, rival))
        said += _pace(measures, costs[SERVER_CPU.name]) if closed_loop else ()
    said += _tail(measures, option, rival) if closed_loop else ()
    rest = [cost for name, cost in costs.items() if name not in (SERVER_CPU.name, *_PARTS)]
    rest = [c for c in rest if c.proven and c.material and _relative(c) >= _WORTH_SAYING]
    # times first, the longest before the others; then what is counted, by relative change
    rest.sort(key=lambda c: (c.difference.unit != "us", -abs(c.change) if _timed(c) else 0.0))
    said += [_other(cost, option, rival) for cost in rest[: _MOST_SENTENCES - len(said)]]
    return tuple(said)


def _tail(measures: Measures, option: str, rival: str) -> tuple[str, ...]:
    """The slowest transactions, which the verdict on a closed loop does not count.

    It is one of the headlines, so it has its part of the chance to err (Bonferroni).
    """
    tested = _tested(measures, P99, option, rival) if measures.metric(P99.name) else None
    if tested is None:
        return ()
    cost = _Cost(P99, *tested, floor=0.0)
    if cost.p_value > ALPHA / len(measures.headlines) or _relative(cost) < _WORTH_SAYING:
        return ()
    d = cost.difference
    return (
        f"Latency p99: {cost.say(d.after)} under {option}, {cost.say(d.before)} under {rival}"
        f" ({percent(abs(cost.change) / d.before)} {'lower' if cost.change < 0 else 'higher'}).",
    )


def _costs(measures: Measures, option: str, baseline: str, margin: float) -> list[_Cost]:
    waits = tuple(m.name for m in measures.metrics if m.name.startswith(WAIT_PREFIX))
    found: list[tuple[Metric, CostDifference, float]] = []
    for name in (SERVER_CPU.name, *_PARTS, *_OTHERS, *waits):
        metric = measures.metric(name)
        tested = _tested(measures, metric, option, baseline) if metric else None
        if metric and tested:
            found.append((metric, *tested))
    adjusted = tails.benjamini_hochberg([p for _, _, p in found])
    cpu = next((d for metric, d, _ in found if metric.name == SERVER_CPU.name), None)
    whole = cpu.after - cpu.before if cpu and (cpu.low > 0 or cpu.high < 0) else None
    matters_us = min(margin, _MATERIAL) * cpu.before if cpu else 0.0
    return [
        # the whole has been judged by the verdict already; only its parts are looked for among many
        _Cost(
            metric,
            _shared(difference, whole),
            p_value=raw if metric.name == SERVER_CPU.name else float(p),
            floor=max(metric.floor, matters_us if difference.unit == "us" else 0.0),
        )
        for (metric, difference, raw), p in zip(found, adjusted, strict=True)
    ]


def _tested(
    measures: Measures, metric: Metric, option: str, baseline: str
) -> tuple[CostDifference, float] | None:
    """None where the pair has no block with both, or neither spends anything."""
    layout = lay_out(measures, metric.name, [baseline, option], geometric=False)
    if len(layout.options) < 2 or not layout.blocks or not layout.values.any():
        return None
    change = layout.values[:, 1] - layout.values[:, 0]
    n, mean = len(change), float(change.mean())
    before, after = (float(x) for x in layout.values.mean(axis=0))
    half, p = math.inf, 1.0
    if n > 1:
        se = max(float(change.std(ddof=1)) / math.sqrt(n), 1e-12 * max(before, after))
        half = tails.t_critical(n - 1, ALPHA) * se
        p = float(tails.t_two_sided(np.asarray(mean / se), n - 1))
    difference = CostDifference(
        metric=metric.name,
        option=option,
        baseline=baseline,
        unit=metric.unit.partition("/")[0],
        before=before,
        after=after,
        low=mean - half,
        high=mean + half,
        share=None,
    )
    return difference, p


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


def _cpu(costs: dict[str, _Cost], option: str, rival: str) -> str:
    cost = costs[SERVER_CPU.name]
    d = cost.difference
    title = titled(cost.metric)
    whole = title[:1].upper() + title[1:]
    if not math.isfinite(d.high):
        return (
            f"{whole}: {cost.say(d.after)} under {option}, {cost.say(d.before)} under {rival}, in one block."
        )
    if not cost.proven:
        return (
            f"{whole}: {cost.say(d.after)} under {option}, {cost.say(d.before)} under {rival};"
            f" the difference itself is not clear ({cost.say(d.low)} to {cost.say(d.high)})."
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
    return f"{'-' if cost.change < 0 else '+'}{percent(abs(cost.change) / cost.difference.before)}"


def _pace(measures: Measures, cpu: _Cost) -> tuple[str, ...]:
    """How far server CPU goes as an explanation of throughput; nothing where that hardly differs."""
    d = cpu.difference
    if not measures.metric(THROUGHPUT.name):
        return ()
    layout = lay_out(measures, THROUGHPUT.name, [d.baseline, d.option])
    if (
        not (cpu.proven and cpu.material)
        or len(layout.options) < 2
        or not layout.blocks
        or not layout.positive
    ):
        return ()
    before, after = np.exp(np.log(layout.values).mean(axis=0)).tolist()
    return (
        f"Were server CPU the only limit, throughput would be {digits(d.before / d.after)} times"
        f" that of {d.baseline}; {digits(after / before)} times was measured.",
    )


def _other(cost: _Cost, option: str, rival: str) -> str:
    d = cost.difference
    less = "less" if cost.change < 0 else "more"
    if d.unit == "1":
        less = "fewer" if cost.change < 0 else "more"
    title = cost.metric.title
    relative = percent(abs(cost.change) / d.before) if d.before > 0 else ""
    how_much = f" ({relative} {less})" if relative else f" ({less})"
    return (
        f"{title[0].upper()}{title[1:]}: {cost.say(d.after)} {each(cost.metric)} under {option},"
        f" {cost.say(d.before)} under {rival}{how_much}."
    )
