"""Scaling intervals hold the truth as often as they say."""

import math
from itertools import product

import numpy as np
import pytest

from scaling_truth import LAWS, POINTS, RATE_PER_S, Cell, covered
from steelyard.analysis.statistics.profile_likelihood import parameter_intervals, peak_interval
from steelyard.analysis.statistics.scaling_models import Observed, Usl, fit


@pytest.mark.parametrize("points", [5, 6, 10])
def test_intervals_hold_the_truth_as_often_as_they_say(points: int):
    chance = np.random.default_rng((points, 2))
    n = np.array(POINTS[points], dtype=float)
    held: list[list[bool]] = []
    for noise, (sigma, kappa) in [*product((0.005, 0.05), LAWS)] * 12:
        x = RATE_PER_S * n / (1 + sigma * (n - 1) + kappa * n * (n - 1))
        found = fit(Usl(), Observed.of(n, x * np.exp(chance.normal(0, noise, points))))
        true = RATE_PER_S, sigma, kappa, math.sqrt((1 - sigma) / kappa) if kappa else math.inf
        ends = [*parameter_intervals(found), peak_interval(found)[1]]
        held.append([low <= value <= high for value, (low, high) in zip(true, ends, strict=True)])
    assert np.mean(held, axis=0).min() >= 0.93


def test_intervals_of_blocks_hold_the_truth_as_often_as_they_say():
    found = np.array(
        [
            covered(Cell(6, 6, noise, *law), seed)
            for noise in (0.005, 0.02)
            for law in LAWS
            for seed in range(8)
        ]
    )
    *held, missed = found.mean(axis=0)
    # of 80 studies; benches/scaling_truth.py has the rates of many
    assert min(held) >= 0.9
    assert missed <= 0.05
