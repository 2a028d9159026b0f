"""What is known of one pair of options, in words; and by number of clients, where an average hides it."""

import math
from collections.abc import Sequence
from itertools import groupby

from steelyard.analysis.comparison.pairwise import PairResult
from steelyard.analysis.judgement import FEWEST_BLOCKS, Comparison, Metric
from steelyard.analysis.verdict.decision import capitalised
from steelyard.analysis.verdict.findings import Findings
from steelyard.bundle.evidence import Evidence, grouped
from steelyard.quantities import count, decrease, duration, listed, percent, says_nothing, significant

_MOST_BLOCKS = 100
_FAR = 10.0  # ends of an interval of which each needs its unit
_MOST = 3


class PairSentences:
    """The parts of a verdict on one pair, in the direction of its pair, which tables have as well.

    good, bad: sizes of what is proven of the option, better and worse, the foremost first, failures included.
    """

    def __init__(self, findings: Findings, pair: PairResult) -> None:
        self.findings, self.pair = findings, findings.pairwise.toward(pair)
        shown, failures = self.pair.by_metric, self.pair.failures
        good, bad = ([(m, c) for m, c in shown if c.outcome == outcome] for outcome in ("better", "worse"))
        self._leading = (bad if self.pair.lost else good)[:1]
        points = f"{significant(100 * abs(failures))} percentage points"
        self._failing = [f"{points} {'fewer' if failures < 0 else 'more'} transactions fail"] * bool(failures)
        self.good, self.bad = ([_size(m, c) for m, c in some] for some in (good, bad))

    def better(self) -> str:
        """By how much the option is better; the name of the other follows: `18.3 % more throughput than`."""
        if not self.good:
            return f"{self._failing[0]} than under"
        ratio = self._leading[0][1].ratio
        return f"{self.good[0]}{', unlike' if math.isinf(ratio) else ' of' if ratio >= 2 else ' than'}"

    def worse(self) -> str:
        """By how much it is worse; its own name follows: `8.20 % more server CPU per transaction under`."""
        return f"{[*self.bad, *self._failing][0]} under"

    def trade(self) -> str:
        """The foremost of each: `4.00 times the throughput, but 50.0 % more transactions fail`."""
        fewer = self.pair.failures < 0
        good, bad = [*self._failing * fewer, *self.good], [*self._failing * (not fewer), *self.bad]
        return f"{good[0]}, but {bad[0]}"

    def interval(self) -> str:
        """That of the size: `95 % interval 16.9 to 19.8 %, 6 blocks.`"""
        if not self._leading:
            return self.differences()
        return f"95 % interval {_ends(self._leading[0][1])}, {self._blocks()}."

    def beside(self) -> str:
        """The metrics that the headline leaves out, and failures: what the winner costs or saves."""
        if not self._leading:
            return ""
        shown = [(m, c) for m, c in self.pair.by_metric if (m, c) not in self._leading]
        parts = [*(self._difference(m, c) for m, c in shown), *self._failing]
        return f"{capitalised('; '.join(parts))}." if parts else ""

    def differences(self, headline_says_none: bool = False) -> str:
        """All metrics with their intervals: `No difference in throughput is shown, ratio 1.01 [...]`.

        headline_says_none: that no difference is shown stands before it already: `Throughput: ratio ...`.
        """
        parts = [self._difference(m, c, headline_says_none) for m, c in self.pair.by_metric]
        said = capitalised("; ".join([*parts, *self._failing]))
        intervals = f"95 % interval{'s' * (len(parts) > 1)}, "
        if all(_untold(self.findings, metric, c) for metric, c in self.pair.by_metric):
            intervals = ""
        return f"{said} ({'' if self.pair.by_metric[0][1].blocks == 1 else intervals}{self._blocks()})."

    def _difference(self, metric: Metric, c: Comparison, known: bool = False) -> str:
        if c.outcome in ("better", "worse"):
            return f"{_size(metric, c)} [{_ends(c)}]"
        margin = "" if self.pair.equal else self.findings.margin
        return _untold(self.findings, metric, c) or _no_difference(metric, c, margin, known)

    def _blocks(self) -> str:
        c = self.pair.by_metric[0][1]
        over = f"{c.mean} over {self.findings.over}, " if self.findings.over else ""
        needed = "" if self.findings.enough else f"; a verdict needs {FEWEST_BLOCKS}"
        return f"{over}{'one block: no interval' if c.blocks == 1 else count(c.blocks, 'block')}{needed}"


def _size(metric: Metric, c: Comparison) -> str:
    """`18.3 % more throughput`, `3.50 times the throughput`, `12.0 % lower latency p99`."""
    if math.isinf(c.ratio):
        return f"{metric.full_title} above 0"
    if c.ratio >= 2:
        return f"{significant(c.ratio)} times the {metric.full_title}"
    word = "more" if c.ratio > 1 else "less"
    if metric.name.endswith(("_ns", "_ms")):
        word = {"more": "higher", "less": "lower"}[word]
    return f"{percent(c.ratio - 1) if c.ratio > 1 else decrease(1 - c.ratio)} {word} {metric.full_title}"


def _ends(c: Comparison) -> str:
    """The interval of the size, in its own terms: `16.9 to 19.8 %`, `3.32 to 3.69`."""
    if c.ratio >= 2:
        # proven, though nothing is known of its upper end
        top = "or more" if says_nothing(c.low, c.high) else f"to {significant(c.high)}"
        return f"{significant(c.low)} times or more" if math.isinf(c.ratio) else f"{significant(c.low)} {top}"
    low, high = (c.low - 1, c.high - 1) if c.ratio > 1 else (1 - c.high, 1 - c.low)
    # `0.793 to 112 %` would read as a ratio and a share
    unit = " %" if high >= _FAR * low else ""
    return f"{significant(100 * low)}{unit} to {percent(high)}"


def _no_difference(metric: Metric, c: Comparison, margin: str, known: bool) -> str:
    """margin: for the text of an equivalence; empty where the sentence has it. known: it has the result."""
    title = metric.full_title
    ratio = f"ratio {c.ratio:.3f} [{c.low:.3f} to {c.high:.3f}]"
    if math.isinf(c.ratio):
        return _size(metric, c)
    if not math.isfinite(c.high):
        return f"{title} has a ratio of {c.ratio:.3f}"
    if c.outcome == "equivalent":
        return f"{title} is equivalent within {margin}, {ratio}" if margin else f"{title} {ratio}"
    return f"{title}: {ratio}" if known else f"no difference in {title} is shown, {ratio}"


def _untold(findings: Findings, metric: Metric, c: Comparison) -> str:
    """`throughput cannot be judged from 2 blocks: the runs of B differ by a factor of 2,700`; '': it can."""
    if not (math.isfinite(c.high) and says_nothing(c.low, c.high)):
        return ""
    factors = {label: findings.run_metrics.scatter(metric, label) for label in (c.option, c.baseline)}
    worst = max(factors, key=lambda label: factors[label])
    return (
        f"{metric.full_title} cannot be judged from {c.blocks} blocks: the runs of {worst} differ by a factor"
        f" of {significant(factors[worst])}"
    )


def _quieter(findings: Findings) -> str:
    """What reduces the scatter; the machine of a server at an address is not ours to see."""
    if findings.evidence.study.subject.dsn:
        return "make the server, its machine and the network quieter first; steelyard doctor checks this one"
    return "make the machine quieter first (steelyard doctor)"


def missing(findings: Findings, pair: PairResult) -> str:
    """How many blocks would settle it (of several options: and of which pair); '' where runs cannot."""
    undecided = [c for _, c in pair.by_metric if c.outcome == "inconclusive"]
    if not undecided:
        return ""
    if findings.evidence.recorded:
        return "A recording cannot be repeated to find out: only one with more runs of each option tells."
    blocks = max(c.blocks for c in undecided)
    known = [c.settled_at for c in undecided if c.settled_at is not None]
    if not known:
        few = "One block is" if blocks == 1 else f"{blocks} blocks are"
        return f"{few} too few to estimate how many are needed: run {FEWEST_BLOCKS} or more (plan.blocks)."
    needed = max(known)
    what = f"whether {findings.margin} is exceeded"
    if len(findings.pairwise.options) > 2:
        what = f"whether {pair.option} and {pair.other} differ by more than {findings.margin}"
    if needed > _MOST_BLOCKS:
        return (
            f"At this scatter more than {_MOST_BLOCKS} blocks would be needed to settle"
            f" {what}: {_quieter(findings)}."
        )
    if needed <= blocks:
        return f"The difference is near the {findings.margin} that matters: too close to call."
    block_s = findings.evidence.column("select sum(seconds) / count(distinct block) from runs")[0]
    return f"At this scatter about {needed} blocks, {duration(needed * block_s)} in all, would settle {what}."


def answers_by_point(evidence: Evidence, comparisons: Sequence[Comparison], metrics: Sequence[Metric]) -> str:
    """By the first metric whose answer differs between points; '': none. comparisons: with the baseline."""
    found = (_of(evidence, metric, comparisons) for metric in metrics)
    return next(filter(None, found), "")


def _of(evidence: Evidence, metric: Metric, comparisons: Sequence[Comparison]) -> str:
    """Of one block it tells which option leads where; one block proves no order."""
    at = grouped((c.clients, c) for c in comparisons if c.metric == metric.name and c.clients is not None)
    once = all(c.blocks == 1 for mine in at.values() for c in mine)

    def answer(clients: int) -> str | frozenset[tuple[str, str]]:
        return (
            _leader(evidence.baseline, metric, at[clients])
            if once
            else frozenset((c.option, c.outcome) for c in at[clients] if c.outcome in ("better", "worse"))
        )

    alike = [(found, [*numbers]) for found, numbers in groupby(sorted(at), answer)]
    if len(alike) < 2:
        return ""
    by = f"By number of {evidence.workload.points_are}, {metric.full_title}"
    if once:
        first, *middle, last = alike
        parts = [
            f"{first[0]} leads up to {first[1][-1]}",
            *(f"{option} {_from_to(numbers)}" for option, numbers in middle),
            f"{last[0]} from {last[1][0]}",
        ]
        return f"{by} as seen in one block, which proves no order: {', '.join(parts)}."
    parts = [
        f"{_range(evidence, numbers, bool(of))} {_differences(at[numbers[-1]])}" for of, numbers in alike
    ]
    return f"{by} against {evidence.baseline}: {'; '.join(parts)}."


def _leader(baseline: str, metric: Metric, found: Sequence[Comparison]) -> str:
    ratios = {baseline: 1.0, **{c.option: c.ratio for c in found}}
    best = min if metric.better == "lower" else max
    return best(ratios, key=lambda option: ratios[option])


def _from_to(numbers: Sequence[int]) -> str:
    first, last = numbers[0], numbers[-1]
    return f"at {first}" if first == last else f"from {first} to {last}"


def _differences(found: Sequence[Comparison]) -> str:
    """The options that differ, the best first."""
    ranked = sorted(found, key=lambda c: -c.ratio)
    better = [c for c in ranked if c.outcome == "better"]
    if better and better[0].ratio < 1:
        better.reverse()
    parts = [
        f"{group[0].standing}: "
        + listed(
            [
                f"{c.option} {significant(c.ratio)} times [{significant(c.low)} to {significant(c.high)}]"
                for c in group
            ],
            _MOST,
        )
        for group in (better, [c for c in ranked if c.outcome == "worse"])
        if group
    ]
    return ", ".join(parts) or "none differs clearly"


def _range(evidence: Evidence, numbers: Sequence[int], proven: bool) -> str:
    """`at 2`, `from 3 to 8 (ratios at 8; more than the 2 CPUs)`. proven: whether ratios follow."""
    first, last = numbers[0], numbers[-1]
    cpus = evidence.topology.cpus
    aside = [f"ratios at {last}"] if proven and first < last else []
    if cpus is not None and not evidence.workload.thinks and first > cpus:
        aside.append(f"more than the {count(cpus, 'CPU')}")
    span = _from_to(numbers)
    return f"{span} ({'; '.join(aside)})" if aside else span
