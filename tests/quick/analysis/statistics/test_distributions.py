import numpy as np
import pytest
from scipy import stats

from steelyard.analysis.statistics.distributions import (
    benjamini_hochberg,
    holm,
    sidak,
    t_critical,
    t_two_sided,
)


def test_sidak_is_the_chance_of_the_least_of_so_many():
    assert sidak([0.05, 0.01, 1.0, 0.0], 3) == pytest.approx([1 - 0.95**3, 1 - 0.99**3, 1.0, 0.0])
    assert sidak(1e-18, 1000) == pytest.approx(1e-15)


def test_nothing_is_proven_without_degrees_of_freedom():
    assert t_critical(0, 0.05) == float("inf")
    assert t_two_sided([0.0, 1e9], 0).tolist() == [1.0, 1.0]


def test_holm_steps_down_and_never_falls():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_benjamini_hochberg_agrees_with_scipy():
    p = np.array([0.001, 0.2, 0.013, 0.9, 0.04, 0.04])
    assert benjamini_hochberg(p) == pytest.approx(stats.false_discovery_control(p))


def test_benjamini_hochberg_holds_the_false_discovery_rate_at_4_percent():
    chance = np.random.default_rng(6)
    rates: list[float] = []
    for _ in range(400):
        z = chance.normal(0, 1, 24) + np.where(np.arange(24) < 5, 4, 0)
        found = benjamini_hochberg(2 * stats.norm.sf(abs(z))) <= 0.05
        rates.append(found[5:].sum() / max(found.sum(), 1))
    assert np.mean(rates) == pytest.approx(0.04, abs=0.015)
