import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidence import Truth, evidence_of, study_of
from steelyard.analysis.judge import judge
from steelyard.analysis.load.fairness import fairness, jain, jain_of_chance
from steelyard.study.workloads.brokerage import BrokerageWorkload


@pytest.mark.parametrize(
    ("transactions", "index"),
    [
        ([1, 2, 3, 4, 5], 0.81818),
        ([1, 1, 0, 0, 0, 0, 0, 0, 0, 0], 0.2),
        ([1] * 6 + [0.5] * 6, 0.9),
        ([1] * 11 + [0], 0.917),
    ],
)
def test_jains_index_matches_known_answers(transactions: list[float], index: float):
    assert jain(transactions) == pytest.approx(index, abs=5e-4)


@pytest.mark.parametrize("nothing", [[], [0, 0, 0]])
def test_fairness_of_nothing_is_refused(nothing: list[float]):
    with pytest.raises(ValueError, match="no transactions"):
        jain(nothing)


@given(st.lists(st.floats(0, 1e12), min_size=1, max_size=50).filter(any))
def test_jains_index_lies_between_one_nth_and_one(x: list[float]):
    assert 1 / len(x) - 1e-12 <= jain(x) <= 1 + 1e-12


def test_the_null_is_what_poisson_noise_gives():
    counts = np.random.default_rng(1).poisson(50, (4000, 8))
    assert np.mean([jain(x) for x in counts]) == pytest.approx(jain_of_chance(8, 50), abs=5e-4)


def test_equal_clients_are_not_called_unfair():
    study = study_of({"f": "AB"})
    found = fairness(evidence_of(study, {"A": Truth(), "B": Truth(throughput_per_s=20)}))
    assert [f.unfair for f in found] == [False, False]
    assert found[1].cv > 0.02  # 25 transactions a client: chance alone


def test_a_starved_client_is_found_and_shown_beside_the_null():
    study = study_of({"f": "AB"}, clients=(12,))
    starved = Truth(client_weights=[1] * 11 + [0])
    fair, unfair = fairness(evidence_of(study, {"A": Truth(), "B": starved}))
    assert (fair.unfair, unfair.unfair) == (False, True)
    assert unfair.jain == pytest.approx(0.917, abs=0.002)
    assert unfair.jain_null > 0.999
    assert unfair.min_over_mean == 0
    assert unfair.max_over_min == math.inf


def test_a_difference_too_small_to_matter_is_not_unfair():
    slightly = Truth(throughput_per_s=1e7, client_weights=[1.0, 1.01])
    found = fairness(evidence_of(study_of({"f": "AB"}), {"A": Truth(), "B": slightly}))
    assert not found[1].unfair


@pytest.mark.parametrize(("spread", "unfair"), [(0.04, False), (0.15, True)])
def test_what_a_scheduler_alone_does_is_not_unfair(spread: float, unfair: bool):
    # two clients that differ by this much from their mean: that is the CV
    uneven = Truth(throughput_per_s=1e6, client_weights=[1 + spread, 1 - spread])
    study = study_of({"f": "AB"}, clients=(2,))
    found = fairness(evidence_of(study, {"A": Truth(), "B": uneven}, noise=0.0))
    assert found[1].cv == pytest.approx(spread, rel=0.05)
    assert found[1].unfair is unfair


def test_each_number_of_clients_is_judged_by_itself_and_one_client_not_at_all():
    found = fairness(evidence_of(study_of({"f": "AB"}, clients=(1, 2, 8)), {"A": Truth(), "B": Truth()}))
    assert [(f.option, f.clients) for f in found] == [("A", 2), ("A", 8), ("B", 2), ("B", 8)]


def test_an_unfair_option_is_explained_by_a_notice():
    study = study_of({"f": "AB"}, clients=(12,))
    starved = Truth(client_weights=[1] * 11 + [0])
    judgement = judge(evidence_of(study, {"A": Truth(), "B": starved}))
    (notice,) = [notice for notice in judgement.notices if notice.code == "unfair"]
    assert notice.subject == "B" and notice.detail.endswith(" of 12 clients")
    assert notice.text.startswith("some clients did far more work than others in the same time")
    assert not [
        n for n in judge(evidence_of(study, {"A": Truth(), "B": Truth()})).notices if n.code == "unfair"
    ]


def test_clients_that_execute_other_transactions_are_not_compared():
    market = Truth(throughput_per_s=1e7, client_weights=[0.1, 0.2, 0.1, *[1.0] * 5])
    evidence = evidence_of(study_of({"f": "AB"}), {"A": market, "B": market})
    assert all(one.unfair for one in fairness(evidence))
    study = evidence.study.model_copy(update={"workload": BrokerageWorkload(kind="brokerage")})
    found = fairness(replace(evidence, study=study))
    assert [(one.unfair, one.clients) for one in found] == [(False, 8)] * 2
