import math
from dataclasses import replace

import pytest

from evidence import Truth, evidence_of, study_of
from steelyard.analysis.judge import judge
from steelyard.analysis.load.served import fairness
from steelyard.study.workloads.derived import BrokerageWorkload


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
    served = Truth(throughput_per_s=1e8, client_weights=transactions)
    study = study_of({"f": "AB"}, clients=(len(transactions),))
    for found in fairness(evidence_of(study, {"A": served, "B": served}, noise=0.0)):
        assert found.jain == pytest.approx(index, abs=5e-4)


def test_the_null_is_what_poisson_noise_gives():
    # 50 transactions a client
    served = Truth(throughput_per_s=40)
    found = fairness(evidence_of(study_of({"f": "AB"}), {"A": served, "B": served}, blocks=100))
    assert found[0].jain == pytest.approx(found[0].jain_null, abs=3e-3)


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
