from dataclasses import replace

from evidence import Truth, evidence_of, study_of
from steelyard.analysis.judge import judge
from steelyard.analysis.judgement.verdict import Verdict
from steelyard.bundle.evidence import Evidence

SCHEMAS = {
    "A": {"indexes_bytes": 10_428_416.0, "tables_bytes": 39_337_984.0},
    "B": {"indexes_bytes": 12_156_928.0, "tables_bytes": 39_337_984.0},
}
WAL = ("postgres", "wal", "bytes_total")


def truths(wal_of_b: float, per_s: float) -> dict[str, Truth]:
    return {
        "A": Truth(counters={WAL: 10_000 * 800.0}),
        "B": Truth(throughput_per_s=per_s, counters={WAL: per_s * wal_of_b}),
    }


def found(wal_of_b: float, per_s: float = 14_000, **changes) -> Verdict:
    truth = truths(wal_of_b, per_s)
    evidence: Evidence = evidence_of(study_of({"f": "AB"}), truth, noise=0.0, block_noise=0.0)
    return judge(replace(evidence, **changes)).verdict


def test_a_faster_schema_says_what_it_takes_in_space_and_log():
    said = found(1_020.0, schemas=SCHEMAS)
    assert said.consequence.startswith(
        "B takes 1.65 MiB more for indexes and 220 B more WAL per transaction than A."
    )


def test_log_per_transaction_is_no_cost_of_a_schema_that_works_at_another_pace():
    said = found(400.0, per_s=20_000, schemas=SCHEMAS)
    assert said.consequence.startswith("B takes 1.65 MiB more for indexes than A.")
    assert not any("WAL" in reason for reason in said.reasons)
    assert any(reason.startswith("WAL: ") for reason in found(400.0).reasons)


def test_log_that_does_not_differ_is_left_out_and_options_of_one_schema_take_nothing():
    assert "B takes 1.65 MiB more for indexes than A." in found(800.0, schemas=SCHEMAS).consequence
    assert "takes" not in found(1_020.0).consequence
