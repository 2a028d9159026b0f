import numpy as np
import pytest
from scipy import stats

from steelyard.analysis.tails import benjamini_hochberg, dunnett_critical, dunnett_p, holm


@pytest.mark.parametrize(
    ("treatments", "df", "published"),
    [
        (1, 20, 2.09),
        (2, 5, 3.03),
        (2, 10, 2.57),
        (2, 20, 2.38),
        (3, 15, 2.61),
        (3, 16, 2.59),
        (3, 20, 2.54),
        (5, 20, 2.73),
        (9, 20, 2.95),
        (9, 60, 2.77),
    ],
)
def test_two_sided_5_percent_values_match_dunnett_1964(treatments: int, df: int, published: float):
    assert round(dunnett_critical(treatments, df, 0.05), 2) == published


def test_dunnett_p_agrees_with_the_multivariate_t_of_scipy():
    correlation = np.full((4, 4), 0.5) + np.eye(4) / 2
    box = stats.multivariate_t(shape=correlation, df=12, seed=1)
    within = box.cdf([2.2] * 4, lower_limit=[-2.2] * 4, maxpts=200_000)
    assert dunnett_p(2.2, 4, 12) == pytest.approx(1 - within, abs=2e-4)


def test_dunnett_p_of_its_own_critical_value_is_the_level():
    assert dunnett_p(dunnett_critical(29, 145, 0.05), 29, 145) == pytest.approx(0.05, abs=1e-9)


def test_one_treatment_is_students_t():
    assert dunnett_p(2.5, 1, 7) == pytest.approx(2 * stats.t.sf(2.5, 7))
    assert dunnett_critical(1, 7, 0.05) == pytest.approx(stats.t.ppf(0.975, 7))


def test_nothing_is_proven_without_degrees_of_freedom():
    assert dunnett_critical(3, 0, 0.05) == float("inf")
    assert dunnett_p([0.0, 1e9], 3, 0).tolist() == [1.0, 1.0]


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
