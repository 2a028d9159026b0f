"""Options that do many times the work of others per second: what the notice on their pace says."""

from __future__ import annotations

import numpy as np
import pytest

from evidence import Truth, changed, evidence_of, study_of
from steelyard.analysis.judge import judge
from steelyard.analysis.judgement import Notice
from steelyard.bundle.evidence import Evidence

WAL, IMAGES = (("postgres", "wal", name) for name in ("bytes_total", "full_page_images_total"))


def evidence(per_s: float, *, rate_per_s: float | None = None, logged: bool = True) -> Evidence:
    counters = {WAL: 2e6, IMAGES: 100.0} if logged else {}
    truth = {"A": Truth(counters=counters), "B": Truth(throughput_per_s=per_s, counters=counters)}
    return evidence_of(study_of({"f": "AB"}, rate_per_s=rate_per_s), truth, noise=0.001)


def pace(found: Evidence) -> list[Notice]:
    return [notice for notice in judge(found).notices if notice.code == "pace-differs"]


def two_statements(found: Evidence) -> Evidence:
    """The same with rows of two statements beside those of whole transactions."""
    more = {
        name: np.concatenate([values, values, values]) if name != "statement" else np.concatenate(
            [values, np.full(len(values), "insert"), np.full(len(values), "select")]
        )
        for name, values in found.view("latency").items()
    }  # fmt: skip
    return changed(found, latency=more)


def test_log_per_transaction_is_explained_where_the_pace_differs_with_its_full_page_images() -> None:
    (notice,) = pace(evidence(30_000))
    assert (notice.subject, notice.detail) == ("B", "throughput 3.00 times that of A")
    # 100 images of 8 KiB in 2 MB per second
    assert "full-page images are up to 41.0 % under A and 41.0 % under B" in notice.text
    assert 'workload.arrival.kind = "open"' in notice.text and "workload.arrival.rate_per_s" in notice.text
    assert "study of its own" not in notice.text
    (slower,) = pace(evidence(4_000))
    assert slower.detail == "throughput −60.0 % against A"


def test_latencies_of_several_statements_are_explained_where_the_pace_differs() -> None:
    (notice,) = pace(two_statements(evidence(30_000, logged=False)))
    assert "the latency of a statement includes its wait" in notice.text and "WAL" not in notice.text
    assert "measure each statement in a study of its own" in notice.text


@pytest.mark.parametrize(
    "found",
    [evidence(14_000), evidence(30_000, logged=False), evidence(30_000, rate_per_s=1000.0)],
    ids=["nearly the same pace", "one statement and no log", "open loop"],
)
def test_nothing_is_said_of_pace_where_it_does_not_matter(found: Evidence) -> None:
    assert pace(found) == []
