"""Why: what goes with the difference between two options, in sentences.

They state what was counted and no more: which costs differ, by how much, how sure. There is one per cost that
is proven, material and large enough.
"""

from __future__ import annotations

from collections.abc import Container

from steelyard.analysis.comparison.compare import Difference
from steelyard.analysis.comparison.pairwise import PairResult
from steelyard.analysis.judgement.outcome import FEWEST_BLOCKS, Outcome
from steelyard.analysis.metrics.costs import SERVER_CPU
from steelyard.analysis.metrics.run_metrics import P99
from steelyard.analysis.verdict.costs import PARTS, SYSTEM, USER, Cost, Costs
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
        found += _pace(cpu, costs.throughput(pair)) if closed_loop and not few else ()
    found += _p99(costs.p99(pair), pair, over) if closed_loop else ()
    rest = [cost for name, cost in by_name.items() if name not in (SERVER_CPU.name, *PARTS)]
    rest = [cost for cost in rest if cost.metric.name not in left_out]
    rest = [c for c in rest if c.proven and c.material and c.relative >= _LEAST_CHANGE]
    rest = [c for c in rest if costs.outcome(c.metric, pair) not in ("equivalent", "inconclusive")]
    # times first, the longest before the others; of what is counted first what the option costs more
    times = sorted((c for c in rest if c.timed), key=lambda c: -abs(c.change))
    counted = sorted((c for c in rest if not c.timed), key=lambda c: (c.change < 0, -c.relative))
    room = _MOST_SENTENCES - len(found)
    first = times[: room - min(_COUNTED, len(counted))]
    found += [_other(cost, pair, over) for cost in [*first, *counted][:room]]
    return tuple(found)


def slower_tail(costs: Costs, pair: PairResult, over: str, worse: int = 1) -> str:
    """Latency p99 where it is worse and no metric of the verdict; '' where it is not.

    worse: 1 where a higher one is worse for the winner; -1 where it is worse for the winner that it is lower
    under the other option of the pair.
    """
    cost = None if any(metric.name == P99.name for metric, _ in pair.by_metric) else costs.p99(pair)
    return "".join(_p99(cost, pair, over)) if cost and cost.change * worse > 0 else ""


def _pace(cpu: Cost, work: Difference | None) -> tuple[str, ...]:
    """How far server CPU goes as an explanation of throughput; nothing where that hardly differs."""
    d = cpu.difference
    if work is None or work.before <= 0 or d.after <= 0 or not (cpu.proven and cpu.material):
        return ()
    return (
        f"Were server CPU the only limit, throughput would be {significant(d.before / d.after)} times"
        f" that of {d.baseline}; {significant(work.after / work.before)} times was measured.",
    )


def _p99(cost: Cost | None, pair: PairResult, over: str) -> tuple[str, ...]:
    """The slowest transactions, which the verdict on a closed loop does not count."""
    if cost is None or cost.relative < _LEAST_CHANGE:
        return ()
    d = cost.difference
    return (
        f"Latency p99{over}: {cost.text(d.after)} under {pair.option},"
        f" {cost.text(d.before)} under {pair.other}"
        f" ({percent(abs(cost.change) / d.before)} {'lower' if cost.change < 0 else 'higher'}).",
    )


def _cpu(costs: dict[str, Cost], pair: PairResult, outcome: Outcome | None, over: str) -> str:
    """In the words of the tables: outcome is what they call it."""
    option, other = pair.option, pair.other
    cost = costs[SERVER_CPU.name]
    d = cost.difference
    title = cost.metric.full_title
    whole = title[:1].upper() + title[1:] + over
    if (blocks := pair.by_metric[0][1].blocks) < FEWEST_BLOCKS:
        after, before = cost.text(d.after), cost.text(d.before)
        seen = "one block" if blocks == 1 else count(blocks, "block")
        return f"{whole}: {after} under {option}, {before} under {other}, in {seen}."
    if not cost.proven:
        alike = "equivalent, " if outcome == "equivalent" else ""
        return (
            f"{whole}: {cost.text(d.after)} under {option}, {cost.text(d.before)} under {other};"
            f" {alike}no difference is shown ({cost.text(d.low)} to {cost.text(d.high)})."
        )
    if outcome == "equivalent":
        return (
            f"{whole} differs too little to matter: {cost.text(d.after)} under {option},"
            f" {cost.text(d.before)} under {other} ({_signed(cost)})."
        )
    ends = sorted((abs(d.low), abs(d.high)))
    verb, more = ("saves", "") if cost.change < 0 else ("costs", "more ")
    text = (
        f"{option} {verb} {cost.text(abs(cost.change))} {more or 'of '}{title} against"
        f" {other}{over} ({_signed(cost)}, from {cost.text(d.before)} to"
        f" {cost.text(d.after)}; 95 % interval of the difference {cost.text(ends[0])} to"
        f" {cost.text(ends[1])})"
    )
    modes = [
        f"{part.text(abs(part.change))} {'less' if part.change < 0 else 'more'} in {mode} mode"
        for name, mode in ((USER, "user"), (SYSTEM, "system"))
        if (part := costs.get(name)) and part.proven and part.material
    ]
    return f"{text}: {' and '.join(modes)}." if modes else f"{text}."


def _signed(cost: Cost) -> str:
    if not cost.difference.before:
        return "from none"
    return f"{'−' if cost.change < 0 else '+'}{percent(abs(cost.change) / cost.difference.before)}"


def _other(cost: Cost, pair: PairResult, over: str) -> str:
    d = cost.difference
    option, other = pair.option, pair.other
    less = "less" if cost.change < 0 else "more"
    if d.unit == "1":
        less = "fewer" if cost.change < 0 else "more"
    title = cost.metric.title
    share = abs(cost.change) / d.before if d.before > 0 else 0.0
    relative = (decrease if cost.change < 0 else percent)(share) if share else ""
    how_much = f" ({relative} {less})" if relative else f" ({less})"
    return (
        f"{title[0].upper()}{title[1:]}{over}: {cost.text(d.after)} {cost.metric.each} under {option},"
        f" {cost.text(d.before)} under {other}{how_much}."
    )
