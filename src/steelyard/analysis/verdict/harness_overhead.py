"""The words on the null subject: what the harness itself costs."""

from __future__ import annotations

import numpy as np

from steelyard.analysis.comparison.block_table import block_table
from steelyard.analysis.comparison.estimates import estimates
from steelyard.analysis.metrics.costs import SERVER_CPU
from steelyard.analysis.metrics.run_metrics import P50, THROUGHPUT
from steelyard.analysis.verdict.decision import Words, joined
from steelyard.analysis.verdict.findings import Findings
from steelyard.quantities import listed, percent, quantity, span_of

_ENGINE = "engine_cpu_us_per_txn"


def harness_overhead(findings: Findings, answer: Words) -> Words:
    """The cost of the harness and the noise of the machine; the answer on the options is its first reason."""
    engine, server = _levels(findings, _ENGINE, "us"), _levels(findings, SERVER_CPU.name, "us")
    if not (engine or server):
        return answer
    of_server = f"A server that only answers takes {server} of CPU per transaction."
    return Words(
        f"The load engine takes {engine} of CPU per transaction." if engine else of_server,
        joined(of_server if engine and server else "", _latency(findings)),
        _noise(findings),
        (joined(*answer[:3]), *answer.reasons),
    )


def _latency(findings: Findings) -> str:
    """`Half of the transactions are answered within 700 µs, with 8 clients.`; '' at several load points."""
    # a median over several load points is no latency
    study = findings.evidence.study
    first, *more = study.plan.clients
    half = "" if more else _levels(findings, P50.name, "ns")
    with_ = study.workload.counted(first)
    return f"Half of the transactions are answered within {half}, with {with_}." if half else ""


def _levels(findings: Findings, name: str, unit: str) -> str:
    """From the least to the most that an option takes, as the table of options has it."""
    metric = findings.run_metrics.metric(name)
    found = estimates(findings.run_metrics, metric, findings.labels) if metric else ()
    return span_of([one.value for one in found], lambda value: quantity(value, unit)) if found else ""


def _noise(findings: Findings) -> str:
    """How much runs of the same option scatter; '' of a single block."""
    parts: list[str] = []
    for name, title in ((THROUGHPUT.name, "throughput"), (SERVER_CPU.name, "CPU per transaction")):
        table = block_table(findings.run_metrics, name, findings.labels)
        if len(table.blocks) > 1 and table.positive:
            variance = np.log(table.values).var(axis=0, ddof=1).mean()
            parts.append(f"{percent(float(np.expm1(variance**0.5)))} in {title}")
    if not parts:
        return ""
    length = f"{findings.evidence.study.plan.measure_s:g} s"
    return (
        f"A repeated run differs by {listed(parts)} (standard deviation of runs of {length}): this is the"
        " noise of this machine now; steelyard doctor reports its causes."
    )
