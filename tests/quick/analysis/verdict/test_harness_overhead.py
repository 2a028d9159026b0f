import re

import pytest

from evidence import Truth, evidence_of, study_of
from steelyard.analysis.judge import judge
from steelyard.analysis.judgement.verdict import Verdict

NULL = study_of({"handle": ["A", "B"]}, subject={"kind": "null"})


def verdict(noise: float, blocks: int = 6, **truth: Truth) -> Verdict:
    return judge(evidence_of(NULL, truth, noise=noise, block_noise=0.0, blocks=blocks)).verdict


def test_of_the_null_subject_the_answer_is_what_the_lab_costs() -> None:
    said = verdict(1e-9, A=Truth(engine_us=5.0), B=Truth(engine_us=8.0, user_us=25.0))
    assert said.headline == "The load engine takes 5.00 µs to 8.00 µs of CPU per transaction."
    assert said.interval == (
        "A server that only answers takes 40.0 µs to 45.0 µs of CPU per transaction."
        " Half of the transactions are answered within 700 µs, with 8 clients."
    )
    # and what was found of its options is not lost
    assert said.winner == "B" and said.reasons[0].startswith("B (handle = value B) wins: ")


def test_the_noise_of_the_machine_is_the_scatter_of_runs_of_one_option() -> None:
    said = verdict(0.1, blocks=60, A=Truth(), B=Truth(throughput_per_s=90_000.0)).consequence
    found = re.search(r"differs by ([\d.]+) % in throughput and ([\d.]+) % in CPU per transaction", said)
    assert found
    assert [float(percent) for percent in found.groups()] == [pytest.approx(10.5, abs=2.0)] * 2


def test_a_single_block_tells_no_noise() -> None:
    assert verdict(0.1, blocks=1, A=Truth(), B=Truth()).consequence == ""
