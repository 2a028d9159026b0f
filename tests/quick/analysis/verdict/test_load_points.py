from dataclasses import replace

from evidence import Truth, evidence_of, study_of
from steelyard.analysis.comparison.intervals import Intervals
from steelyard.analysis.judgement import Comparison, Outcome
from steelyard.analysis.metrics.run_metrics import THROUGHPUT, compute_run_metrics
from steelyard.analysis.verdict.pair_sentences import answers_by_point
from steelyard.bundle.evidence import Topology


def comparison(
    option: str, clients: int, ratio: float, outcome: Outcome, p_value: float = 0.001
) -> Comparison:
    return Comparison(
        metric=THROUGHPUT.name, option=option, baseline="A", clients=clients, ratio=ratio, low=ratio - 0.1,
        high=ratio + 0.1, p_value=p_value, blocks=8, margin=0.03, outcome=outcome, notices=(),
    )  # fmt: skip


def said(*comparisons: Comparison) -> str:
    study = study_of({"f": ["A", "B"]}, clients=[2, 4, 8])
    evidence = evidence_of(study, {"A": Truth(), "B": Truth()}, blocks=1, noise=0, block_noise=0, seed=1)
    return answers_by_point(replace(evidence, topology=Topology(2, 2)), comparisons, [THROUGHPUT])


def test_an_answer_that_turns_with_the_number_of_clients_is_said_by_number():
    assert said(
        comparison("B", 2, 1.5, "better"), comparison("B", 4, 0.6, "worse"), comparison("B", 8, 0.5, "worse")
    ) == (
        "By number of clients, throughput against A: at 2 better: B 1.50 times [1.40 to 1.60];"
        " from 4 to 8 (ratios at 8; more than the 2 CPUs) worse: B 0.500 times [0.400 to 0.600]."
    )


def test_an_answer_that_is_the_same_everywhere_is_not_repeated():
    assert said(comparison("B", 2, 1.5, "better"), comparison("B", 8, 1.2, "better")) == ""


def test_a_difference_at_some_points_only_is_told_from_none():
    text = said(comparison("B", 2, 1.01, "inconclusive"), comparison("B", 8, 1.2, "better"))
    assert "at 2 none differs clearly; at 8 (more than the 2 CPUs) better: B" in text


def test_the_leader_in_one_block_is_named_by_number_as_seen():
    seen = [
        replace(comparison("B", n, r, "inconclusive", 1.0), blocks=1)
        for n, r in ((2, 1.1), (4, 0.9), (8, 1.2))
    ]
    told = "throughput as seen in one block, which proves no order: B leads up to 2, A at 4, B from 8."
    assert said(*seen) == f"By number of clients, {told}"
    assert said(*seen[:1]) == said(seen[0], seen[2]) == ""


def test_a_difference_at_one_of_many_points_that_chance_explains_is_neither_said_nor_called_one():
    study, points = study_of({"f": "AB"}, clients=(1, 2, 4, 8)), range(4)
    by_chance = 0
    for seed in range(10):
        # 5 % smaller than what matters: only chance makes a difference at one of the points
        evidence = evidence_of(study, {"A": Truth(), "B": Truth()}, blocks=5, noise=0.05, seed=seed)
        run_metrics = compute_run_metrics(evidence)
        intervals = Intervals(run_metrics, "AB", (), 0.001, 0.05)
        at = [c for p in points for c in intervals.comparisons(THROUGHPUT, [("B", "A")], p)]
        alone = [intervals.tests(THROUGHPUT, p).against("A")[0] for p in points]
        for found, single in zip(at, alone, strict=True):
            assert found.p_value == min(1, 4 * single.p_value)
            assert (found.outcome in ("better", "worse")) == (found.p_value < 0.05)
            assert (found.low > 1 or found.high < 1) == (found.p_value < 0.05)
            by_chance += single.outcome != found.outcome
        if all(c.outcome == "inconclusive" for c in at):
            assert answers_by_point(evidence, at, [THROUGHPUT]) == ""
    assert by_chance


def test_no_ratios_are_announced_where_none_follow():
    text = said(
        comparison("B", 2, 1.01, "inconclusive"),
        comparison("B", 4, 1.02, "inconclusive"),
        comparison("B", 8, 1.2, "better"),
    )
    assert "from 2 to 4 none differs clearly; at 8 (more" in text
