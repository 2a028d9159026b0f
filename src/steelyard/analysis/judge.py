"""The whole analysis of one bundle, in the order of its parts."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from steelyard.analysis.comparison.block_table import estimates, points_of
from steelyard.analysis.comparison.effects import effects
from steelyard.analysis.comparison.intervals import Intervals
from steelyard.analysis.comparison.pairwise import metrics_that_count, pairwise
from steelyard.analysis.comparison.stopping import level, precision, stopped, stopping_notices, whole_blocks
from steelyard.analysis.judgement import Headlines, Judgement, Metric, Notice
from steelyard.analysis.kernel import locks, profile, scheduling
from steelyard.analysis.latches.table import latches
from steelyard.analysis.load.scaling import scaling_notices, scalings
from steelyard.analysis.load.served import (
    derived_rate_notices,
    fairness,
    fairness_notices,
    report_notices,
    retry_notices,
)
from steelyard.analysis.load.statements import by_query, statement_latencies
from steelyard.analysis.metrics.dispatcher import simulation_notices
from steelyard.analysis.metrics.measured import SERVER_CPU
from steelyard.analysis.metrics.particular import instruction_notices
from steelyard.analysis.metrics.programs import CPU_PER_INSTANCE, CPU_PER_SCORE, is_score
from steelyard.analysis.metrics.run_metrics import P50, P99, WORK, RunMetrics, compute_run_metrics
from steelyard.analysis.metrics.storage import storage_notices
from steelyard.analysis.validity.disturbance import disturbance_notices, disturbed
from steelyard.analysis.validity.equal_work import equal_work
from steelyard.analysis.validity.gauges import gauge_findings
from steelyard.analysis.validity.harness import harness_notices, host_notices
from steelyard.analysis.validity.pace import pace_notices, server_notices
from steelyard.analysis.validity.stability import growth_notices, stability_notices, turn_notices
from steelyard.analysis.verdict.costs import Costs
from steelyard.analysis.verdict.crash import lost_by_all
from steelyard.analysis.verdict.findings import Findings
from steelyard.analysis.verdict.published import answer, claims
from steelyard.analysis.verdict.verdict import verdict
from steelyard.analysis.verdict.win_map import win_map_cells
from steelyard.bundle.evidence import Evidence, grouped
from steelyard.study.study import Study


def judge(evidence: Evidence) -> Judgement:
    """The judgement of a study's evidence, over all points together (clients None) and at each of several."""
    run_metrics = compute_run_metrics(evidence)
    labels, baseline = tuple(evidence.labels), evidence.baseline
    views = (None, *points) if len(points := points_of(run_metrics)) > 1 else (None,)
    metrics, counted = run_metrics.metrics, metrics_that_count(evidence.study, run_metrics)
    intervals = Intervals(run_metrics, labels, counted, evidence.margin, level(evidence.study))
    comparisons = tuple(c for point in views for m in metrics for c in intervals.against(m, baseline, point))
    levels = tuple(e for m in metrics for point in views for e in estimates(run_metrics, m, labels, point))
    found_effects = tuple(e for m in run_metrics.headlines for e in effects(run_metrics, m, evidence.options))
    gauges, by_others, work = gauge_findings(evidence), disturbed(evidence), equal_work(evidence)
    served, roles = fairness(evidence), _headlines(evidence.study, run_metrics)
    scaling, latch = tuple(scalings(evidence, run_metrics)), latches(evidence)
    cells, costs = tuple(win_map_cells(evidence, run_metrics)), Costs(intervals)
    pairs = pairwise(evidence.study, intervals, baseline)
    findings = Findings(
        evidence, run_metrics, pairs, comparisons, found_effects, costs, cells, gauges, by_others, work
    )
    return Judgement(
        question=evidence.study.question,
        baseline=baseline,
        options=labels,
        metrics=metrics,
        headlines=roles,
        precision=precision(evidence, roles.foremost, comparisons),
        verdict=answer(evidence.published) or verdict(findings),
        claims=tuple(claims(evidence.published)),
        estimates=levels,
        comparisons=comparisons,
        effects=found_effects,
        fairness=served,
        costs=costs.differences(pairs.with_baseline),
        notices=(
            *disturbance_notices(evidence, by_others),
            *work.notices,
            *(notice for check in _CHECKS for notice in check(evidence)),
            *stability_notices(evidence, run_metrics),
            *(finding.notice for finding in gauges),
            *harness_notices(evidence, run_metrics),
            *fairness_notices(served, evidence.workload),
            *(notice for metric in metrics for notice in intervals.tests(metric).not_compared(baseline)),
            *pace_notices(evidence, run_metrics, comparisons),
            *scaling_notices(scaling),
            *latch.notices,
        ),
        scaling=scaling,
        latches=latch.rows,
        what_if=latch.what_if,
        latch_costs=latch.costs,
        win_map=cells,
        statements=statement_latencies(evidence, run_metrics),
        queries=by_query(evidence, run_metrics),
        work=(*work.differences, *work.meant),
        equal_work=work.held,
        profile=profile(evidence),
        locks=locks(evidence),
        scheduling=scheduling(evidence),
    )


def _plan_notices(evidence: Evidence) -> list[Notice]:
    """That the study was not finished, or lost runs since; a published recording has no such plan."""
    planned, options = evidence.study.plan.blocks, len(evidence.options)
    whole, runs = whole_blocks(evidence), len(evidence.rows("from runs"))
    if whole >= planned or stopped(evidence) or evidence.recorded:
        return []
    text = f"the study is not finished: {whole} of {planned} planned blocks are whole"
    return [Notice("study-unfinished", f"{text}, {runs} of {planned * options} runs count")]


def _durability_notices(evidence: Evidence) -> list[Notice]:
    """That commits did not wait for storage, as the study chose."""
    off = "durability is off: commits did not wait for storage" * (evidence.study.subject.durability == "off")
    if text := off or lost_by_all(evidence.options):
        return [Notice("durability-off", f"{text}, so a durable server commits more slowly")]
    return []


def _lab_notices(evidence: Evidence) -> Iterator[Notice]:
    """Notices written while measuring: the same text once, with the runs that it was written for."""
    option_of = dict(evidence.rows("select run, option from runs"))
    runs = grouped(((code, text), run) for run, code, text in evidence.rows("from notices"))
    for (code, text), numbers in runs.items():
        seen = tuple(sorted({n for n in numbers if n > 0}))
        options = {option_of.get(n, "") for n in seen}
        option = options.pop() if len(options) == 1 else ""
        of = sum(option in ("", other) for other in option_of.values())
        # of those that not all runs have
        some = f"run {seen[0]}" if len(seen) == 1 else f"{len(seen)} of {of} runs"
        yield Notice(code, text, option, seen, some if 0 < len(seen) < of else "")


# what needs no metric: the lab's own notices, the plan, the clock
_CHECKS: Sequence[Callable[[Evidence], Iterable[Notice]]] = (
    _lab_notices,
    server_notices,
    host_notices,
    report_notices,
    derived_rate_notices,
    retry_notices,
    growth_notices,
    turn_notices,
    stopping_notices,
    _plan_notices,
    _durability_notices,
    simulation_notices,
    instruction_notices,
    storage_notices,
)


def _headlines(study: Study, run_metrics: RunMetrics) -> Headlines:
    """The headline metrics by role, each as the study's workload words it."""

    def first(*names: str) -> Metric | None:
        return next(filter(None, map(run_metrics.metric, names)), None)

    return Headlines(
        work=first(*WORK),
        cpu=first(SERVER_CPU.name, CPU_PER_SCORE, CPU_PER_INSTANCE),
        p50=first(P50.name),
        p99=first(P99.name),
        latency=first(P99.name) if study.workload.open_loop else None,
        scores=tuple(m for m in run_metrics.metrics if is_score(m.name)),
    )
