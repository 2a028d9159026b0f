import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from published import I7, T2, lookups_per_s

from evidence import Truth, evidence_of, study_of
from steelyard.analysis.judge import judge
from steelyard.analysis.judgement.scaling import Scaling
from steelyard.analysis.load.scaling import scaling, scalings
from steelyard.analysis.metrics.run_metrics import compute_run_metrics
from steelyard.analysis.statistics.scaling_models import Fitted, Observed, SharedCore, Usl, fit
from steelyard.bundle.evidence import Topology

WORK = study_of({"f": ["A"]}).workload

SPECSDM91 = [1, 18, 36, 72, 108, 144, 216], [64.9, 995.9, 1652.4, 1853.2, 1828.9, 1775, 1702.2]
RAYTRACER = [1, 4, 8, 12, 16, 20], [20.0, 78, 130, 170, 190, 200]
BUFFER, RESULT = "buffer cache", "result cache"
I7_CORES, T2_CORES = SharedCore(6, 12), SharedCore(8, 64)


def absolute(data: tuple[list[int], list[float]]) -> Fitted:
    return fit(Usl(), Observed.of(*data, relative=False))


def _curvature(found: Fitted) -> np.ndarray:
    """The inverse of the curvature of RSS at the best parameters, lambda as its logarithm."""
    _, slopes = found.curve(found.theta[None, :])
    weighted = slopes[0] * np.sqrt(found.observed.weights)[:, None]
    return np.linalg.pinv(weighted.T @ weighted)


def errors_of(found: Fitted) -> np.ndarray:
    """Standard errors of the parameters, good inside their bounds."""
    natural = np.array([found.parameters[0], 1.0, 1.0])
    return found.residual_sd * natural * np.sqrt(np.diag(_curvature(found)))


def correlation_of(found: Fitted) -> float:
    inverse = _curvature(found)
    return inverse[1, 2] / math.sqrt(inverse[1, 1] * inverse[2, 2])


def published(platform: str, access: str, most: int = 12) -> Scaling:
    cores = {I7: Topology(6, 12), T2: Topology(8, 64)}[platform]
    return scaling(access, *lookups_per_s(platform, access, most), cores, WORK)


def test_usl_fit_matches_published_specsdm91():
    found = absolute(SPECSDM91)
    assert found.parameters == pytest.approx([89.9952, 0.0277285, 0.0001044], rel=5e-4)
    assert errors_of(found) == pytest.approx([14.2135, 0.0091217, 1.99e-5], rel=2e-3)
    assert found.residual_sd == pytest.approx(82.85, abs=0.01)
    sigma, kappa = found.parameters[1:]
    peak = math.sqrt((1 - sigma) / kappa)
    assert peak == pytest.approx(96.52, abs=0.01)
    assert found.at([peak])[0] == pytest.approx(1884, abs=1)


def test_usl_fit_matches_published_raytracer():
    found = absolute(RAYTRACER)
    assert found.parameters == pytest.approx([20.856, 0.02444, 0.00163], abs=2e-3)
    # sigma 95 % by Student's t on 3 degrees of freedom; 1.96 instead of 3.18 would exclude 0
    assert found.parameters[1] + 3.1824 * errors_of(found)[1] * np.array([-1, 1]) == pytest.approx(
        [-0.0023, 0.0511], abs=1e-4
    )


@pytest.mark.parametrize(
    ("platform", "access", "most", "rate", "sigma", "kappa", "sd"),
    [
        (T2, BUFFER, 12, 4471, 0.0, 4.9e-4, 0.0085),
        (T2, RESULT, 12, 4580, 0.0012, 5.8e-4, 0.0063),
        (I7, BUFFER, 12, 41525, 0.0, 5.9e-3, 0.048),
        (I7, RESULT, 12, 44340, 0.0, 6.5e-3, 0.042),
        (I7, BUFFER, 6, 40235, 0.0, 1.5e-3, 0.015),
        (I7, RESULT, 6, 43332, 0.0095, 1.0e-3, 0.009),
    ],
)
def test_usl_fits_of_the_published_study(
    platform: str, access: str, most: int, rate: float, sigma: float, kappa: float, sd: float
):
    found = fit(Usl(), Observed.of(*lookups_per_s(platform, access, most)))
    assert found.parameters[0] == pytest.approx(rate, abs=1)
    assert found.parameters[1] == pytest.approx(sigma, abs=5e-5)
    assert found.parameters[2] == pytest.approx(kappa, rel=0.05)
    assert found.residual_sd == pytest.approx(sd, rel=0.03)


@pytest.mark.parametrize(
    ("access", "share", "half", "sigma", "aicc", "aicc_usl"),
    [(BUFFER, 0.29, 0.11, 0.016, -76.5, -62.7), (RESULT, 0.27, 0.08, 0.021, -84.2, -66.1)],
)
def test_the_shared_core_model_beats_the_law_on_the_i7(
    access: str, share: float, half: float, sigma: float, aicc: float, aicc_usl: float
):
    observed = Observed.of(*lookups_per_s(I7, access))
    found, law = fit(I7_CORES, observed), fit(Usl(), observed)
    assert found.parameters[1:] == pytest.approx([sigma, share], abs=5e-3)
    assert 2.262 * errors_of(found)[2] == pytest.approx(half, abs=5e-3)
    assert (found.aicc, law.aicc) == pytest.approx((aicc, aicc_usl), abs=0.05)
    assert [c.model for c in published(I7, access).curves] == ["shared-core", "usl"]


def test_the_law_beats_the_shared_core_model_on_the_t2():
    for access in (BUFFER, RESULT):
        assert [c.model for c in published(T2, access).curves] == ["usl", "shared-core"]


def test_sigma_and_kappa_can_hardly_be_told_apart():
    for access in (BUFFER, RESULT):
        found = fit(Usl(), Observed.of(*lookups_per_s(T2, access)))
        assert correlation_of(found) == pytest.approx(-0.97, abs=0.005)


@pytest.mark.parametrize("access", [BUFFER, RESULT])
def test_a_fit_below_the_kink_over_predicts_beyond_it(access: str):
    clients, x = lookups_per_s(I7, access)
    found = fit(Usl(), Observed.of(clients[:6], x[:6]))
    assert 1.37 < found.at([12])[0] / x[11] < 1.43


@pytest.mark.parametrize(
    ("platform", "access", "clients", "linear"), [(T2, RESULT, 12, 0.92554), (I7, RESULT, 12, 0.56219)]
)
def test_percent_linear_of_the_published_study(platform: str, access: str, clients: int, linear: float):
    point = published(platform, access).points[clients - 1]
    assert (point.clients, point.linear) == (clients, pytest.approx(linear, abs=5e-6))


def test_a_peak_beyond_the_data_is_an_extrapolation():
    found = published(T2, RESULT)
    peak = found.curves[0].peak
    assert peak and (peak.value, peak.low) == (pytest.approx(41.5, abs=0.1), pytest.approx(35.9, abs=0.1))
    assert 55 < peak.high < 80
    assert "extrapolation, since only 12 were measured" in found.sentence
    # by absolute errors its interval is open
    assert "coherency 0.000143 [0 to 0.000586], no peak: outside the intervals above" in found.sentence


@pytest.mark.parametrize("access", [BUFFER, RESULT])
def test_a_peak_whose_interval_is_open_is_refused(access: str):
    found = published(I7, access, most=6)
    peak = found.curves[0].peak
    assert peak and peak.high == math.inf and peak.low == pytest.approx(16.6, abs=0.3)
    assert "peak unknown: 6 clients do not reach it (95 % CI from " in found.sentence
    assert ", no upper bound)" in found.sentence
    assert f"{peak.value:.1f}" not in found.sentence


def test_the_law_finds_its_false_peak_at_the_kink_and_it_is_not_said():
    found = published(I7, RESULT)
    law = next(c for c in found.curves if c.model == "usl")
    assert law.peak and law.peak.value == pytest.approx(12.4, abs=0.1)
    assert "12.4" not in found.sentence and "beyond 6 cores" in found.sentence


def test_more_clients_than_cpus_are_called_oversubscription():
    found = scaling("A", [1, 2, 4, 8], [100.0, 190, 185, 180], Topology(2, 2), WORK)
    assert [p.oversubscribed for p in found.points] == [False, False, True, True]
    assert "From 4 clients on there are more of them than the 2 CPUs" in found.sentence
    unknown = scaling("A", [1, 2, 4, 8], [100.0, 190, 185, 180], Topology(), WORK)
    assert "oversubscription" not in unknown.sentence


def test_three_points_hold_no_curve():
    found = scaling("A", [1, 2, 4], [100.0, 190, 300], Topology(), WORK)
    assert not found.curves and "3 points are too few for a curve" in found.sentence
    with pytest.raises(ValueError, match="4 are needed"):
        Observed.of([1, 2, 4], [100, 190, 300])


def test_percent_linear_says_when_one_client_was_not_measured():
    found = scaling("A", [2, 4], [100.0, 150], Topology(), WORK)
    assert found.points[-1].linear == 0.75
    assert "of 2 clients: one alone was not measured" in found.sentence


@given(
    rate=st.floats(1, 1e6),
    sigma=st.floats(0, 0.5),
    kappa=st.floats(0, 0.05),
    relative=st.booleans(),
)
def test_what_the_law_made_the_fit_gives_back(rate: float, sigma: float, kappa: float, relative: bool):
    n = np.array([1, 2, 3, 4, 6, 8, 12, 16, 32, 64], dtype=float)
    x = rate * n / (1 + sigma * (n - 1) + kappa * n * (n - 1))
    found = fit(Usl(), Observed.of(n, x, relative=relative))
    assert found.at(n) == pytest.approx(x, rel=1e-3)


def test_the_fit_finds_the_minimum_that_scipy_finds():
    from scipy.optimize import least_squares

    chance = np.random.default_rng(3)
    n = np.arange(1.0, 13.0)
    for _ in range(20):
        x = 1000 * n / (1 + chance.uniform(0, 0.05) * (n - 1)) * np.exp(chance.normal(0, 0.05, 12))
        found = fit(Usl(), Observed.of(n, x))

        def residuals(p: np.ndarray, x: np.ndarray = x) -> np.ndarray:
            return np.log(x) - p[0] - Usl().log_capacity(n, p[1], p[2])[0]

        best = least_squares(residuals, [np.log(x[0]), 0.01, 1e-3], bounds=([-9, 0, 0], [99, 1, 9]))
        assert 9 * found.residual_sd**2 <= 2 * best.cost * 1.0001


def test_a_point_with_little_weight_pulls_little():
    n, x = [1, 2, 3, 4, 5, 6], [100.0, 200, 300, 400, 500, 300]
    even = fit(Usl(), Observed.of(n, x)).at([6])[0]
    light = fit(Usl(), Observed.of(n, x, [1, 1, 1, 1, 1, 1e-6])).at([6])[0]
    assert even < 450 and light == pytest.approx(600, rel=1e-3)


def test_a_study_over_several_points_is_judged_for_scaling():
    study = study_of({"f": ["A", "B"]}, clients=[1, 2, 4, 8, 16, 32])
    evidence = evidence_of(study, {"A": Truth(), "B": Truth(throughput_per_s=9000)}, block_noise=0)
    found = judge(evidence).scaling
    assert [s.option for s in found] == ["A", "B"]
    # the synthetic study grows in proportion
    assert all(p.linear == pytest.approx(1, abs=0.02) for s in found for p in s.points)
    assert found[0].curves[0].parameters["sigma"].low == 0


def test_an_open_loop_is_not_judged_for_scaling():
    study = study_of({"f": ["A", "B"]}, clients=[1, 2], rate_per_s=100.0)
    assert judge(evidence_of(study, {"A": Truth(), "B": Truth()})).scaling == ()


def test_where_more_clients_only_cost_the_peak_is_one_client():
    # sigma is 1, so that the law's own maximum, sqrt((1 - sigma) / kappa), lies at none
    clients = [1, 2, 4, 8, 16, 32]
    found = scaling("X", clients, [n / (n + 0.01 * n * (n - 1)) for n in clients], Topology(), WORK)
    peaks = [curve.peak for curve in found.curves if curve.peak]
    assert peaks and all(peak.value >= 1 and peak.low >= 1 for peak in peaks)
    assert "most throughput at 1 client [" in found.sentence


def test_percent_linear_has_an_interval_from_ratios_within_blocks():
    study = study_of({"f": "AB"}, clients=(1, 2, 4))
    truth = {"A": Truth(), "B": Truth()}
    # what a whole block shares does not widen the ratio
    evidence = evidence_of(study, truth, noise=0.01, block_noise=0.3)
    for one in scalings(evidence, compute_run_metrics(evidence)):
        fewest, *others = one.points
        assert fewest.linear_low == fewest.linear == fewest.linear_high == 1
        assert all(p.linear_low < p.linear < p.linear_high < 1.05 * p.linear for p in others)
    alone = evidence_of(study, truth, blocks=1)
    points = next(scalings(alone, compute_run_metrics(alone))).points
    assert all((p.linear_low, p.linear_high) == (0, math.inf) for p in points)
