"""The verdict on the null subject: what the harness itself costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from steelyard.analysis.comparison.block_table import block_table
from steelyard.analysis.comparison.estimates import estimates
from steelyard.analysis.judgement.verdict import Verdict
from steelyard.analysis.metrics.costs import SERVER_CPU
from steelyard.analysis.metrics.run_metrics import THROUGHPUT, RunMetrics
from steelyard.analysis.verdict.findings import Findings
from steelyard.analysis.verdict.headline import joined
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
    engine = _levels(evidence, run_metrics, _ENGINE, "us")
    server = _levels(evidence, run_metrics, SERVER_CPU.name, "us")
    if not (engine or server):
        return answer
    of_server = f"A server that only answers takes {server} of CPU per transaction."
    return replace(
        answer,
        headline=f"The load engine takes {engine} of CPU per transaction." if engine else of_server,
        interval=joined(of_server if engine and server else "", _latency(evidence, run_metrics)),
        consequence=_noise(evidence, run_metrics),
        reasons=(joined(*answer.lines), *answer.reasons),
    )


def _latency(evidence: Evidence, run_metrics: RunMetrics) -> str:
    """`Half of the transactions are answered within 700 µs, with 8 clients.`; '' at several load points."""
    # a median over several load points is no latency
    clients = evidence.study.plan.clients
    half = _levels(evidence, run_metrics, _P50, "ns") if len(clients) == 1 else ""
    counted = evidence.study.workload.counted(clients[0])
    return f"Half of the transactions are answered within {half}, with {counted}." if half else ""


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
