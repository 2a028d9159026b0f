"""What scaling intervals promise: they hold the truth as often as they say, and say where they cannot."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray
from published import I7, T2, lookups_per_s
from scipy.optimize import least_squares
from scipy.stats import f as f_distribution

from evidence import Truth, evidence_of, study_of
from scaling_truth import RATE_PER_S
from steelyard.analysis.judge import judge
from steelyard.analysis.judgement.scaling import Scaling
from steelyard.analysis.load.scaling import scaling
from steelyard.analysis.statistics.profile_likelihood import parameter_intervals, peak_interval, serial
from steelyard.analysis.statistics.scaling_models import Observed, SharedCore, Usl, fit
from steelyard.bundle.evidence import Topology
from steelyard.cli.commands import cli
from steelyard.errors import InputError
from steelyard.study.load_study import parse_study
from steelyard.study.plan import options

WORK = study_of({"f": ["A"]}).workload

Array = NDArray[np.float64]
SERIES = [
    lookups_per_s(platform, access) for platform in (T2, I7) for access in ("buffer cache", "result cache")
]


@pytest.mark.parametrize("relative", [True, False])
@pytest.mark.parametrize("series", SERIES)
def test_an_interval_ends_where_the_best_other_fit_is_worse_by_f(
    series: tuple[list[int], list[float]], relative: bool
):
    n, x = (np.array(column, dtype=float) for column in series)
    found = fit(Usl(), Observed.of(n, x, relative=relative))
    limit = found.residual_sd**2 * (len(n) - 3 + f_distribution.ppf(0.95, 1, len(n) - 3))

    def least(curve: object, start: list[float], low: list[float], high: list[float]) -> float:
        def residuals(p: Array) -> Array:
            law = curve(p)  # type: ignore[operator]
            return np.log(x / law) if relative else x - law

        return 2 * least_squares(residuals, start, bounds=(low, high), x_scale=start, xtol=1e-14).cost

    def law(rate: float, sigma: float, kappa: float) -> Array:
        return rate * n / (1 + sigma * (n - 1) + kappa * n * (n - 1))

    rate = float(found.parameters[0])
    (_, sigmas, kappas), (_, peaks) = parameter_intervals(found), peak_interval(found)
    for end in sigmas:
        if end > 0:
            rss = least(lambda p, s=end: law(p[0], s, p[1]), [rate, 1e-3], [0, 0], [np.inf, 9])
            assert rss == pytest.approx(limit, rel=0.01)
    for end in kappas:
        if end > 0:
            rss = least(lambda p, k=end: law(p[0], p[1], k), [rate, 1e-2], [0, 0], [np.inf, 1])
            assert rss == pytest.approx(limit, rel=0.01)
    for end in peaks:
        if math.isfinite(end):
            rss = least(
                lambda p, peak=end: law(p[0], p[1], (1 - p[1]) / peak**2), [rate, 1e-2], [0, 0], [np.inf, 1]
            )
            assert rss == pytest.approx(limit, rel=0.01)


def test_four_points_have_no_interval():
    found = scaling("A", [1, 2, 4, 8], [100.0, 190, 350, 500], Topology(), WORK)
    for curve in (*found.curves, *found.absolute):
        assert curve.degrees_of_freedom == 1 and curve.serial is None and curve.peak
        for interval in (*curve.parameters.values(), curve.peak):
            assert math.isnan(interval.low) and math.isnan(interval.high)
    assert "No intervals: 4 points leave one degree of freedom, 5 points are needed" in found.sentence
    assert "[" not in found.sentence and "8 clients do not reach it, and it has no interval" in found.sentence


def test_what_scatters_between_runs_widens_the_rate_of_one_client_and_nothing_else():
    study = study_of({"f": ["A", "B"]}, clients=[1, 2, 4, 8, 16, 32])
    truth = {"A": Truth(throughput_per_s=RATE_PER_S)}
    steady, noisy = (
        judge(evidence_of(study, truth, noise=noise, block_noise=0, seed=3)).scaling[0].curves[0].parameters
        for noise in (0.0, 0.05)
    )
    assert steady["lambda"].high / steady["lambda"].low < 1.001
    assert 1.05 < noisy["lambda"].high / noisy["lambda"].low < 1.3
    assert noisy["lambda"].low < RATE_PER_S < noisy["lambda"].high
    assert noisy["sigma"].high < 1e-3


def reported(folder: Path, text: str, table: str) -> dict[str, Any]:
    """What `report --json` prints of a recording of the user's own."""
    (folder / "mine.csv").write_text(table)
    (folder / "mine.toml").write_text(text)
    bundle = str(folder / "mine.bundle")
    for arguments in (["import", str(folder / "mine.toml"), "-o", bundle], ["report", bundle, "--json"]):
        done = CliRunner().invoke(cli, arguments)
        assert done.exit_code == 0, done.output
    return json.loads(done.stdout)["judgement"]


MINE = """
name = "mine"
question = "How far does it scale?"
subject.kind = "recording"
factors.series = {scope = "server", levels = {A = "a"}}
plan = {clients = [1, 2, 4, 8], warm_up_s = 0, cool_down_s = 0, blocks = 1}
"""


def test_four_points_have_no_interval_in_the_report_either(tmp_path: Path):
    table = "clients,per_s\n1,100\n2,190\n4,350\n8,500\n"
    (found,) = reported(tmp_path, 'options.A.files = ["mine.csv"]', table)["scaling"]
    (curve,) = found["curves"]
    assert curve["degrees_of_freedom"] == 1
    assert all(known["low"] is None and known["high"] is None for known in curve["parameters"].values())
    assert "No intervals" in found["sentence"]
    page = (tmp_path / "mine.bundle" / "report.html").read_text()
    assert "Fitted models" in page and "[no interval]" in page


def test_published_absolute_fit_of_the_cisco_benchmark_is_reported(tmp_path: Path):
    bundle = str(tmp_path / "cisco.bundle")
    CliRunner().invoke(cli, ["import", "usl-cisco", "-o", bundle])
    shown = CliRunner().invoke(cli, ["report", bundle, "--json"])
    judgement = json.loads(shown.stdout)["judgement"]
    (found,) = judgement["scaling"]
    (absolute,), (relative,) = found["absolute"], found["curves"]
    values = {name: known["value"] for name, known in absolute["parameters"].items()}
    # B. Schwartz, Practical Scalability Analysis with the Universal Scalability Law
    assert values == pytest.approx({"lambda": 995.6486, "sigma": 0.02671591, "kappa": 7.690945e-4}, rel=1e-5)
    assert absolute["peak"]["value"] == pytest.approx(35.57, abs=0.01)
    assert relative["parameters"]["sigma"]["value"] == pytest.approx(0.02045, abs=5e-6)
    assert found["maximum"] == {"clients": 27, "throughput_per_s": pytest.approx(12211.41), "last": False}
    assert "absolute size at all points the model gives contention 2.67 % [" in found["sentence"]
    # independently: residuals of the log fit correlate at lag 1 by 0.83
    assert relative["serial"]["lag1"] == pytest.approx(0.83, abs=0.005)
    (notice,) = [n for n in judgement["notices"] if n["code"] == "scaling-residuals"]
    assert notice["subject"] == "CISCO" and "its intervals are too narrow" in notice["text"]
    page = (tmp_path / "cisco.bundle" / "report.html").read_text()
    assert "35.6 [32.4 to 40.5]" in page and "33.2 [31.0 to 36.0]" in page


def test_only_a_recording_may_have_a_single_option():
    assert len(options(parse_study(MINE, "one.toml"))) == 1
    with pytest.raises(InputError, match=r"one.toml:5: factors.series.levels: too few levels: 1"):
        parse_study(MINE.replace('"recording"', '"null"'), "one.toml")


CLIENTS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32]


def law_with(errors: Array) -> Scaling:
    n = np.array(CLIENTS, dtype=float)
    x = 1000 * n / (1 + 0.03 * (n - 1) + 0.001 * n * (n - 1)) * np.exp(errors)
    return scaling("A", CLIENTS, x.tolist(), Topology(), WORK)


def test_a_curve_that_misses_a_trend_is_named():
    wave = law_with(0.02 * np.sin(np.arange(10) * 1.2))
    assert wave.curves[0].serial and wave.curves[0].serial.trend
    assert "the model misses a trend in the data, and its intervals are too narrow" in wave.sentence
    jumping = law_with(0.02 * (-1.0) ** np.arange(10))
    assert jumping.curves[0].serial and not jumping.curves[0].serial.trend
    assert "trend" not in jumping.sentence


def test_independent_errors_are_no_trend():
    chance = np.random.default_rng(5)
    n = np.array([1.0, 2, 4, 8, 16])
    p_values = np.array(
        [
            found.p_value
            for _ in range(400)
            if (found := serial(fit(Usl(), Observed.of(n, 1000 * n * np.exp(chance.normal(0, 0.02, 5))))))
        ]
    )
    # two degrees of freedom and bounds that bite: still as often small as its size says
    for size in (0.01, 0.05, 0.2):
        assert (p_values <= size).mean() <= size + 3 * math.sqrt(size / 400)


def test_an_exact_fit_has_no_residuals_to_follow_one_another():
    found = law_with(np.zeros(10))
    assert found.curves[0].serial is None and "trend" not in found.sentence
    sigma = found.curves[0].parameters["sigma"]
    assert (sigma.low, sigma.high) == pytest.approx((0.03, 0.03), rel=1e-4)


def test_the_measured_maximum_stands_beside_the_models_peak():
    found = scaling("A", [1, 2, 4, 8, 16], [100.0, 180, 300, 340, 290], Topology(), WORK)
    assert (found.maximum.clients, found.maximum.throughput_per_s, found.maximum.last) == (8, 340, False)
    assert "The measured maximum is 340/s, at 8 clients." in found.sentence
    rising = scaling("A", [1, 2, 4, 8, 16], [100.0, 180, 300, 340, 390], Topology(), WORK)
    assert rising.maximum.last and "at 16 clients, the last point." in rising.sentence


@pytest.mark.filterwarnings("error")
def test_a_parameter_on_which_no_rate_depends_has_an_interval_and_warns_of_nothing():
    # all of the work is serial, so the share of a core counts for nothing; from a study of SQLite
    n = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 64.0])
    per_s = np.array([97301.0, 94525.0, 105333.0, 100268.0, 88141.0, 76841.0])
    found = fit(SharedCore(2, 64), Observed(n, per_s, np.ones(6), relative=False))
    ends = parameter_intervals(found)
    assert all(low <= high for low, high in ends)
    rate, serial_share, share_of_core = ends
    assert rate[0] < 94000 < rate[1] and serial_share[1] == 1 and share_of_core == (0, 1)
