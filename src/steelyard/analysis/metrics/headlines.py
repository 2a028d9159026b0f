"""Which of the measured metrics plays which role in every report: work, CPU, latency."""

from __future__ import annotations

from steelyard.analysis.judgement.results import Headlines, Metric
from steelyard.analysis.metrics.costs import SERVER_CPU
from steelyard.analysis.metrics.programs import CPU_PER_INSTANCE, CPU_PER_SCORE, is_score
from steelyard.analysis.metrics.run_metrics import P50, P99, WORK, RunMetrics
from steelyard.study.study import Study


def headlines(study: Study, run_metrics: RunMetrics) -> Headlines:
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
