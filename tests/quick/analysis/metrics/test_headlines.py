import numpy as np

from evidence import Truth, changed, evidence_of, study_of, without_rows
from steelyard.analysis.judge import judge
from steelyard.bundle.evidence import Evidence

EVIDENCE = evidence_of(study_of({"f": "AB"}), {"A": Truth(), "B": Truth()})


def roles(evidence: Evidence) -> dict[str, str]:
    """The name of each headline metric that was measured, by role."""
    return {role: metric.name for role, metric in vars(judge(evidence).headlines).items() if metric}


def test_of_transactions_the_headlines_are_throughput_cpu_and_latency():
    assert roles(EVIDENCE) == {
        "work": "throughput_per_s",
        "cpu": "server_cpu_us_per_txn",
        "p50": "p50_ns",
        "p99": "p99_ns",
    }


def test_a_metric_that_was_not_measured_has_no_role():
    bare = changed(
        EVIDENCE,
        rates=without_rows(EVIDENCE.view("rates"), np.zeros(len(EVIDENCE.view("rates")["run"]), bool)),
    )
    assert "cpu" not in roles(bare)
