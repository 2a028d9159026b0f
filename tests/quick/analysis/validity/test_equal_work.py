"""Options that did not do the same work: no winner among them, by the first of three steps that decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from evidence import Truth, changed, evidence_of, study_of
from steelyard.analysis.bundles import compare_bundles
from steelyard.analysis.judge import judge
from steelyard.analysis.judgement.verdict import Difference
from steelyard.analysis.validity.equal_work import equal_work
from steelyard.bundle.evidence import Evidence

AB = {"tag": "AB"}
CLIENTS = 4
ENDS = (1, 2, 4, 8, 64, 1024)


def table(rows: Sequence[Mapping[str, Any]]) -> dict[str, np.ndarray[Any, Any]]:
    return {name: np.array([row[name] for row in rows], dtype=object) for name in rows[0]}


def evidence(
    rows_of: Mapping[str, Sequence[Sequence[tuple[int, int]]]],
    *,
    answers: Mapping[str, str] | None = None,
    writes: bool = False,
    errors: bool = False,
) -> Evidence:
    """A and B, of which B has 1.5 times the throughput. rows_of: by option and block the rows and empty
    executions at each end; answers: of the rehearsal.
    """
    blocks = len(next(iter(rows_of.values())))
    found = evidence_of(study_of(AB), {"A": Truth(), "B": Truth(throughput_per_s=15_000.0)}, blocks=blocks)
    runs = {
        (o, b): r
        for r, o, b in zip(*(found.view("runs")[n].tolist() for n in ("run", "option", "block")), strict=True)
    }
    marks = [
        {"run": runs[option, block], "statement": "look", "execution": end, "clients": CLIENTS,
         "rows": rows, "empty": empty}
        for option, by_block in rows_of.items()
        for block, ends in enumerate(by_block, start=1)
        for end, (rows, empty) in zip(ENDS, ends, strict=False)
    ]  # fmt: skip
    work = [
        {"option": option, "step": "work", "statement": "look", "answer": answer, "rows": 3.0, "draws": 40,
         "plan": None}
        for option, answer in (answers or {"A": "", "B": ""}).items()
    ]  # fmt: skip
    work += [{**work[0], "step": "write"}] if writes else []
    points = (
        {**found.view("points"), "errors": found.view("points")["errors"] + 1}
        if errors
        else found.view("points")
    )
    return changed(found, marks=table(marks), rehearsal=table(work), points=points)


def same(rows: float = 1.0, empty: float = 0.0, ends: Sequence[int] = ENDS) -> list[tuple[int, int]]:
    return [(round(CLIENTS * end * rows), round(CLIENTS * end * empty)) for end in ends]


def differences(found: Evidence) -> tuple[Difference, ...]:
    return equal_work(found).differences


def test_equal_rows_leave_the_winner() -> None:
    found = evidence({"A": [same()] * 6, "B": [same()] * 6})
    assert not differences(found)
    judgement = judge(found)
    assert judgement.verdict.winner == "B"
    # 6 blocks, 4 clients, 1,024 executions
    assert "40 executions" in judgement.equal_work["look"] and "24,576" in judgement.equal_work["look"]


def test_what_could_not_be_compared_exactly_says_how_far_it_was() -> None:
    half = same(rows=0.5, empty=0.5)
    held = equal_work(evidence({"A": [half] * 6, "B": [half] * 6}, writes=True)).held
    assert "do not differ" in held["look"] and "6 blocks" in held["look"]


def test_a_statement_that_finds_nothing_under_any_option_is_a_notice() -> None:
    none = same(rows=0, empty=1)
    found = equal_work(evidence({"A": [none] * 6, "B": [none] * 6}))
    assert not found.differences
    assert [(one.code, one.detail) for one in found.notices] == [("no-rows", "look")]


def test_a_transaction_that_writes_other_rows_is_other_work() -> None:
    found = evidence({"A": [same()] * 6, "B": [same()] * 6}, writes=True)
    written = [
        {"option": option, "step": "rows written", "statement": "pay", "answer": answer, "rows": rows,
         "draws": 40, "plan": None}
        for option, answer, rows in (("A", "", 2.0), ("B", "rows", 1.0))
    ]  # fmt: skip
    rehearsal = {
        name: np.append(column, [row.get(name) for row in written])
        for name, column in found.view("rehearsal").items()
    }
    (one,) = differences(changed(found, rehearsal=rehearsal))
    assert (one.how, one.statement, one.rows, one.baseline_rows) == ("writes", "pay", 1, 2)


@pytest.mark.parametrize("answer", ["rows", "value", "error"])
def test_a_difference_in_the_rehearsal_outranks_the_winner(answer: str) -> None:
    judgement = judge(evidence({"A": [same()] * 6, "B": [same()] * 6}, answers={"A": "", "B": answer}))
    assert (judgement.verdict.outcome, judgement.verdict.winner) == ("unequal work", None)
    assert [(one.how, one.statement, one.option) for one in judgement.work] == [(answer, "look", "B")]


def test_other_texts_of_equal_rows_are_a_notice() -> None:
    judgement = judge(evidence({"A": [same()] * 6, "B": [same()] * 6}, answers={"A": "", "B": "text"}))
    assert judgement.verdict.winner == "B"
    assert [notice.detail for notice in judgement.notices if notice.code == "work-text"] == ["look"]


def test_one_row_less_in_reads_of_unchanged_data_is_other_work() -> None:
    fewer = same()
    fewer[-1] = (fewer[-1][0] - 1, 1)
    (one,) = differences(evidence({"A": [same()] * 6, "B": [same()] * 5 + [fewer]}))
    assert one.how == "rows" and one.rows < one.baseline_rows
    # chance, writes or failures make such a difference possible
    by_chance = {"A": "not reproducible", "B": "not reproducible"}
    rows = {"A": [same()] * 6, "B": [same()] * 5 + [fewer]}
    assert not differences(evidence(rows, answers=by_chance))
    assert not differences(evidence(rows, writes=True))
    assert not differences(evidence(rows, errors=True))


def test_only_executions_that_both_reached_are_compared() -> None:
    # B is faster and comes to values that A does not draw
    beyond = same()
    beyond[-1] = (0, 77)
    assert not differences(evidence({"A": [same(ends=ENDS[:-1])] * 6, "B": [beyond] * 6}))


def test_a_share_without_rows_shows_in_five_blocks() -> None:
    chance = np.random.default_rng(1)
    some = [same(rows=0.9 + x, empty=0.1 - x) for x in chance.normal(0, 0.001, 6)]
    more = [same(rows=0.95 + x, empty=0.05 - x) for x in chance.normal(0, 0.001, 6)]
    (one,) = differences(evidence({"A": some, "B": more}, writes=True))
    assert one.how == "rows"
    assert not differences(evidence({"A": some[:4], "B": more[:4]}, writes=True))
    assert not differences(evidence({"A": some, "B": some[::-1]}, writes=True))


def test_no_row_at_all_shows_in_one_block() -> None:
    none = same(rows=0, empty=1)
    (one,) = differences(evidence({"A": [same(rows=0.1, empty=0.9)], "B": [none]}, writes=True))
    assert (one.rows, one.baseline_rows) == (0, pytest.approx(0.1, rel=0.01))
    # two of 4,096 may be chance
    rare = [(0, CLIENTS * end) for end in ENDS[:-1]] + [(2, 4094)]
    assert not differences(evidence({"A": [rare], "B": [none]}, writes=True))


def test_an_option_that_runs_out_of_rows_is_named_with_the_execution() -> None:
    ended = [(CLIENTS * min(end, 64), CLIENTS * max(end - 64, 0)) for end in ENDS]
    early = same(ends=ENDS[:-1])
    (one,) = differences(evidence({"A": [early] * 2, "B": [ended] * 2}, writes=True))
    assert (one.how, one.option, one.rows) == ("ran out", "B", CLIENTS * 64)


def test_a_clean_up_that_finds_nothing_more_has_not_run_out() -> None:
    # its first execution of each client deletes all
    cleaned = [(CLIENTS * 100, CLIENTS * (end - 1)) for end in ENDS]
    assert not differences(evidence({"A": [cleaned] * 2, "B": [cleaned] * 2}, writes=True))


def test_blocks_together_show_what_none_shows_alone() -> None:
    few = same(rows=0.96, empty=0.04, ends=ENDS[:5])
    all_of = same(ends=ENDS[:5])
    assert not differences(evidence({"A": [all_of] * 4, "B": [few] * 4}, writes=True))
    (one,) = differences(evidence({"A": [all_of] * 6, "B": [few] * 6}, writes=True))
    assert one.how == "rows"


def test_a_bundle_without_counts_says_so() -> None:
    found = evidence_of(study_of(AB), {"A": Truth(), "B": Truth()})
    marks = {name: column[:0] for name, column in found.view("marks").items()}
    assert [notice.code for notice in equal_work(changed(found, marks=marks)).notices] == ["work-not-checked"]


@pytest.mark.parametrize(("rows", "codes"), [(0, ["work-differs"]), (90, ["work-differs"]), (100, [])])
def test_two_bundles_whose_statement_returns_other_rows_are_no_clear_result(
    rows: int, codes: list[str]
) -> None:
    here = "here", evidence({"A": [[(100, 0)]] * 6, "B": [[(100, 0)]] * 6}), {}
    there = "there", evidence({"A": [[(rows, 0)]] * 6, "B": [[(100, 0)]] * 6}), {}
    (found,) = compare_bundles(here, [there])
    assert [notice.code for notice in found.uncertain] == codes
    if codes:
        assert found.uncertain[0].text == (
            f"not the same work: look returns {rows / CLIENTS:g} rows per execution there, 25.0 here, under A"
        )
