"""The verdict on the null subject: what the harness itself costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from steelyard.analysis.comparison.block_table import block_table
from steelyard.analysis.comparison.estimates import estimates
from steelyard.analysis.judgement.results import Verdict
from steelyard.analysis.metrics.costs import SERVER_CPU
from steelyard.analysis.metrics.run_metrics import THROUGHPUT, RunMetrics
from steelyard.analysis.verdict.findings import Findings
from steelyard.analysis.verdict.nothing_to_compare import nothing_to_compare
from steelyard.analysis.verdict.options_compared import options_compared
from steelyard.bundle.evidence.evidence import Evidence
from steelyard.quantities import listed, percent, quantity, span_of

_ENGINE = "engine_cpu_us_per_txn"
_P50 = "p50_ns"


def harness_overhead(findings: Findings) -> Verdict:
    """The cost of the harness and the noise of the machine; the answer on the options is its first reason."""
    answer = (options_compared if findings.pairwise.options else nothing_to_compare)(findings)
    evidence, run_metrics = findings.evidence, findings.run_metrics
    found = [text for text in (_cost(evidence, run_metrics), _noise(evidence, run_metrics)) if text]
    if not found:
        return answer
    return replace(answer, sentence=" ".join(found), reasons=(answer.sentence, *answer.reasons))


def _cost(evidence: Evidence, run_metrics: RunMetrics) -> str:
    """`Here a transaction takes 4.3 µs of CPU in the load engine and ...`; '' where neither was measured."""
    parts = [
        f"{level} {where}"
        for name, unit, where in (
            (_ENGINE, "us", "of CPU in the load engine"),
            (SERVER_CPU.name, "us", "in a server that only answers"),
        )
        if (level := _levels(evidence, run_metrics, name, unit))
    ]
    if not parts:
        return ""
    # a median over several load points is no latency
    clients = evidence.study.plan.clients
    half = _levels(evidence, run_metrics, _P50, "ns") if len(clients) == 1 else ""
    waits = (
        f"; half of them are answered within {half}, with {evidence.study.workload.counted(clients[0])}"
        if half
        else ""
    )
    return f"Here a transaction takes {listed(parts)}{waits}."


def _levels(evidence: Evidence, run_metrics: RunMetrics, name: str, unit: str) -> str:
    """From the least to the most that an option takes, as the table of options has it."""
    metric = run_metrics.metric(name)
    if metric is None:
        return ""
    levels = [found.value for found in estimates(run_metrics, metric, [o.label for o in evidence.options])]
    return span_of(levels, lambda value: quantity(value, unit)) if levels else ""


def _noise(evidence: Evidence, run_metrics: RunMetrics) -> str:
    """How much runs of the same option scatter; '' of a single block."""
    labels: Sequence[str] = [option.label for option in evidence.options]
    parts: list[str] = []
    for name, title in ((THROUGHPUT.name, "throughput"), (SERVER_CPU.name, "CPU per transaction")):
        table = block_table(run_metrics, name, labels)
        if len(table.blocks) > 1 and table.positive:
            variance = np.log(table.values).var(axis=0, ddof=1).mean()
            parts.append(f"{percent(float(np.expm1(variance**0.5)))} in {title}")
    if not parts:
        return ""
    length = f"{evidence.study.plan.measure_s:g} s"
    return (
        f"A repeated run differs by {listed(parts)} (standard deviation of runs of {length}): this is the"
        " noise of this machine now; steelyard doctor reports its causes."
    )
