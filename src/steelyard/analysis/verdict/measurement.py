"""The verdict on one option alone: what was measured, with its interval, and no comparison."""

from __future__ import annotations

from steelyard.analysis.comparison.block_table import points_of
from steelyard.analysis.comparison.estimates import estimates
from steelyard.analysis.judgement.outcome import FEWEST_BLOCKS
from steelyard.analysis.judgement.results import Estimate, Metric
from steelyard.analysis.judgement.verdict import Verdict
from steelyard.analysis.metrics.run_metrics import foremost
from steelyard.analysis.verdict.findings import Findings
from steelyard.analysis.verdict.gauges import with_severe_gauges
from steelyard.analysis.verdict.headline import capitalised
from steelyard.quantities import count, interval, quantity


def measurement(findings: Findings) -> Verdict:
    """The foremost metric at each load point; `compare` sets it against another bundle."""
    evidence, run_metrics = findings.evidence, findings.run_metrics
    metric, label = foremost(evidence.study, run_metrics), evidence.options[0].label
    points = points_of(run_metrics)
    levels = [estimate for point in points for estimate in estimates(run_metrics, metric, [label], point)]
    if not levels:
        recorded = evidence.study.subject.kind == "recording"
        text = (
            f"No work was counted in the recording of {label}."
            if recorded
            else f"Nothing was measured of {label}."
        )
        return Verdict("nothing to compare", None, text)
    blocks = min(estimate.blocks for estimate in levels)
    best = (min if metric.better == "lower" else max)(levels, key=lambda estimate: estimate.value)
    workload = evidence.study.workload
    at = f" with {workload.counted(best.clients)}" if best.clients else ""
    few = "" if blocks >= FEWEST_BLOCKS else ": too few for a safe interval"
    level = quantity(best.value, metric.unit)
    found = Verdict(
        outcome="measured",
        winner=None,
        headline=f"{capitalised(metric.title)} of {findings.named(label)}: {level}{at}.",
        interval=_interval(best, metric, f"{count(blocks, 'block')}{few}"),
    )
    return with_severe_gauges(findings, found, [label])


def _interval(estimate: Estimate, metric: Metric, behind: str) -> str:
    """`10,000/s [9,900 to 10,100], 95 % interval, 6 blocks.`"""
    text = interval(estimate.value, estimate.low, estimate.high, metric.unit)
    return f"{text}, 95 % interval, {behind}."
