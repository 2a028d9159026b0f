"""Why: what goes with the difference between two options, in sentences.

They state what was counted and no more: which costs differ, by how much, how sure. There is one per cost that
is proven, material and large enough.
"""

from __future__ import annotations

from collections.abc import Container

from steelyard.analysis.comparison.pairwise import PairResult
from steelyard.analysis.judgement.outcome import FEWEST_BLOCKS, Outcome
from steelyard.analysis.metrics.costs import SERVER_CPU
from steelyard.analysis.metrics.run_metrics import P99, THROUGHPUT
from steelyard.analysis.verdict.costs import PARTS, SYSTEM, USER, Cost, Costs
from steelyard.analysis.verdict.decision import capitalised
from steelyard.quantities import count, decrease, percent, significant

_LEAST_CHANGE = 0.05  # relative change of a cost
_MOST_SENTENCES = 7
_COUNTED = 2  # sentences kept for what is counted: blocks read or log written cause the times


def reasons(
    costs: Costs,
    pair: PairResult,
    closed_loop: bool = True,
    over: str = "",
    left_out: Container[str] = (),
) -> tuple[str, ...]:
    """One sentence per cost, CPU first; what the tables call equivalent or leave open is no reason.

    closed_loop: clients send as soon as they are answered, so that throughput can follow from CPU. over: the
    load points of which each figure is a mean, ` over 1 to 8 clients`. left_out: names of costs that explain
    nothing here.
    """
    by_name = {cost.metric.name: cost for cost in costs.of(pair)}
    found: list[str] = []
    if cpu := by_name.get(SERVER_CPU.name):
        found.append(_cpu(by_name, pair, costs.outcome(cpu.metric, pair), over))
        few = pair.by_metric[0][1].blocks < FEWEST_BLOCKS
        found += _pace(cpu, costs.by(THROUGHPUT.name, pair), pair) if closed_loop and not few else ()
    found += _p99(costs, pair, over) if closed_loop else ()
    rest = [
        cost
        for name, cost in by_name.items()
        if name not in (SERVER_CPU.name, *PARTS)
        and name not in left_out
        and cost.material
        and cost.relative >= _LEAST_CHANGE
        and costs.outcome(cost.metric, pair) not in ("equivalent", "inconclusive")
    ]
    # times first, the longest before the others; of what is counted first what the option costs more
    times = sorted((c for c in rest if c.unit == "us"), key=lambda c: -abs(c.change))
    counted = sorted((c for c in rest if c.unit != "us"), key=lambda c: (c.change < 0, -c.relative))
    room = _MOST_SENTENCES - len(found)
    first = times[: room - min(_COUNTED, len(counted))]
    found += [_other(cost, pair, over) for cost in [*first, *counted][:room]]
    return tuple(found)


def slower_tail(costs: Costs, pair: PairResult, over: str, worse: int = 1) -> str:
    """Latency p99 where it is worse and no metric of the verdict; '' where it is not.

    worse: 1 where a higher one is worse for the winner; -1 where it is worse for the winner that it is lower
    under the other option of the pair.
    """
    counts = any(metric.name == P99.name for metric, _ in pair.by_metric)
    return "" if counts else "".join(_p99(costs, pair, over, worse))


def _pace(cpu: Cost, work: Cost | None, pair: PairResult) -> tuple[str, ...]:
    """How far server CPU goes as an explanation of throughput; nothing where that hardly differs."""
    if work is None or work.before <= 0 or cpu.after <= 0 or not cpu.material:
        return ()
    return (
        f"Were server CPU the only limit, throughput would be {significant(cpu.before / cpu.after)} times"
        f" that of {pair.other}; {significant(work.after / work.before)} times was measured.",
    )


def _p99(costs: Costs, pair: PairResult, over: str, worse: int = 0) -> tuple[str, ...]:
    """The slowest transactions, which the verdict on a closed loop does not count, as far as tables call them
    better or worse. worse: of the change that counts, its sign; 0: both.
    """
    cost = costs.by(P99.name, pair)
    if cost is None or cost.relative < _LEAST_CHANGE or cost.change * worse < 0:
        return ()
    if costs.outcome(cost.metric, pair) not in ("better", "worse"):
        return ()
    return (
        f"Latency p99{over}: {_both(cost, pair)}"
        f" ({percent(abs(cost.change) / cost.before)} {'lower' if cost.change < 0 else 'higher'}).",
    )


def _both(cost: Cost, pair: PairResult, each: str = "") -> str:
    """`1.20 ms under B, 1.00 ms under A`."""
    return f"{cost.text(cost.after)}{each} under {pair.option}, {cost.text(cost.before)} under {pair.other}"


def _cpu(costs: dict[str, Cost], pair: PairResult, outcome: Outcome | None, over: str) -> str:
    """In the words of the tables: outcome is what they call it."""
    cost = costs[SERVER_CPU.name]
    title = cost.metric.full_title
    whole, both = capitalised(title) + over, _both(cost, pair)
    if (blocks := pair.by_metric[0][1].blocks) < FEWEST_BLOCKS:
        seen = "one block" if blocks == 1 else count(blocks, "block")
        return f"{whole}: {both}, in {seen}."
    if not cost.proven:
        alike = "equivalent, " if outcome == "equivalent" else ""
        ends = f"{cost.text(cost.low)} to {cost.text(cost.high)}"
        return f"{whole}: {both}; {alike}no difference is shown ({ends})."
    sign = "−" if cost.change < 0 else "+"
    signed = f"{sign}{percent(abs(cost.change) / cost.before)}" if cost.before else "from none"
    if outcome == "equivalent":
        return f"{whole} differs too little to matter: {both} ({signed})."
    least, most = sorted((abs(cost.low), abs(cost.high)))
    verb, more = ("saves", "of") if cost.change < 0 else ("costs", "more")
    modes = [
        f"{part.text(abs(part.change))} {'less' if part.change < 0 else 'more'} in {mode} mode"
        for name, mode in ((USER, "user"), (SYSTEM, "system"))
        if (part := costs.get(name)) and part.material
    ]
    return (
        f"{pair.option} {verb} {cost.text(abs(cost.change))} {more} {title} against {pair.other}{over}"
        f" ({signed}, from {cost.text(cost.before)} to {cost.text(cost.after)}; 95 % interval of the"
        f" difference {cost.text(least)} to {cost.text(most)}){': ' * bool(modes)}{' and '.join(modes)}."
    )


def _other(cost: Cost, pair: PairResult, over: str) -> str:
    less = "more" if cost.change > 0 else "fewer" if cost.unit == "1" else "less"
    share = abs(cost.change) / cost.before if cost.before > 0 else 0.0
    how_much = f"{(decrease if cost.change < 0 else percent)(share)} {less}" if share else less
    each = f" {cost.metric.each}"
    return f"{capitalised(cost.metric.title)}{over}: {_both(cost, pair, each)} ({how_much})."
