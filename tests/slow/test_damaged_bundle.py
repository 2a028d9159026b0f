"""Damage to a bundle, many times at random."""

from __future__ import annotations

import random
import warnings
from pathlib import Path

import pytest

from damage import DAMAGES, Trial

SEEDS = range(48)  # benches/damage.py tries 10,000
PARTS = 4


@pytest.mark.parametrize("part", range(PARTS))
def test_no_damage_gives_a_traceback_or_a_silent_other_answer(tmp_path: Path, part: int) -> None:
    trial = Trial(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcomes = {seed: trial.damaged(seed) for seed in SEEDS[part::PARTS]}
    assert not {seed: outcome for seed, outcome in outcomes.items() if outcome.kind == "failure"}


def test_the_damages_tried_are_of_every_kind(tmp_path: Path) -> None:
    assert {random.Random(seed).choice(DAMAGES) for seed in SEEDS} == set(DAMAGES)
