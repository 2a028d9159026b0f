from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from latch_formula import predict
from published import I7, T2, latch, lookups_per_s

from evidence import Truth, changed, evidence_of, study_of
from steelyard.analysis.judge import judge
from steelyard.analysis.judgement import Notice
from steelyard.analysis.latches.model import Holds, Network, Prediction
from steelyard.analysis.latches.simulation import simulate
from steelyard.analysis.latches.table import effective_hold_ns, latches
from steelyard.analysis.metrics.run_metrics import compute_run_metrics
from steelyard.bundle.evidence import Columns, Evidence, Topology
from steelyard.study.plan import options
from steelyard.study.workloads.lookups import CacheWorkload
from steelyard.study.workloads.workload import Workload

CLIENTS = [1, 2, 4, 8]


def columns(table: Mapping[str, Sequence[Any]]) -> Columns:
    return {
        name: np.asarray(values, dtype=object if name == "latch" else None) for name, values in table.items()
    }


def with_latches(counters: Mapping[str, Sequence[float]], truth: Truth | None = None) -> Evidence:
    """One run of A, one of B, at 1, 2, 4, 8 clients; A has a latch with these counters by point."""
    study = study_of({"f": ["A", "B"]}, clients=CLIENTS)
    evidence = evidence_of(
        study, {"A": truth or Truth(), "B": Truth()}, blocks=1, noise=0, block_noise=0, seed=2
    )
    (run,) = (
        r
        for r, o in zip(evidence.view("runs")["run"], evidence.view("runs")["option"], strict=True)
        if o == "A"
    )
    unknown = [np.nan] * 4
    table = {
        name: counters.get(name, unknown)
        for name in ("gets", "misses", "spin_gets", "sleeps", "wait_ns", "get_ns", "hand_overs")
    } | {"children": [1] * 4, "spin": [100] * 4}
    return changed(
        evidence,
        latches=columns({"run": [run] * 4, "point": [0, 1, 2, 3], "latch": ["RC"] * 4, **table}),
    )


@pytest.mark.parametrize(
    ("platform", "micros"),
    [
        (I7, [0.46, 0.47, 0.41, 0.46, 0.42, 0.54, 0.69, 0.83, 1.00, 1.06, 1.07]),
        (T2, [4.4, 1.8, 3.0, 2.3, 3.2, 4.3, 4.9, 5.7, 5.8, 5.4, 5.4]),
    ],
)
def test_effective_hold_times_of_the_published_study(platform: str, micros: list[float]):
    misses, gets = latch(platform, "misses"), latch(platform, "gets")
    x = lookups_per_s(platform, "result cache")[1]
    found = [effective_hold_ns(misses[i] / gets[i], 2 * x[i - 1]) / 1e3 for i in range(1, 12)]
    assert found == pytest.approx(micros, abs=0.01 if platform == I7 else 0.06)


def test_ratios_of_the_latch_table():
    found = latches(
        with_latches(
            {
                "gets": [200_000, 400_000, 800_000, 1_600_000],
                "misses": [0, 4_000, 80_000, 800_000],
                "spin_gets": [0, 4_000, 79_000, 700_000],
                "sleeps": [0, 0, 1_000, 120_000],
                "wait_ns": [0, 0, 5_000_000, 600_000_000],
            }
        )
    )
    last = found.rows[-1]
    assert (last.option, last.latch, last.clients) == ("A", "RC", 8)
    assert (last.misses_per_get, last.sleeps_per_miss) == (0.5, 0.15)
    assert (last.spin_efficiency, last.wait_per_sleep_ns) == (0.875, 5000)
    # 100,000 transactions a point and client
    assert last.gets_per_txn == pytest.approx(2, rel=1e-3)
    assert found.notices == ()


def test_what_is_not_available_is_never_zero():
    (_, _, _, last) = latches(with_latches({"sleeps": [0, 1, 2, 3], "wait_ns": [0, 10, 20, 30]})).rows
    assert (last.sleeps, last.wait_per_sleep_ns) == (3, 10)
    assert (last.gets, last.misses, last.misses_per_get, last.gets_per_txn, last.hold_ns) == (None,) * 5
    assert (last.sleeps_per_miss, last.spin_efficiency) == (None, None)


def test_a_latch_that_nobody_slept_for_in_one_run_is_spread_over_the_transactions_of_both():
    study = study_of({"f": ["A", "B"]}, clients=[8])
    evidence = evidence_of(study, {"A": Truth()}, blocks=2, noise=0, block_noise=0, seed=2)
    one, other = evidence.view("runs")["run"].tolist()
    unknown = dict.fromkeys(("gets", "misses", "spin_gets", "get_ns", "hand_overs", "spin"), [np.nan] * 3)
    table = {
        "run": [one, one, other],
        "point": [0] * 3,
        "latch": ["WALWrite", "other latches", "other latches"],
        "sleeps": [100_000.0, 0.0, 0.0],
        "wait_ns": [1e9, 0.0, 0.0],
        "children": [1] * 3,
        **unknown,
    }
    watched = changed(evidence, latches=columns(table))
    _, row = sorted(latches(watched).rows, key=lambda row: row.sleeps or 0)
    # 100,000 transactions in each of the two runs
    assert (row.latch, row.sleeps_only) == ("WALWrite", True)
    assert row.sleeps_per_txn == pytest.approx(0.5)
    assert row.wait_ns_per_txn == pytest.approx(5000)
    values = compute_run_metrics(watched).values
    assert sorted(values["latch_sleeps_per_txn"]) == pytest.approx([0, 1])
    assert sorted(values["latch_wait_us_per_txn"]) == pytest.approx([0, 10])


def test_gets_that_were_counted_apart_are_spread_over_the_transactions_of_the_runs_that_counted():
    evidence = with_latches({"sleeps": [0, 1, 2, 3], "wait_ns": [0, 10, 20, 30]})
    run = evidence.view("latches")["run"][0]
    told = {"run": [run, run], "point": [0, 3], "latch": ["RC", "RC"], "gets_per_txn": [3.0, 5.0]}
    rows = latches(changed(evidence, latch_gets=columns(told))).rows
    assert [row.gets_per_txn for row in rows] == [3.0, None, None, 5.0]
    assert [row.gets for row in rows] == [None] * 4
    (last,) = (row for row in rows if row.clients == 8)
    assert last.sleeps_per_get == pytest.approx((last.sleeps_per_txn or 0) / 5)


def test_a_run_that_did_not_count_takes_nothing_from_those_that_did():
    study = study_of({"f": ["A", "B"]}, clients=[8])
    evidence = evidence_of(study, {"A": Truth()}, blocks=2, noise=0, block_noise=0, seed=2)
    one, other = evidence.view("runs")["run"].tolist()
    unknown = dict.fromkeys(("gets", "misses", "spin_gets", "get_ns", "hand_overs", "spin"), [np.nan] * 2)
    slept = {"sleeps": [0.0, 0.0], "wait_ns": [0.0, 0.0], "children": [1, 1], **unknown}
    table = {"run": [one, other], "point": [0, 0], "latch": ["ProcArray"] * 2, **slept}
    told = {"run": [one, one], "point": [0, 0], "latch": ["ProcArray", "gone"], "gets_per_txn": [2.0, 1.0]}
    (row,) = latches(changed(evidence, latches=columns(table), latch_gets=columns(told))).rows
    assert row.gets_per_txn == pytest.approx(2)


def test_exact_sleeps_for_latches_stand_in_place_of_the_sampled_ones():
    waits = {
        ("postgres-waits", entity, metric): rate
        for entity, metric, rate in (
            ("LWLock:WALWrite", "samples_total", 5.0),
            ("IO:WALSync", "samples_total", 5.0),
            ("sessions", "readings_total", 10.0),
        )
    }
    made = with_latches({"sleeps": [0, 1, 2, 3], "wait_ns": [0, 10, 20, 30]}, Truth(counters=waits))
    seen = compute_run_metrics(made).values
    assert "wait_io_us_per_txn" in seen and "wait_lwlock_us_per_txn" not in seen
    hidden = changed(made, latches={name: column[:0] for name, column in made.view("latches").items()})
    assert "wait_lwlock_us_per_txn" in compute_run_metrics(hidden).values


def test_the_time_of_gets_is_not_taken_for_time_asleep():
    (_, _, _, last) = latches(with_latches({"gets": [9] * 4, "get_ns": [100] * 4})).rows
    assert (last.get_ns, last.wait_ns, last.wait_per_sleep_ns) == (100, None, None)


def test_spin_efficiency_without_a_count_of_spins_is_its_lower_bound():
    rows = latches(with_latches({"gets": [9] * 4, "misses": [4] * 4, "sleeps": [1] * 4})).rows
    assert rows[0].spin_efficiency == 0.75


@pytest.mark.parametrize(
    ("counters", "what"),
    [
        ({"gets": [5] * 4, "misses": [1, 1, 6, 7]}, "more misses than gets (number of clients: 4 and 8)"),
        ({"misses": [5] * 4, "spin_gets": [6, 0, 0, 0]}, "more spin gets than misses"),
        ({"misses": [5] * 4, "spin_gets": [1] * 4, "sleeps": [1] * 4}, "neither spun nor slept"),
    ],
)
def test_counters_that_cannot_be_are_named(counters: dict[str, list[float]], what: str):
    (notice,) = latches(with_latches(counters)).notices
    assert notice.code == "latch-counters-contradict" and what in notice.text and notice.subject == "A"


def watched(truth: Sequence[Prediction], workload: Workload | None = None, **calibration: Any) -> Evidence:
    """The evidence of one latch whose counters are these predictions, holds of 100 and 500 ns, 16 CPUs."""
    made = with_latches(
        {
            "gets": [t.gets_per_s * 10 for t in truth],
            "misses": [t.gets_per_s * 10 * t.misses_per_get for t in truth],
        }
    )
    run = made.view("latches")["run"][0]
    study = made.study if workload is None else made.study.model_copy(update={"workload": workload})
    return changed(
        made,
        study=study,
        options=tuple(options(study)),
        holds=columns(
            {
                "run": [run] * 4,
                "point": [0, 1, 2, 3],
                "latch": ["RC"] * 4,
                "ns": [[100.0, 500.0]] * 4,
                "share": [[0.5, 0.5]] * 4,
            }
        ),
        topology=Topology(16, 16),
        calibration={"spin_turn_ns": 2.0, "wake_up_ns": 0.0, **calibration},
    )


HOLDS = Holds.of([100.0, 500.0], [0.5, 0.5])


def test_predicted_stands_beside_measured_with_what_other_settings_would_do():
    """Truth made by the model itself: prediction and measurement agree, from the hold times alone."""
    truth = [predict(Network(HOLDS, 700.0), n) for n in CLIENTS]
    found = judge(watched(truth))
    for row, expected in zip(found.latches, truth, strict=True):
        assert row.hold_is_measured and row.hold_ns == 300
        assert row.predicted_misses_per_get == pytest.approx(expected.misses_per_get, abs=0.015)
        assert row.predicted_gets_per_s == pytest.approx(row.gets_per_s, rel=0.03)
        assert row.clients == 1 or (row.predicted_gets_per_s_half or 0) > 0
    changes = {w.change: w for w in found.what_if}
    assert changes["8 children"].misses_per_get < changes["as measured"].misses_per_get / 3
    assert changes["twice the spin budget"].sleeps_per_miss < changes["as measured"].sleeps_per_miss


def test_what_is_predicted_is_the_loop_that_was_run():
    """Two gets a lookup with a constant think time, which the workload tells, not the counters."""
    workload = CacheWorkload(kind="cache", gets_per_lookup=2, think_ns=1000)
    run = Network(HOLDS, 1040.0, spin_ns=200.0, gets_per_lookup=2, between_ns=40, think_is_constant=True)
    truth = [simulate(run, n, seed=3) for n in CLIENTS]
    for row, expected in zip(latches(watched(truth, workload)).rows, truth, strict=True):
        assert row.predicted_gets_per_s == pytest.approx(expected.gets_per_s, rel=0.03)
        assert row.predicted_misses_per_get == pytest.approx(expected.misses_per_get, abs=0.02)
        assert row.predicted_sleeps_per_miss == pytest.approx(expected.sleeps_per_miss, abs=0.02)


def counted(evidence: Evidence, metric: str, values: Sequence[float]) -> Evidence:
    """With what an engine tells of its points."""
    run = evidence.view("latches")["run"][0]
    names = ("run", "point", "monitor", "entity", "metric", "highest")
    rows = [(run, point, "engine", f"point{point}", metric, value) for point, value in enumerate(values)]
    more = {name: np.asarray([row[i] for row in rows]) for i, name in enumerate(names)}
    peaks = {name: np.concatenate([evidence.view("peaks")[name], more[name]]) for name in names}
    return changed(evidence, peaks=peaks if len(evidence.view("peaks")["run"]) else more)


def test_each_point_is_predicted_with_its_own_hand_over_and_its_lost_cpus():
    truth = [predict(Network(HOLDS, 700.0), n) for n in CLIENTS]
    made = watched(truth, hand_over_ns=50.0, spin_turn_ns=1e6)
    calm = latches(made).rows
    slow = latches(counted(made, "hand_over_ns", [50.0, 50.0, 50.0, 900.0])).rows
    assert [row.predicted_gets_per_s for row in slow[:3]] == [row.predicted_gets_per_s for row in calm[:3]]
    assert (slow[3].predicted_gets_per_s or 0) < 0.8 * (calm[3].predicted_gets_per_s or 0)
    # four times the CPUs: who spins longer than a hold sleeps only where a holder lost its CPU
    few = replace(watched(truth, spin_turn_ns=50.0), topology=Topology(2, 2))
    rare, often = (
        latches(counted(counted(few, "switches_involuntary", [lost] * 4), "cpu_user_ns", [1e10] * 4)).rows[3]
        for lost in (1e4, 1e5)
    )
    assert (often.predicted_sleeps_per_miss or 0) > 2 * (rare.predicted_sleeps_per_miss or 1)


def test_a_hand_over_that_varies_is_a_notice_with_its_spread_and_its_cpus():
    truth = [predict(Network(HOLDS, 700.0), n) for n in CLIENTS]
    made = watched(truth, hand_over_ns=50.0, cpus=[0, 3], cpus_share="L3 cache")
    minutes_apart = [24.6, 30.0, 200.7, 227.9]
    assert latches(counted(made, "hand_over_ns", minutes_apart)).notices == ()  # four are too few
    more = counted(made, "hand_over_ns", minutes_apart * 2)
    (notice,) = latches(more).notices
    assert notice.code == "latch-hand-over-varies"
    assert "between CPUs 0 and 3" in notice.text and "median" in notice.detail
    costs = latches(more).costs
    assert costs and (costs.cpus, costs.share, costs.measured) == ((0, 3), "L3 cache", 8)
    assert (costs.hand_over_min_ns, costs.hand_over_max_ns) == (24.6, 227.9)
    assert latches(counted(made, "hand_over_ns", [50.0, 51.0] * 4)).notices == ()


def test_workers_that_others_kept_from_their_cpus_are_a_notice():
    truth = [predict(Network(HOLDS, 700.0), n) for n in CLIENTS]
    made = watched(truth)
    seconds = float(made.view("points")["seconds"][0])

    def with_cpu(share: float) -> tuple[Notice, ...]:
        cpu_ns = [share * n * seconds * 1e9 for n in CLIENTS]
        return latches(counted(made, "cpu_user_ns", cpu_ns)).notices

    assert with_cpu(0.99) == ()
    assert {n.code for n in with_cpu(0.6)} == {"latch-workers-without-cpu"}
    assert with_cpu(0.6)[-1].detail == "at 8 they ran or slept for 60 % of the time"
