"""Where the scatter of a study in turns comes from, what the study could see, and what turns carry over."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from evidence import Truth, changed, evidence_of, study_of
from steelyard.analysis.comparison.intervals import Intervals
from steelyard.analysis.comparison.pairwise import metrics_that_count
from steelyard.analysis.comparison.stopping import level, levels, precision
from steelyard.analysis.judge import judge
from steelyard.analysis.judgement import Comparison
from steelyard.analysis.metrics.run_metrics import THROUGHPUT, compute_run_metrics
from steelyard.analysis.validity.stability import turn_notices
from steelyard.bundle.evidence import Evidence

BLOCKS, DEALS, ROUNDS = 40, 6, 4
COLUMNS = ("run", "point", "deal", "round", "position", "start_ns", "transactions", "first_half")


def in_turns(
    count: Callable[[str, int, int, int, str], tuple[float, float]], blocks: int = BLOCKS
) -> Evidence:
    """Two options, a and b, in turns. count(option, block, deal, round, before): by half of the turn."""
    study = study_of({"which": ["a", "b"]})
    evidence = evidence_of(study, {"a": Truth(), "b": Truth()}, blocks=blocks)
    run_of = {
        (str(option), int(block)): int(run)
        for run, option, block in zip(
            *(evidence.view("runs")[n] for n in ("run", "option", "block")), strict=True
        )
    }
    rows: list[tuple[Any, ...]] = []
    for block in range(1, blocks + 1):
        clock, number, before = 0, 0, ""
        for deal in range(DEALS):
            before = ""
            for pair in range(ROUNDS // 2):
                for order in (
                    (("a", "b"), ("b", "a")) if (block + deal + pair) % 2 else (("b", "a"), ("a", "b"))
                ):
                    number += 1
                    for place, option in enumerate(order, start=1):
                        clock += 1
                        first, last = count(option, block, deal, number, before)
                        done = (round(first + last), round(first))
                        rows.append((run_of[option, block], 0, deal, number, place, clock, *done))
                        before = option
    turns = {name: np.asarray(values) for name, values in zip(COLUMNS, zip(*rows, strict=True), strict=True)}
    return changed(evidence, turns=turns)


def test_scatter_is_found_at_the_level_where_it_was_put() -> None:
    chance = np.random.default_rng(5)
    by_block = chance.normal(0, 0.03, BLOCKS + 1)
    by_deal = chance.normal(0, 0.02, (BLOCKS + 1, DEALS))

    def count(option: str, block: int, deal: int, number: int, before: str) -> tuple[float, float]:
        own = (by_block[block] + by_deal[block, deal]) if option == "b" else 0.0
        done = 1e6 * np.exp(own + chance.normal(0, 0.01 / np.sqrt(2)))
        return done / 2, done / 2

    found = levels(in_turns(count))
    assert found is not None and (found.option, found.rounds, found.deals) == ("b", 24, 6)
    assert found.round_percent == pytest.approx(1, rel=0.15)
    assert found.deal_percent == pytest.approx(2, rel=0.2)
    assert found.block_percent == pytest.approx(3, rel=0.35)
    # 3 % squared, against that and 2 % squared over 6 deals and 1 % squared over 24 rounds
    assert found.of_blocks == pytest.approx(9 / (9 + 4 / 6 + 1 / 24), abs=0.05)


def test_a_study_without_turns_has_no_levels() -> None:
    study = study_of({"which": ["a", "b"]})
    assert levels(evidence_of(study, {"a": Truth(), "b": Truth()})) is None


def test_nine_of_ten_studies_show_a_difference_of_the_size_of_their_resolution() -> None:
    study, noise, blocks = study_of({"which": ["a", "b"]}, margin_percent=0.01), 0.02, 8

    def compared(ratio: float, seed: int) -> tuple[Comparison, float]:
        """By throughput alone, as a judgement does, and what the study could see."""
        truth = {"a": Truth(), "b": Truth(throughput_per_s=10_000 * ratio)}
        made = evidence_of(study, truth, blocks=blocks, noise=noise, block_noise=0, seed=seed)
        of_runs = compute_run_metrics(made)
        counting = metrics_that_count(study, of_runs)
        intervals = Intervals(of_runs, made.labels, counting, made.margin, level(study))
        (found,) = intervals.against(THROUGHPUT, "a")
        seen = precision(made, THROUGHPUT, [found]).resolution_percent
        assert seen is not None
        return found, seen

    typical = np.median([compared(1.0, seed)[1] for seed in range(100, 120)])
    shown = [compared(1 + typical / 100, seed)[0].low > 1 for seed in range(30)]
    assert 0.78 < np.mean(shown) < 0.99


@pytest.mark.parametrize(
    ("noise", "blocks", "text"),
    [
        (0.02, 6, r"could see differences in throughput of [\d.]+ % and more"),
        (0.5, 5, r"could see differences in throughput of a factor of [\d.]+ and more"),
        (9.0, 2, "could see is unknown: the runs give no interval that says anything"),
    ],
)
def test_every_comparison_says_what_it_could_see_or_why_that_is_not_known(
    noise: float, blocks: int, text: str
) -> None:
    truth = {"a": Truth(), "b": Truth(throughput_per_s=11_000)}
    found = judge(evidence_of(study_of({"which": ["a", "b"]}), truth, blocks=blocks, noise=noise))
    assert re.search(text, found.precision.resolution("throughput"))
    assert bool(found.precision.unknown) == (found.precision.resolution_percent is None)


def steady(option: str, block: int, deal: int, number: int, before: str) -> tuple[float, float]:
    wobble = 1000 * (1 + 0.001 * ((block * 7 + deal * 3 + number) % 5 - 2))
    return wobble, wobble


def test_turns_that_carry_nothing_over_have_no_notice() -> None:
    assert turn_notices(in_turns(steady, blocks=6)) == []


def test_a_ratio_that_changes_within_the_turn_is_noticed() -> None:
    def warms_up(option: str, *place: Any) -> tuple[float, float]:
        first, last = steady(option, *place)
        return first, last * (1.05 if option == "b" else 1.0)

    (notice,) = turn_notices(in_turns(warms_up, blocks=6))
    assert notice.code == "carry-over" and notice.subject == "b"
    assert "+5.0 % in the second half" in notice.detail


def test_a_rate_that_depends_on_the_turn_before_is_noticed() -> None:
    def disturbed(option: str, block: int, deal: int, number: int, before: str) -> tuple[float, float]:
        first, last = steady(option, block, deal, number, before)
        slow = 0.9 if option == "a" and before == "b" else 1.0
        return first * slow, last * slow

    found = turn_notices(in_turns(disturbed, blocks=6))
    assert [(notice.subject, "after b" in notice.detail) for notice in found] == [("a", True)]
