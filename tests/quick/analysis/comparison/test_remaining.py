"""How long it takes until intervals are narrow, and when a study says so."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evidence import Truth, evidence_of, study_of
from steelyard.analysis.comparison.stopping import Sampling, shortest, stopping_notices
from steelyard.bundle.evidence import Evidence

SIX = Sampling(half_width_percent=2.0, alpha=0.03, blocks=6, block_s=30.0, measured_s=6.0)


def test_more_blocks_narrow_the_interval_as_student_and_the_root_say() -> None:
    found = shortest(SIX, 1.0)
    # t(5, 97 %) / sqrt(6) = 1.220; half of it: t(14, 97 %) / sqrt(15) = .620, t(15, 97 %) / sqrt(16) = .598
    assert found is not None
    assert (found.blocks, found.times, found.seconds) == (16, 1, 480.0)


def test_longer_blocks_are_advised_where_the_scatter_is_within_them() -> None:
    within = shortest(replace(SIX, of_blocks=0.0), 1.0)
    between = shortest(replace(SIX, of_blocks=0.99), 1.0)
    assert within is not None and within.times > 1 and within.seconds < 480
    assert between is not None and between.times == 1


def test_no_number_of_blocks_is_given_beyond_a_thousand() -> None:
    assert shortest(replace(SIX, half_width_percent=90.0), 0.01) is None


def evidence(half_width_percent: float, noise: float, blocks: int = 6) -> Evidence:
    study = study_of({"f": "AB"}, plan={"clients": [8], "stop": {"half_width_percent": half_width_percent}})
    return evidence_of(study, {"A": Truth(), "B": Truth()}, noise=noise, blocks=blocks)


def test_a_study_with_wide_intervals_says_how_long_narrow_ones_take() -> None:
    (notice,) = stopping_notices(evidence(1.0, noise=0.01))
    assert notice.code == "half-width"
    assert "not ±1 % (plan.stop): at this scatter about" in notice.text and "in all" in notice.text


@pytest.mark.parametrize(
    ("half_width_percent", "noise", "blocks", "said"),
    [(5.0, 0.001, 6, ""), (1.0, 0.01, 3, "begin with 5"), (0.01, 0.5, 6, "would not do")],
)
def test_it_says_nothing_when_they_are_narrow_and_no_number_that_it_cannot_know(
    half_width_percent: float, noise: float, blocks: int, said: str
) -> None:
    found = stopping_notices(evidence(half_width_percent, noise, blocks))
    texts = [notice.text for notice in found if notice.code == "half-width"]
    assert len(texts) == bool(said) and all(said in text for text in texts)
