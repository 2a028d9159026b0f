import math
from dataclasses import replace

import numpy as np
import pytest

from evidence import Gauge, Truth, changed, evidence_of, study_of, without_rows
from steelyard.analysis.judge import judge
from steelyard.analysis.judgement import Notice
from steelyard.analysis.metrics.run_metrics import compute_run_metrics
from steelyard.analysis.validity.gauges import gauge_findings
from steelyard.analysis.validity.harness import harness_notices
from steelyard.analysis.validity.stability import stability_notices, warm_up_left
from steelyard.bundle.evidence import Evidence
from steelyard.study.plan import options

MEMORY = ("processes", "server", "memory_bytes")
PRIVATE = ("processes", "server", "memory_private_bytes")
STUDY = study_of({"f": "AB"})
RUNS = 6


def of_b(truth: Truth, **more) -> Evidence:
    """A sound option A beside an option B with this truth."""
    return evidence_of(STUDY, {"A": Truth(), "B": truth}, blocks=RUNS, **more)


def steadiness(evidence: Evidence) -> list[Notice]:
    return stability_notices(evidence, compute_run_metrics(evidence))


def harness(evidence: Evidence) -> list[Notice]:
    return harness_notices(evidence, compute_run_metrics(evidence))


def test_sound_runs_raise_no_notice():
    for seed in range(4):
        assert judge(of_b(Truth(), seed=seed)).notices == ()


def test_a_leak_is_found_unaided_with_its_growth_a_transaction():
    leak = Truth(gauges={MEMORY: Gauge(1e8, 1e8 + 8196 * 1e5, cooled=1e8 + 8196 * 1e5, gone=1.1e8)})
    kept, fills = (f.notice for f in gauge_findings(of_b(leak, noise=0, block_noise=0)))
    assert (fills.code, fills.subject, len(fills.runs)) == ("gauge-fills", "B", RUNS)
    assert "server memory grew 8.00 KiB per transaction" in fills.text
    assert kept.code == "gauge-not-reclaimed"
    assert "kept 100 % of it in cool-down; disconnecting gave 98.8 % of it back" in kept.text


@pytest.mark.parametrize(
    ("gone", "words"),
    [(5e8, "did not give it back either"), (math.nan, "was not measured"), (1e8, "gave 100 % of it back")],
)
def test_what_disconnecting_does_is_said(gone: float, words: str):
    held = Truth(gauges={MEMORY: Gauge(1e8, 5e8, cooled=4.9e8, gone=gone)})
    assert words in gauge_findings(of_b(held))[0].notice.text


def test_memory_that_cool_down_gives_back_fills_but_is_reclaimed():
    breathing = Truth(gauges={MEMORY: Gauge(1e8, 5e8, cooled=1.2e8)})
    assert [f.notice.code for f in gauge_findings(of_b(breathing))] == ["gauge-fills"]


def test_memory_that_jumps_once_is_no_steady_growth():
    jump = Truth(gauges={MEMORY: Gauge(1e8, 5e8, cooled=1e8, mean=4.9e8)})
    assert gauge_findings(of_b(jump)) == []


def test_growth_too_small_to_matter_is_not_told():
    small = Truth(gauges={MEMORY: Gauge(1e9, 1.05e9, cooled=1.05e9)})
    assert gauge_findings(of_b(small)) == []


def test_private_memory_speaks_for_the_whole_and_shared_memory_is_left_alone():
    grown = Gauge(1e8, 5e8, cooled=5e8)
    shared = ("processes", "server", "memory_shared_bytes")
    texts = [
        f.notice.text
        for f in gauge_findings(of_b(Truth(gauges={MEMORY: grown, PRIVATE: grown, shared: grown})))
    ]
    assert len(texts) == 2
    assert all(text.startswith("server memory grew") for text in texts)


def test_tallies_states_and_the_labs_own_memory_fill_nothing():
    line = Gauge(0, 1e6, cooled=1e6)
    tallies = {
        ("postgres", "statements", "held_calls"): line,
        ("host", "host", "memory_cached_bytes"): Gauge(0, 1e9, cooled=1e9),
        ("processes", "monitors", "memory_bytes"): Gauge(0, 1e9, cooled=1e9),
    }
    assert gauge_findings(of_b(Truth(gauges=tallies))) == []


@pytest.mark.parametrize(("growth", "found"), [(32, 0), (33, 1)])
def test_what_each_client_holds_for_a_moment_is_no_finding(growth: int, found: int):
    study = study_of({"f": "AB"}, clients=(32,))
    held = Truth(
        throughput_per_s=100,
        gauges={("mariadb", "statements", "prepared"): Gauge(0, growth, cooled=growth, mean=1)},
    )
    assert len(gauge_findings(evidence_of(study, {"A": Truth(), "B": held}))) == found


def test_memory_that_grows_with_the_number_of_clients_is_no_finding():
    study = study_of({"f": "AB"}, clients=(1, 8))
    grown = Truth(gauges={MEMORY: Gauge(1e8, 5e8, cooled=5e8)})
    assert gauge_findings(evidence_of(study, {"A": grown, "B": grown})) == []


def test_a_cache_at_99_percent_of_its_limit_is_full():
    full = Truth(gauges={("postgres", "statements", "entries"): Gauge(95, 96, highest=99, limit=100)})
    (notice,) = [f.notice for f in gauge_findings(of_b(full))]
    assert (notice.code, notice.subject) == ("gauge-full", "B")
    assert "99.0 % of its limit of 100" in notice.text


def test_a_cache_that_throws_out_what_it_needs_thrashes():
    (notice,) = harness(of_b(Truth(counters={("postgres", "statements", "entries_evicted_total"): 900.0})))
    assert notice.code == "cache-thrash"
    assert "entries are evicted" in notice.text
    assert notice.detail.endswith("per 100 transactions")


def test_a_monitor_that_falls_silent_while_work_goes_on_is_named():
    found = harness(of_b(Truth(), silent_after_s={"host": 4.5}))
    assert {n.code for n in found} == {"monitor-silent"}
    assert all("monitor host fell silent before" in n.text for n in found)
    assert {n.detail for n in found} == {"for 4.50 s"}


def test_a_monitor_that_stops_with_the_work_is_not_silent():
    evidence = of_b(Truth(), silent_after_s={"host": 4.5})
    stopped = changed(
        evidence, seconds=without_rows(evidence.view("seconds"), evidence.view("seconds")["second"] < 5)
    )
    assert harness(stopped) == []


def test_an_engine_at_its_limit_is_told_with_the_share():
    (notice,) = harness(of_b(Truth(engine_us=95), noise=0, block_noise=0))
    assert notice.code == "engine-saturated"
    assert "nearly all CPU that it may use" in notice.text
    assert notice.detail == "95.0 %"


@pytest.mark.parametrize("more", [{"threads": 2}, {"driver": "org.postgresql:postgresql:42.7.4"}])
def test_more_threads_of_the_engine_raise_its_limit(more: dict[str, object]):
    study = STUDY.model_copy(update={"workload": STUDY.workload.model_copy(update=more)})
    evidence = of_b(Truth(engine_us=95), noise=0, block_noise=0)
    assert harness(replace(evidence, study=study, options=tuple(options(study)))) == []


@pytest.mark.parametrize(
    ("host", "engine_us", "found"),
    [
        ({"engine.cpu_quota": 0.1}, 9.0, True),
        ({"engine.cpu_quota": 0.2}, 9.0, False),
        ({"engine.cpus": "0"}, 95.0, True),
        ({"engine.cpus": "0-1"}, 95.0, False),
    ],
)
def test_the_limit_of_the_engine_is_what_it_may_use(
    host: dict[str, str | float], engine_us: float, found: bool
):
    study = STUDY.model_copy(
        update={"workload": STUDY.workload.model_copy(update={"threads": 2}), "host": host}
    )
    truth = {label: Truth(engine_us=engine_us) for label in "AB"}
    judgement = judge(evidence_of(study, truth, blocks=RUNS, noise=0.001))
    assert ("engine-saturated" in {notice.code for notice in judgement.notices}) == found


def test_an_engine_at_its_limit_names_no_winner_by_throughput():
    truth = {"A": Truth(engine_us=9.0), "B": Truth(engine_us=7.5, throughput_per_s=12_000.0)}
    for quota, winner in ((0.1, ""), (1.0, "B")):
        study = STUDY.model_copy(update={"host": {"engine.cpu_quota": quota}})
        judgement = judge(evidence_of(study, truth, blocks=RUNS))
        verdict = judgement.verdict
        outcomes = {c.outcome for c in judgement.comparisons if c.metric == "throughput_per_s"}
        assert outcomes == ({"different"} if quota < 1 else {"better"})
        assert (verdict.winner or "") == winner
        assert verdict.reasons[0].startswith("The load engine was at its limit") == (quota < 1)
        assert ("throughput" in verdict.headline) == (quota == 1)


def test_steal_above_2_percent_is_told():
    (notice,) = harness(of_b(Truth(steal_share=0.05)))
    assert (notice.code, notice.subject) == ("steal", "B")
    assert notice.detail == "5.00 %"


def test_throughput_that_falls_within_runs_is_told():
    (notice,) = steadiness(of_b(Truth(trend=-0.2)))
    assert (notice.code, notice.subject) == ("drift-within-runs", "B")
    assert "throughput falls" in notice.text
    assert notice.detail.startswith("by 18.2 %")


def test_a_last_second_cut_short_is_no_drift():
    evidence = of_b(Truth())
    last = evidence.view("seconds")["second"] == 9
    cut = {**evidence.view("seconds"), "count": np.where(last, 0.4, 1.0) * evidence.view("seconds")["count"]}
    points = {**evidence.view("points"), "seconds": np.full(len(evidence.view("points")["run"]), 9.4)}
    assert steadiness(changed(evidence, seconds=cut, points=points)) == []


def test_drift_over_the_study_is_told_with_its_size():
    (notice,) = steadiness(of_b(Truth(), drift_per_run=0.01, block_noise=0))
    assert (notice.code, notice.subject) == ("drift-over-study", "")
    assert "rose by" in notice.text and notice.text.endswith("out of the comparisons")


def test_with_one_option_a_drift_over_the_study_mentions_no_comparisons():
    both = of_b(Truth(), drift_per_run=0.01, block_noise=0)
    (notice,) = steadiness(replace(both, options=both.options[:1]))
    assert "rose by" in notice.text and "comparisons" not in notice.text


def drifts_over(evidence: Evidence) -> bool:
    return any(notice.code == "drift-over-study" for notice in steadiness(evidence))


def test_a_trend_of_ten_per_cent_over_the_study_is_noticed():
    four = study_of({"f": "ABCD"})
    truth = {label: Truth() for label in "ABCD"}
    falling = {"blocks": 8, "block_noise": 0.005, "drift_per_run": math.log(0.9) / 31}
    noticed = sum(drifts_over(evidence_of(four, truth, seed=seed, **falling)) for seed in range(20))
    assert noticed == 20


def test_too_few_blocks_are_no_evidence_of_drift_over_the_study():
    rising = {"drift_per_run": 0.03, "block_noise": 0.0}
    truth = {"A": Truth(), "B": Truth()}
    assert not drifts_over(evidence_of(STUDY, truth, blocks=4, **rising))
    assert drifts_over(evidence_of(STUDY, truth, blocks=5, **rising))


def test_a_run_far_from_its_option_is_an_outlier():
    evidence = of_b(Truth(), block_noise=0.005, factor=lambda b, o: 0.7 if (b, o) == (3, "B") else 1.0)
    (notice,) = steadiness(evidence)
    assert (notice.code, notice.subject, len(notice.runs)) == ("outlier", "B", 1)
    assert notice.detail.startswith(("−2", "−3"))


def test_errors_are_told_with_their_share():
    (notice,) = steadiness(of_b(Truth(error_share=0.012)))
    assert notice.code == "errors"
    assert notice.detail == "1.20 %"
    assert notice.text == "transactions failed: throughput, costs and latencies are of those that succeeded"


def test_mser_finds_the_seconds_of_warm_up_that_are_left():
    chance = np.random.default_rng(1)
    seconds = np.arange(60)
    counts = 1000 * (1 - 0.3 * np.exp(-seconds / 8)) + chance.normal(0, 5, 60)
    assert 10 <= warm_up_left(counts) <= 30
    assert warm_up_left(1000 + chance.normal(0, 5, 60)) <= 10
    assert warm_up_left(counts[:20]) == 0


def test_what_the_lab_wrote_is_passed_on_once_with_its_runs():
    text = "nothing to read"
    evidence = of_b(Truth(), notices=[(1, "monitor-unavailable", text), (2, "monitor-unavailable", text)])
    (notice,) = judge(evidence).notices
    runs = len(evidence.view("runs")["run"])
    assert notice == Notice("monitor-unavailable", text, "", (1, 2), f"2 of {runs} runs")
    everywhere = [(run, "monitor-unavailable", text) for run in evidence.view("runs")["run"].tolist()]
    (notice,) = judge(of_b(Truth(), notices=everywhere)).notices
    assert (notice.subject, notice.detail) == ("", "")


def test_a_notice_of_some_runs_of_one_option_names_it_and_them():
    runs = of_b(Truth()).view("runs")
    ours = [run for run, option in zip(runs["run"].tolist(), runs["option"], strict=True) if option == "B"]
    (notice,) = judge(of_b(Truth(), notices=[(ours[1], "probe-lost", "lost")])).notices
    assert (notice.subject, notice.detail) == ("B", f"run {ours[1]}")
    (notice,) = judge(of_b(Truth(), notices=[(run, "probe-lost", "lost") for run in ours])).notices
    assert (notice.subject, notice.detail) == ("B", "")
