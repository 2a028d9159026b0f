"""All that the analysis can say of one bundle, in the order in which it is found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from steelyard.analysis.by_query import by_query
from steelyard.analysis.claims import claim_notices
from steelyard.analysis.comparison import compare
from steelyard.analysis.estimates import estimates
from steelyard.analysis.factorial import effects
from steelyard.analysis.fairness import fairness
from steelyard.analysis.floor import floor_first
from steelyard.analysis.gauges import gauge_notices
from steelyard.analysis.instructions import instruction_notices
from steelyard.analysis.latches import latches
from steelyard.analysis.layout import points_of
from steelyard.analysis.locks import locks
from steelyard.analysis.measures import Measures, measure
from steelyard.analysis.profile import profile, profile_reasons
from steelyard.analysis.region import region, told_by_cells
from steelyard.analysis.results import Estimate, Judgement, Notice, Verdict
from steelyard.analysis.scaling import scalings
from steelyard.analysis.scheduling import scheduling
from steelyard.analysis.simulated import simulation_notices
from steelyard.analysis.soundness import soundness_notices
from steelyard.analysis.stability import stability_notices
from steelyard.analysis.verdict import judge_options
from steelyard.analysis.why import cost_differences
from steelyard.bundle.evidence import Evidence

_MOST_GRAVE = 3


def judge(evidence: Evidence) -> Judgement:
    """The judgement of a study's evidence.

    Estimates and comparisons are given over all points together (clients None), and for each point
    where there are several.
    """
    measures = measure(evidence)
    labels, baseline = tuple(option.label for option in evidence.options), evidence.baseline
    margin = evidence.study.plan.smallest_effect_percent / 100
    points = points_of(measures)
    views = (None, *points) if len(points) > 1 else (None,)
    compared = {
        (metric.name, point): compare(measures, metric, labels, baseline, margin, point)
        for metric in measures.metrics
        for point in views
    }
    comparisons = tuple(c for found in compared.values() for c in found.comparisons)
    found_effects = tuple(
        effect for metric in measures.headlines for effect in effects(measures, metric, evidence.options)
    )
    gauges = gauge_notices(evidence)
    scaling, latch = scalings(evidence, measures), latches(evidence)
    verdict = floor_first(evidence, measures, judge_options(evidence, measures, comparisons, found_effects))
    cells = region(evidence, measures)
    others = tuple(label for label in labels if label != baseline)
    more = (*profile_reasons(evidence, verdict.winner), *_grave(gauges))
    return Judgement(
        question=evidence.study.question,
        baseline=baseline,
        options=labels,
        metrics=measures.metrics,
        verdict=_with(told_by_cells(evidence, measures, cells, verdict), more),
        estimates=_estimates(measures, labels, views),
        comparisons=comparisons,
        effects=found_effects,
        fairness=fairness(evidence),
        costs=tuple(cost for label in others for cost in cost_differences(measures, label, baseline)),
        notices=(
            *_of_the_lab(evidence),
            *_of_the_plan(evidence),
            *_of_the_clock(evidence),
            *stability_notices(evidence, measures),
            *gauges,
            *soundness_notices(evidence, measures),
            *(n for (_, point), found in compared.items() if point is None for n in found.notices),
            *latch.notices,
            *claim_notices(evidence, scaling, latch.rows),
        ),
        scaling=scaling,
        latches=latch.rows,
        what_if=latch.what_if,
        latch_costs=latch.costs,
        region=cells,
        queries=by_query(measures, labels, baseline, margin),
        profile=profile(evidence),
        locks=locks(evidence),
        scheduling=scheduling(evidence),
    )


def _with(verdict: Verdict, further: Sequence[str]) -> Verdict:
    return replace(verdict, reasons=(*verdict.reasons, *further))


def _estimates(
    measures: Measures, labels: Sequence[str], points: Sequence[int | None]
) -> tuple[Estimate, ...]:
    return tuple(
        estimate
        for metric in measures.metrics
        for point in points
        for estimate in estimates(measures, metric, labels, point)
    )


def _grave(notices: Sequence[Notice]) -> list[str]:
    """What an option holds on to weighs as much as what it costs: it belongs beside the verdict."""
    grave = [notice for notice in notices if notice.code in ("gauge-full", "gauge-not-reclaimed")]
    return [f"{notice.subject}: {notice.text}." for notice in grave[:_MOST_GRAVE]]


def _of_the_clock(evidence: Evidence) -> list[Notice]:
    """What times mean that are not of a machine's own clock."""
    return [*simulation_notices(evidence), *instruction_notices(evidence)]


def _of_the_plan(evidence: Evidence) -> list[Notice]:
    """That the study was not finished, or lost runs since. What was published is no plan of ours."""
    plan, options = evidence.study.plan, len(evidence.options)
    planned = min(plan.blocks, plan.stop.after_blocks) if plan.stop else plan.blocks
    blocks = evidence.runs["block"].tolist()
    whole = sum(blocks.count(block) >= options for block in set(blocks))
    if whole >= planned or evidence.study.subject.kind == "recording":
        return []
    text = f"the study is not finished: {whole} of {planned} planned blocks are whole"
    return [Notice("study-unfinished", f"{text}, {len(blocks)} of {planned * options} runs count")]


def _of_the_lab(evidence: Evidence) -> list[Notice]:
    """Notices written while measuring: the same text once, with the runs that it was written for."""
    option_of = dict(zip(evidence.runs["run"].tolist(), map(str, evidence.runs["option"]), strict=True))
    runs: dict[tuple[str, str], list[int]] = {}
    table = evidence.notices
    for run, code, text in zip(table["run"].tolist(), table["code"], table["text"], strict=True):
        runs.setdefault((str(code), str(text)), []).append(int(run))
    found: list[Notice] = []
    for (code, text), numbers in runs.items():
        seen = tuple(sorted({n for n in numbers if n > 0}))
        options = {option_of.get(n, "") for n in seen}
        found.append(Notice(code, text, options.pop() if len(options) == 1 else "", seen))
    return found
