"""Where a dispatch table wins: the sentence and the chart state one decision."""

from __future__ import annotations

from itertools import product

import builders
import pytest

from evidence import Truth, changed, evidence_of, study_of, without_rows
from steelyard.analysis.judge import judge
from steelyard.analysis.judgement import Judgement
from steelyard.bundle.series.read import Series
from steelyard.report.charts.dispatcher import win_map
from steelyard.report.presented import Presented
from steelyard.study.study import Study

CODES = {"table": ["STD", "EXT"], "latency": ["FAST", "SLOW"]}
THREADS = (4, 16)


def dispatcher(smallest_effect_percent: float) -> Study:
    """A study of two tables at two memory latencies."""
    return Study.model_validate(
        {
            "name": "tables",
            "question": "Which table?",
            "subject": {
                "kind": "dispatcher",
                "settings": {
                    "cpus": 4, "cpus_per_chip": 2, "clock_ghz": 2.28, "memory_latency_ns": 550,
                    "cache_kib": 5120,
                },
            },
            "workload": {
                "kind": "threads",
                "scaled": "worker",
                "groups": {"worker": {"cpu": {"kind": "exponential", "mean_us": 500}}},
            },
            "factors": {
                "table": {"scope": "server", "levels": {"STD": "standard", "EXT": "extended"}},
                "latency": {
                    "scope": "server", "setting": "memory_latency_ns", "levels": {"FAST": 100, "SLOW": 900},
                },
            },
            "plan": {
                "clients": list(THREADS), "smallest_effect_percent": smallest_effect_percent, "measure_s": 10,
            },
        }
    )  # fmt: skip


def judged(ratio: float, smallest_effect_percent: float) -> Judgement:
    """EXT has `ratio` times the throughput of STD in every cell, almost without noise."""
    truth = {
        f"{table}_{latency}": Truth(throughput_per_s=10_000 * (ratio if table == "EXT" else 1.0))
        for table, latency in product(*CODES.values())
    }
    evidence = evidence_of(study_of(CODES, clients=THREADS), truth, noise=0.0005, cpu_noise=0.0005)
    # a simulation has no load engine
    rates = without_rows(evidence.view("rates"), evidence.view("rates")["entity"] != "engine")
    return judge(changed(evidence, rates=rates, study=dispatcher(smallest_effect_percent)))


def marks(judgement: Judgement) -> set[str]:
    """What the cells of the chart show: ▲, ▼ or no mark."""
    drawn = win_map(Presented(judgement, Series(), builders.two()[2]))
    assert drawn
    texts = [row["text"] for panel in drawn.panels for row in panel.spec["data"]["values"]]
    return {text[0] if text[0] in "▲▼" else "" for text in texts}


@pytest.mark.parametrize(
    ("ratio", "smallest_effect_percent", "mark", "winner", "sentence"),
    [
        (
            1.02,
            3.0,
            "",
            None,
            "Throughput under EXT is nowhere more than 3 % from that under STD",
        ),
        (1.02, 1.0, "▲", "EXT", "Throughput under EXT is more than 1 % more than under STD in 4 of 4 cells"),
        (0.95, 3.0, "▼", "STD", "Throughput under EXT is more than 3 % less than under STD in 4 of 4 cells"),
    ],
)
def test_chart_and_sentence_judge_a_cell_by_the_smallest_effect_of_the_study(
    ratio: float, smallest_effect_percent: float, mark: str, winner: str | None, sentence: str
) -> None:
    judgement = judged(ratio, smallest_effect_percent)
    assert judgement.verdict.reasons[0].startswith(sentence)
    headline = judgement.verdict.headline
    assert len(headline.split()) <= 20
    assert (
        ("no table is shown to win" in headline)
        if winner is None
        else (f"{winner} wins in 4 of 4" in headline)
    )
    assert {cell.winner for cell in judgement.win_map} == {winner}
    assert marks(judgement) == {mark}
    drawn = win_map(Presented(judgement, Series(), builders.two()[2]))
    assert drawn and f"by more than {smallest_effect_percent:g} %" in drawn.caption
