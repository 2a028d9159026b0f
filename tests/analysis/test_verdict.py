import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evidence import Truth, evidence_of, options_of, study_of
from steelyard.analysis.judge import judge
from steelyard.analysis.results import Verdict

TWO = study_of({"f": "AB"})
FASTER = Truth(throughput_per_s=16_000, user_us=20, system_us=8)


def verdict(truth: dict[str, Truth], study=TWO, **more) -> Verdict:
    return judge(evidence_of(study, truth, **more)).verdict


def test_a_clear_winner_is_named_with_size_interval_and_blocks():
    said = verdict({"A": Truth(), "B": FASTER}, noise=0.002)
    assert (said.outcome, said.winner, said.ties) == ("winner", "B", ())
    assert said.sentence.startswith("B (f = value B) wins: 6")
    assert "% more throughput [" in said.sentence
    assert "less server CPU a transaction [" in said.sentence
    assert "than A, the baseline (95 % intervals, 6 blocks)" in said.sentence
    assert said.reasons[0].startswith("B saves")


@pytest.mark.parametrize(("blocks", "told"), [(4, True), (5, False)])
def test_few_blocks_are_told_in_the_sentence_itself(blocks: int, told: bool):
    said = verdict({"A": Truth(), "B": FASTER}, noise=0.002, blocks=blocks)
    assert said.winner == "B"
    assert ("blocks only: 5 or more are needed to be sure)" in said.sentence) == told


def test_the_baseline_can_win():
    said = verdict({"A": FASTER, "B": Truth()})
    assert said.winner == "A"
    assert "than B (95 % intervals" in said.sentence


def test_identical_options_are_equivalent():
    said = verdict({"A": Truth(), "B": Truth()}, noise=0.005)
    assert (said.outcome, said.winner) == ("tie", None)
    assert "are equivalent, within the 3 % that matters" in said.sentence


def test_noise_makes_it_inconclusive_and_says_what_would_settle_it():
    said = verdict({"A": Truth(), "B": Truth()}, noise=0.03, seed=4)
    assert (said.outcome, said.winner) == ("inconclusive", None)
    assert "blocks would settle whether 3 % is exceeded" in said.sentence


def test_cpu_decides_where_throughput_is_too_noisy():
    said = verdict({"A": Truth(), "B": Truth(user_us=20)}, noise=0.1, cpu_noise=0.01)
    assert said.winner == "B"
    assert "less server CPU a transaction" in said.sentence
    assert "throughput is inconclusive, ratio" in said.sentence


def test_two_measures_that_disagree_name_no_winner():
    said = verdict({"A": Truth(), "B": Truth(throughput_per_s=11_000, user_us=40)})
    assert (said.outcome, said.winner) == ("inconclusive", None)
    assert "each win something" in said.sentence
    assert "more throughput" in said.sentence
    assert "but 2" in said.sentence


def test_open_loop_is_judged_by_p99_and_cpu():
    study = study_of({"f": "AB"}, rate_per_s=1000)
    said = verdict({"A": Truth(), "B": Truth(p99_ns=1.5e6)}, study)
    assert said.winner == "B"
    assert "% lower latency p99" in said.sentence
    assert "throughput" not in said.sentence


def test_of_many_options_one_that_beats_all_wins():
    study = study_of({"f": "ABCD"})
    said = verdict({"A": Truth(), "B": FASTER, "C": Truth(), "D": Truth(throughput_per_s=12_000)}, study)
    assert said.winner == "B"
    assert "wins over all 3 others" in said.sentence


def test_options_that_cannot_be_told_from_the_best_are_its_ties():
    study = study_of({"f": "ABCD"})
    said = verdict({"A": Truth(), "B": FASTER, "C": FASTER, "D": Truth()}, study)
    assert (said.outcome, said.winner) == ("tie", None)
    assert set(said.ties) == {"B", "C"}
    assert "it beats the other 2" in said.sentence


def test_a_factorial_study_says_which_factor_matters_most():
    study = study_of({"handle": ["H0", "H1"], "text": ["T0", "T1"], "plan": ["P0", "P1"]})
    truth = {
        o.label: Truth(throughput_per_s=1e4 * (1.4 if o.levels["handle"] == "H1" else 1)
                       * (1.1 if o.levels["text"] == "T1" else 1))
        for o in options_of(study)
    }  # fmt: skip
    said = verdict(truth, study)
    assert set(said.ties) == {"H1_T1_P0", "H1_T1_P1"}
    assert "What matters most is handle: of the variation of throughput, handle 9" in said.sentence
    assert "and text" in said.sentence


def test_one_block_is_inconclusive():
    said = verdict({"A": Truth(), "B": FASTER}, blocks=1)
    assert said.outcome == "inconclusive"
    assert "one block: no interval" in said.sentence
    assert "cannot be told from 1: begin with 5" in said.sentence


def test_how_many_blocks_would_settle_it_is_not_told_from_fewer_than_five():
    noisy = {"A": Truth(), "B": Truth()}
    few, enough = (verdict(noisy, noise=0.1, blocks=n).sentence for n in (2, 5))
    assert "cannot be told from 2: begin with 5" in few
    assert "At this scatter" not in few
    assert "At this scatter" in enough


def test_no_block_in_common_is_nothing_to_compare():
    said = verdict({"A": Truth(), "B": Truth()}, blocks=1, void=[(1, "B")])
    assert said.outcome == "nothing to compare"


def test_an_a_a_study_finds_a_winner_in_about_one_of_20():
    wrong = sum(
        verdict({"A": Truth(), "B": Truth()}, noise=0.02, blocks=5, seed=seed).winner is not None
        for seed in range(120)
    )
    assert wrong <= 12


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 8), st.integers(2, 5))
def test_exact_copies_never_have_a_winner(seed: int, blocks: int, copies: int):
    study = study_of({"f": "ABCDE"[:copies]})
    said = verdict({label: Truth() for label in "ABCDE"[:copies]}, study, noise=0, blocks=blocks, seed=seed)
    assert said.winner is None
    assert said.outcome == ("tie" if blocks > 1 else "inconclusive")


@pytest.mark.parametrize("clients", [(8,), (1, 8, 64)])
def test_the_judgement_holds_one_row_over_all_points_and_one_for_each_of_several(clients: tuple[int, ...]):
    study = study_of({"f": "AB"}, clients=clients)
    found = judge(evidence_of(study, {"A": Truth(), "B": FASTER}))
    points = [None, *clients] if len(clients) > 1 else [None]
    throughput = [c for c in found.comparisons if c.metric == "throughput_per_s"]
    assert [c.clients for c in throughput] == points
    assert len([e for e in found.estimates if e.metric == "throughput_per_s"]) == 2 * len(points)
    assert {c.option for c in found.costs} == {"B"}
