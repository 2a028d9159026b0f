"""The answer by number of clients, where it is not the same at all: what an average over points hides."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from steelyard.analysis.judgement.results import Comparison, Metric
from steelyard.bundle.evidence.evidence import Evidence
from steelyard.quantities import count, listed, significant

_MOST = 3


def answers_by_point(
    evidence: Evidence, comparisons: Sequence[Comparison], counting: Sequence[Metric]
) -> str:
    """By the first metric whose answer differs between load points; '' where none does.

    comparisons: with the baseline.
    """
    found = (_of(evidence, metric, comparisons) for metric in counting)
    return next(filter(None, found), "")


def _of(evidence: Evidence, metric: Metric, comparisons: Sequence[Comparison]) -> str:
    """Of one block it tells which option leads where; one block proves no order."""
    at: dict[int, list[Comparison]] = {}
    for c in comparisons:
        if c.metric == metric.name and c.clients is not None:
            at.setdefault(c.clients, []).append(c)
    once = all(c.blocks == 1 for mine in at.values() for c in mine)

    def answer(clients: int) -> str | frozenset[tuple[str, str]]:
        return _leader(evidence.baseline, metric, at[clients]) if once else _proven(at[clients])

    alike = [(found, [*numbers]) for found, numbers in groupby(sorted(at), answer)]
    if len(alike) < 2:
        return ""
    by = f"By number of {evidence.study.workload.points_are}, {metric.full_title}"
    if once:
        first, *middle, last = alike
        parts = [
            f"{first[0]} leads up to {first[1][-1]}",
            *(f"{option} {_from_to(numbers)}" for option, numbers in middle),
            f"{last[0]} from {last[1][0]}",
        ]
        return f"{by} as seen in one block, which proves no order: {', '.join(parts)}."
    parts = [
        f"{_range(evidence, numbers, bool(found))} {_differences(at[numbers[-1]])}"
        for found, numbers in alike
    ]
    return f"{by} against {evidence.baseline}: {'; '.join(parts)}."


def _leader(baseline: str, metric: Metric, found: Sequence[Comparison]) -> str:
    ratios = {baseline: 1.0, **{c.option: c.ratio for c in found}}
    best = min if metric.better == "lower" else max
    return best(ratios, key=lambda option: ratios[option])


def _from_to(numbers: Sequence[int]) -> str:
    first, last = numbers[0], numbers[-1]
    return f"at {first}" if first == last else f"from {first} to {last}"


def _proven(found: Sequence[Comparison]) -> frozenset[tuple[str, str]]:
    return frozenset((c.option, c.outcome) for c in found if c.outcome in ("better", "worse"))


def _differences(found: Sequence[Comparison]) -> str:
    """The options that differ, the best first."""
    ranked = sorted(found, key=lambda c: -c.ratio)
    better = [c for c in ranked if c.outcome == "better"]
    if better and better[0].ratio < 1:
        better.reverse()
    parts = [
        f"{group[0].standing}: " + listed([_ratio(c) for c in group], _MOST)
        for group in (better, [c for c in ranked if c.outcome == "worse"])
        if group
    ]
    return ", ".join(parts) or "none differs clearly"


def _ratio(c: Comparison) -> str:
    return f"{c.option} {significant(c.ratio)} times [{significant(c.low)} to {significant(c.high)}]"


def _range(evidence: Evidence, numbers: Sequence[int], proven: bool) -> str:
    """`at 2`, `from 3 to 8 (ratios at 8; more than the 2 CPUs)`. proven: whether ratios follow."""
    first, last = numbers[0], numbers[-1]
    cpus = evidence.topology.cpus
    aside = [f"ratios at {last}"] if proven and first < last else []
    if cpus is not None and not evidence.study.workload.thinks and first > cpus:
        aside.append(f"more than the {count(cpus, 'CPU')}")
    span = _from_to(numbers)
    return f"{span} ({'; '.join(aside)})" if aside else span
