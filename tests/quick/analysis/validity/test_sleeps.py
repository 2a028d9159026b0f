"""Whether the load engine slept before most replies."""

from __future__ import annotations

import pytest

from evidence import Truth, evidence_of, study_of
from steelyard.analysis.judge import judge
from steelyard.analysis.validity.harness import sleep_notices
from steelyard.bundle.evidence import Evidence

SWITCHES = ("processes", "engine", "voluntary_switches_total")


def evidence(sleeps_per_s: float, rate_per_s: float | None = None) -> Evidence:
    study = study_of({"f": "AB"}, **({"rate_per_s": rate_per_s} if rate_per_s else {}))
    slept = Truth(throughput_per_s=10_000, counters={SWITCHES: sleeps_per_s})
    return evidence_of(study, {"A": slept, "B": Truth(throughput_per_s=10_000)}, noise=0, block_noise=0)


def test_an_engine_that_slept_before_nine_of_ten_replies_is_named_as_the_set_up() -> None:
    (notice,) = (one for one in judge(evidence(9_000)).notices if one.code == "engine-slept")
    assert notice.subject == "A" and "90.0 % of replies" in notice.detail
    assert "about 10 µs on virtual machines" in notice.text and "not of the server" in notice.text


@pytest.mark.parametrize(("sleeps_per_s", "rate_per_s"), [(4_000, None), (0, None), (9_000, 10_000)])
def test_an_engine_that_seldom_slept_or_waited_for_arrivals_is_not(
    sleeps_per_s: float, rate_per_s: float | None
) -> None:
    found = evidence(sleeps_per_s, rate_per_s)
    assert sleep_notices(found) == []
