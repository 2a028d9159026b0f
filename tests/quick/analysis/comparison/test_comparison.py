import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evidence import Truth, evidence_of, measures_of, study_of
from steelyard.analysis.bundles import compare_bundles
from steelyard.analysis.comparison.compare import PairTests
from steelyard.analysis.judgement import Metric
from steelyard.analysis.metrics.measured import SERVER_CPU
from steelyard.analysis.metrics.run_metrics import THROUGHPUT, compute_run_metrics

MARGIN = 0.03


def two(a: list[float], b: list[float], metric: Metric = THROUGHPUT, margin: float = MARGIN):
    (found,) = PairTests(measures_of({"A": a, "B": b}, metric), metric, "AB", margin).against("A")
    return found


def test_two_options_are_the_paired_t_test_on_log_ratios():
    a, b = [100.0, 103, 98, 107, 101], [110.0, 112, 111, 113, 109]
    found = two(a, b)
    test = stats.ttest_rel(np.log(b), np.log(a))
    interval = test.confidence_interval()
    assert found.p_value == pytest.approx(test.pvalue)
    assert (found.low, found.high) == pytest.approx((math.exp(interval.low), math.exp(interval.high)))
    assert found.ratio == pytest.approx(stats.gmean(b) / stats.gmean(a))
    assert (found.blocks, found.outcome) == (5, "better")


def test_more_options_are_least_squares_with_blocks():
    chance = np.random.default_rng(4)
    y = chance.normal(0, 0.02, (6, 4)) + chance.normal(0, 0.05, (6, 1)) + np.array([0, 0.1, 0, -0.02])
    table = {name: np.exp(y[:, i]).tolist() for i, name in enumerate("ABCD")}
    found = PairTests(measures_of(table), THROUGHPUT, "ABCD", MARGIN).against("A")
    rows = [(b, o) for b in range(6) for o in range(4)]
    x = np.array([[b == i for i in range(6)] + [o == j for j in (1, 2, 3)] for b, o in rows], float)
    solved, *_ = np.linalg.lstsq(x, y.ravel())
    assert [math.log(c.ratio) for c in found] == pytest.approx(solved[6:].tolist())
    assert all((c.p_value < 0.05) == (c.low > 1 or c.high < 1) for c in found)


def test_an_option_s_noise_widens_its_own_interval_and_hardly_those_of_the_quiet():
    chance = np.random.default_rng(6)
    y = chance.normal(0, 0.01, (8, 4)) + chance.normal(0, 0.05, (8, 1))

    def widths(noise: float) -> list[float]:
        noisy = y.copy()
        noisy[:, 3] += chance.normal(0, noise, 8)
        table = {name: np.exp(noisy[:, i]).tolist() for i, name in enumerate("ABCD")}
        found = PairTests(measures_of(table), THROUGHPUT, "ABCD", MARGIN).against("A")
        return [math.log(c.high / c.low) for c in found]

    quiet, loud = widths(0.0), widths(0.2)
    assert loud[2] > 5 * quiet[2]
    assert max(loud[:2]) < 2 * max(quiet[:2])


def test_one_noisy_option_of_four_errs_in_one_study_of_20():
    chance = np.random.default_rng(7)
    wrong = 0
    for _ in range(300):
        y = chance.normal(0, 0.01, (6, 4)) * [1, 1, 1, 5] + chance.normal(0, 0.03, (6, 1))
        table = {name: np.exp(y[:, i]).tolist() for i, name in enumerate("ABCD")}
        found = PairTests(measures_of(table), THROUGHPUT, "ABCD", MARGIN).against("A")
        wrong += any(c.low > 1 or c.high < 1 for c in found)
    # a pooled variance errs in 11 % of them
    assert wrong / 300 <= 0.08


def test_a_difference_proven_but_smaller_than_the_margin_is_equivalent():
    found = two([100.0, 100.1, 99.9, 100, 100.05], [101.0, 101.1, 100.9, 101.02, 101.0])
    assert found.low > 1
    assert found.outcome == "equivalent"


def test_a_difference_too_small_to_matter_is_shown_only_at_a_fifth_of_the_level():
    # one option with rare pauses beside a steady one: its runs without a pause are fast and alike
    by_chance, proven = [101.2, 100.2, 101.6, 100.1, 101.3, 101.0], [101.2, 100.9, 101.3, 100.8, 101.3, 100.4]
    for runs, shown in ((by_chance, False), (proven, True)):
        found, plain = two([100.0] * 6, runs), stats.ttest_1samp(np.log(runs) - math.log(100), 0).pvalue
        assert found.outcome == "equivalent"
        assert plain < 0.02
        assert found.p_value == pytest.approx(5 * plain)
        assert (found.low > 1) == shown == (found.p_value <= 0.05)
    # where it does matter, it is shown at the level itself
    assert two([100.0] * 6, by_chance, margin=0.005).low > 1


def test_a_difference_proven_that_may_be_smaller_than_the_margin_says_so():
    found = two([100.0, 101, 99, 100, 100], [104.0, 104, 104.5, 103, 105])
    assert found.outcome == "better"
    (warning,) = found.notices
    assert warning.code == "may-be-small"
    assert "3 %" in warning.text


def test_less_cpu_is_better_and_less_of_a_neutral_metric_is_only_different():
    less = ([50.0, 51, 50.5, 49, 50], [30.0, 31, 30.5, 29, 30])
    assert two(*less, SERVER_CPU).outcome == "better"
    assert two(*less, Metric("x", "x", "1", "neither")).outcome == "different"


def test_fewer_than_5_blocks_are_said_to_be_few():
    (warning,) = two([100.0, 101, 99], [100.0, 102, 99.5]).notices
    assert warning.code == "few-blocks"
    assert "3 complete blocks" in warning.text


def test_one_block_proves_nothing():
    found = two([100.0], [900.0])
    assert (found.low, found.high) == (0, math.inf) and math.isnan(found.p_value)
    assert (found.outcome, found.standing) == ("inconclusive", "not tested")


def test_a_block_with_a_missing_run_drops_out_and_is_named():
    found = two([100.0, 101, 99, 100, 102, 100], [110.0, math.nan, 112, 111, 110, 109])
    assert found.blocks == 5
    assert any("block 2 left out" in w.text for w in found.notices)


def test_an_option_that_never_ran_is_said_and_does_not_take_the_others_with_it():
    table = {"A": [1.0, 1.1, 1.2], "B": [2.0, 2.1, 2.3], "C": [math.nan] * 3}
    tests = PairTests(measures_of(table), THROUGHPUT, "ABC", MARGIN)
    assert [c.option for c in tests.against("A")] == ["B"]
    missing = [(n.code, n.subject, n.detail) for n in tests.not_compared("A")]
    assert missing == [("not-compared", "C", "throughput")]


def test_of_a_block_that_was_redone_the_last_attempt_counts():
    run_metrics = measures_of({"A": [1.0, 1.0, 1.0], "B": [9.0, 2.0, 2.0]})
    again = replace(run_metrics, block=np.array([1, 1, 2, 2, 1, 1]))
    (found,) = PairTests(again, THROUGHPUT, "AB", MARGIN).against("A")
    assert found.ratio == pytest.approx(2.0)
    assert found.blocks == 2


def test_a_difference_in_its_unit_scatters_as_its_options_do():
    # B needs next to nothing, exactly: what A scatters by is all that is uncertain (paired t)
    a, b = [838.0, 949, 900, 870, 910, 905], [0.02, 0.0201, 0.0199, 0.02, 0.02, 0.02]
    tests = PairTests(measures_of({"A": a, "B": b}), THROUGHPUT, "AB", MARGIN)
    found = tests.differences({("B", "A"): 0.05})["B", "A"]
    half = stats.t.ppf(0.975, 5) * np.std(a, ddof=1) / math.sqrt(6)
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=1e-3)
    assert found.low < found.after - found.before < found.high < 0


def test_zeros_are_compared_by_differences_with_a_warning():
    found = two([10.0, 12, 11, 10, 12], [0.0, 0, 1, 0, 0], SERVER_CPU)
    assert found.ratio == pytest.approx(1 / 55)
    assert found.outcome == "better"
    assert any(w.code == "zeros" and "in 4 runs" in w.text for w in found.notices)


def test_a_baseline_of_zero_gives_no_ratio_and_says_so():
    tests = PairTests(measures_of({"A": [0.0] * 5, "B": [1.0] * 5}), THROUGHPUT, "AB", MARGIN)
    assert tests.against("A") == ()
    assert "0 in the baseline" in tests.not_compared("A")[0].text
    written = Metric("wal_bytes_per_txn", "WAL", "B/txn", "lower")
    run_metrics = measures_of({"A": [0.0] * 5, "B": [1.0] * 5}, written)
    assert PairTests(run_metrics, written, "AB", MARGIN).not_compared("A") == ()


def test_a_metric_that_is_zero_everywhere_needs_no_remark():
    tests = PairTests(measures_of({"A": [0.0] * 5, "B": [0.0] * 5}), THROUGHPUT, "AB", MARGIN)
    assert tests.against("A") == tests.not_compared("A") == ()


def test_drift_within_blocks_is_quoted():
    table = {name: [math.exp(0.02 * (3 * b + i)) for b in range(8)] for i, name in enumerate("ABC")}
    rotated = measures_of(table)
    # options change places from block to block, so that order and option can be told apart
    order = np.concatenate([np.roll(np.arange(3), b) + 3 * b for b in range(8)])
    drifting = replace(rotated, run=order + 1, values={THROUGHPUT.name: np.exp(0.02 * order)})
    found = PairTests(drifting, THROUGHPUT, "ABC", MARGIN).against("A")
    assert any(w.code == "drift" and "+2 %" in w.text for w in found[0].notices)


def test_options_that_scatter_unequally_are_named():
    chance = np.random.default_rng(2)
    table = {
        name: np.exp(chance.normal(0, sd, 10)).tolist()
        for name, sd in zip("ABCD", (0.002, 0.002, 0.002, 0.08), strict=True)
    }
    found = PairTests(measures_of(table), THROUGHPUT, "ABCD", MARGIN).against("A")
    (text,) = {w.text for w in found[0].notices if w.code == "unequal-variances"}
    assert "without what all runs of a block share" in text and "under D" in text


def test_errors_travel_with_the_comparison():
    study = study_of({"f": "AB"})
    run_metrics = compute_run_metrics(evidence_of(study, {"A": Truth(), "B": Truth(error_share=0.02)}))
    (found,) = PairTests(run_metrics, THROUGHPUT, "AB", MARGIN).against("A")
    assert [w.subject for w in found.notices if w.code == "errors"] == ["B"]


def test_all_points_together_is_the_mean_log_ratio_over_points():
    study = study_of({"f": "AB"}, clients=(1, 8))
    run_metrics = compute_run_metrics(evidence_of(study, {"A": Truth(), "B": Truth(throughput_per_s=12_000)}))
    each = [PairTests(run_metrics, THROUGHPUT, "AB", MARGIN, point).against("A")[0] for point in (None, 0, 1)]
    assert [c.clients for c in each] == [None, 1, 8]
    assert each[0].ratio == pytest.approx(math.sqrt(each[1].ratio * each[2].ratio))


def test_looking_at_p_after_every_block_errs_in_a_sixth_of_studies_unless_alpha_is_lower():
    # why a study stops on the width of its intervals, never on p
    chance = np.random.default_rng(3)
    d = chance.normal(0, 1, (4000, 10))
    p = np.stack([stats.ttest_1samp(d[:, :n], 0, axis=1).pvalue for n in range(3, 11)])
    assert (p.min(axis=0) < 0.05).mean() == pytest.approx(0.166, abs=0.02)
    assert (p.min(axis=0) < 0.012).mean() == pytest.approx(0.05, abs=0.015)


values = st.lists(st.floats(1e-3, 1e6), min_size=3, max_size=8)


@settings(max_examples=60, deadline=None)
@given(values, st.data())
def test_relabelling_the_options_inverts_the_ratio(a: list[float], data: st.DataObject):
    b = data.draw(st.lists(st.floats(1e-3, 1e6), min_size=len(a), max_size=len(a)))
    one, other = two(a, b), two(b, a)
    assert one.ratio == pytest.approx(1 / other.ratio)
    assert one.low == pytest.approx(1 / other.high if math.isfinite(other.high) else 0)
    assert one.p_value == pytest.approx(other.p_value)
    opposite = {"better": "worse", "worse": "better"}
    assert one.outcome == opposite.get(other.outcome, other.outcome)


@settings(max_examples=60, deadline=None)
@given(values, st.floats(1e-2, 1e3), st.randoms())
def test_multiplying_everything_by_a_constant_changes_nothing(a: list[float], by: float, order):
    b = sorted(a, key=lambda _: order.random())
    one, other = two(a, b), two([x * by for x in a], [x * by for x in b])
    assert (one.ratio, one.low) == pytest.approx((other.ratio, other.low), rel=1e-6)
    assert one.p_value == pytest.approx(other.p_value, abs=1e-6)


def test_bundles_that_were_not_measured_alike_are_compared_with_a_remark():
    plain, probed = study_of({"f": "AB"}), study_of({"f": "AB"}, probes={"locks": True})
    fewer = probed.model_copy(update={"plan": probed.plan.model_copy(update={"blocks": 2})})
    here, there = (
        (name, evidence_of(study, {"A": Truth(), "B": Truth()}, blocks=2), {})
        for name, study in (("here", plain), ("there", fewer))
    )
    told = {notice.code: notice.text for notice in compare_bundles(here, [there])[0].notices}
    assert told["probes-differ"] == "probes.locks: False here, True there"
    assert told["blocks-differ"].startswith("plan.blocks: ")
    assert {notice.code for notice in compare_bundles(here, [here])[0].notices} == {"not-interleaved"}
