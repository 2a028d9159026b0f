"""What the kernel counts for processes against the disks and the log: synthetic evidence, both ways."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evidence import Truth, evidence_of, study_of
from steelyard.analysis.judge import judge
from steelyard.analysis.judgement import Judgement

STUDY = study_of({"f": "AB"})
KIB = 1024
NAME = "written_bytes_per_txn"


def writing(counted: float, disks: float | None, wal: float = 0.0) -> Truth:
    """Bytes per transaction, at 10,000 transactions a second; disks None: none is visible."""
    per_s = {
        ("processes", "server", "written_bytes_total"): counted,
        ("postgres", "wal", "bytes_total"): wal,
        ("host", "disk:vda", "written_bytes_total"): disks,
        ("host", "disk:vdb", "written_bytes_total"): disks and 0.0,
    }
    return Truth(counters={key: 10_000 * value for key, value in per_s.items() if value is not None})


def judged(a: Truth, b: Truth, **storage: str) -> Judgement:
    found = evidence_of(STUDY, {"A": a, "B": b}, noise=0, block_noise=0)
    return judge(replace(found, storage={"filesystem": "ext4", **storage}))


def reasons(found: Judgement) -> str:
    return "\n".join(found.verdict.reasons)


def codes(found: Judgement) -> set[str]:
    return {notice.code for notice in found.notices if notice.code.startswith("storage")}


def test_bytes_that_no_disk_saw_are_no_reason_and_are_called_disregarded() -> None:
    found = judged(writing(8 * KIB, 8 * KIB), writing(840 * KIB, 11 * KIB))
    assert "Bytes written to storage" not in reasons(found)
    assert NAME not in {m.name for m in found.metrics} | {c.metric for c in found.costs}
    (notice,) = [n for n in found.notices if n.code == "storage-contradicted"]
    assert notice.subject == ""
    assert notice.text == (
        "bytes written to storage are disregarded: the disks moved less than half of what was counted"
        " (under A 8.00 KiB of 8.00 KiB and under B 11.0 KiB of 840 KiB per transaction)"
    )


@pytest.mark.parametrize(
    "b",
    [
        writing(840 * KIB, 840 * KIB),
        writing(840 * KIB, 500 * KIB),  # within the factor of two: the rest waits in the page cache
        writing(840 * KIB, 11 * KIB, wal=800 * KIB),  # the log proves it
        writing(840 * KIB, None),  # no disk is visible
    ],
)
def test_bytes_that_disks_or_the_log_confirm_are_a_reason(b: Truth) -> None:
    counters = {**b.counters, ("processes", "server", "written_bytes_total"): 10_000.0 * 8 * KIB}
    found = judged(replace(b, counters=counters), b)
    assert "Bytes written to storage: 840 KiB per transaction under B, 8.00 KiB under A" in reasons(found)
    assert not codes(found)


def test_a_log_proves_no_more_than_itself() -> None:
    found = judged(writing(8 * KIB, 8 * KIB), writing(840 * KIB, 11 * KIB, wal=100 * KIB))
    assert "Bytes written" not in reasons(found)
    assert codes(found) == {"storage-contradicted"}


def test_reads_are_checked_against_the_disks_too() -> None:
    def reading(counted: float, disks: float) -> Truth:
        return Truth(
            counters={
                ("processes", "server", "read_bytes_total"): 10_000 * counted,
                ("host", "disk:vda", "read_bytes_total"): 10_000 * disks,
            }
        )

    assert "Bytes read" in reasons(judged(reading(100, 100), reading(9_000, 9_000)))
    found = judged(reading(100, 100), reading(9_000, 90))
    assert "Bytes read" not in reasons(found)
    assert codes(found) == {"storage-contradicted"}


def test_what_is_below_the_smallest_effect_contradicts_nothing() -> None:
    assert not codes(judged(writing(30, 2), writing(40, 2)))


def test_the_disks_of_this_machine_do_not_contradict_a_network_filesystem() -> None:
    assert "Bytes written" in reasons(judged(writing(8 * KIB, 0), writing(840 * KIB, 0), filesystem="nfs4"))


def test_on_tmpfs_nothing_is_written_to_storage_and_the_report_says_so() -> None:
    found = judged(writing(8 * KIB, 0), writing(840 * KIB, 0), filesystem="tmpfs", data_dir="/dev/shm")
    assert codes(found) == {"storage-in-memory"}
    (text,) = [n.text for n in found.notices if n.code == "storage-in-memory"]
    assert text == "the data folder /dev/shm is on tmpfs, which is memory: nothing is written to storage"
    assert "Bytes written" not in reasons(found)


def test_a_server_elsewhere_has_its_own_storage() -> None:
    study = study_of({"f": "AB"}, subject={"kind": "postgres", "dsn": "host=db"})
    found = evidence_of(study, {"A": Truth(), "B": Truth()})
    assert not codes(judge(replace(found, storage={"filesystem": "tmpfs"})))
