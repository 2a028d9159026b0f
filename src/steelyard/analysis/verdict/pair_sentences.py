"""What is known of one pair of options, in words: the differences, and what would settle the others."""

from __future__ import annotations

import math

from steelyard.analysis.comparison.notices import FEWEST_BLOCKS
from steelyard.analysis.comparison.pairwise import PairResult
from steelyard.analysis.judgement.results import Comparison, Metric
from steelyard.analysis.verdict.findings import Findings
from steelyard.quantities import percent, says_nothing, significant

_MOST_BLOCKS = 100


def gains(findings: Findings, pair: PairResult) -> str:
    """`18.3 % more throughput than B, the baseline (16.9 to 19.8 %), and ...; 95 % intervals, 6 blocks`."""
    shown = pair.by_metric
    proven = [(m, c) for m, c in shown if c.outcome in ("better", "worse")]
    others = [(m, c) for m, c in shown if c.outcome not in ("better", "worse")]
    good = [(m, c) for m, c in proven if c.outcome == "better"]
    bad = [(m, c) for m, c in proven if c.outcome == "worse"]
    role = "the baseline" if pair.other == findings.evidence.baseline else "the next best"
    alone = len(findings.pairwise.options) == 2
    than = f" than {pair.other}" + ("" if alone and role != "the baseline" else f", {role}")
    parts: list[str] = []
    if good or bad:
        first = " and ".join(_difference(m, c) for m, c in good or bad)
        second = " and ".join(_difference(m, c) for m, c in bad) if good else ""
        parts.append(first + than + (f", but {second}" if second else ""))
    margin = "" if pair.equal else findings.margin
    if pair.failures:
        less = "fewer" if pair.failures < 0 else "more"
        parts.append(f"{percent(abs(pair.failures))} {less} of its transactions fail")
    parts += [_untold(findings, m, c) or _no_difference(m, c, margin) for m, c in others]
    blocks = shown[0][1].blocks
    over = f"geometric mean over {findings.over}, " if findings.over else ""
    if blocks == 1:
        return f"{'; '.join(parts)} ({over}one block: no interval)"
    return f"{'; '.join(parts)} ({over}95 % interval{'s' * (len(shown) > 1)}, {blocks} blocks)"


def _difference(metric: Metric, c: Comparison) -> str:
    title = metric.full_title
    if c.ratio >= 2:
        # proven, though nothing is known of its upper end
        top = "or more" if says_nothing(c.low, c.high) else f"to {significant(c.high)}"
        return f"{significant(c.ratio)} times the {title} [{significant(c.low)} {top}]"
    if c.ratio > 1:
        word, amount, low, high = "more", c.ratio - 1, c.low - 1, c.high - 1
    else:
        word, amount, low, high = "less", 1 - c.ratio, 1 - c.high, 1 - c.low
    if metric.name.endswith(("_ns", "_ms")):
        word = {"more": "higher", "less": "lower"}[word]
    return f"{percent(amount)} {word} {title} [{significant(100 * low)} to {percent(high)}]"


def _no_difference(metric: Metric, c: Comparison, margin: str) -> str:
    """margin: for the text of an equivalence; empty where the sentence already has it."""
    title = metric.full_title
    ratio = f"ratio {c.ratio:.3f} [{c.low:.3f} to {c.high:.3f}]"
    if not math.isfinite(c.high):
        return f"{title} has a ratio of {c.ratio:.3f}"
    if c.outcome == "equivalent":
        return f"{title} is equivalent within {margin}, {ratio}" if margin else f"{title} {ratio}"
    return f"{title} is inconclusive, {ratio}"


def _untold(findings: Findings, metric: Metric, c: Comparison) -> str:
    """`throughput cannot be told from 2 blocks: the runs of B differ by a factor of 2,700`; '': it can."""
    if not (math.isfinite(c.high) and says_nothing(c.low, c.high)):
        return ""
    factors = {label: findings.run_metrics.scatter(metric, label) for label in (c.option, c.baseline)}
    worst = max(factors, key=lambda label: factors[label])
    return (
        f"{metric.full_title} cannot be told from {c.blocks} blocks: the runs of {worst} differ by a factor"
        f" of {significant(factors[worst])}"
    )


def missing(findings: Findings, pair: PairResult) -> str:
    """How many blocks would settle it at the scatter seen; '' where runs cannot."""
    undecided = [c for _, c in pair.by_metric if c.outcome == "inconclusive"]
    if not undecided:
        return ""
    if findings.evidence.study.subject.kind == "recording":
        return "A recording cannot be repeated to find out."
    blocks = max(c.blocks for c in undecided)
    known = [c.settled_at for c in undecided if c.settled_at is not None]
    if not known:
        seen = f"{blocks} block{'s' * (blocks > 1)}"
        return f"{seen} cannot show how many would settle it: begin with {FEWEST_BLOCKS} (plan.blocks)."
    needed = max(known)
    if needed > _MOST_BLOCKS:
        return (
            f"At this scatter more than {_MOST_BLOCKS} blocks would be needed to settle whether"
            f" {findings.margin} is exceeded: make the machine quieter first (steelyard doctor)."
        )
    if needed <= blocks:
        return f"The difference is near the {findings.margin} that matters: too close to call."
    return f"At this scatter about {needed} blocks would settle whether {findings.margin} is exceeded."
