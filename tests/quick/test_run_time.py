"""The time that a study takes, said before it runs."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest

from steelyard.study.load_study import find_study, parse_study
from steelyard.study.overrides import adjusted, quick_changes, quick_text
from steelyard.study.plan import options
from steelyard.study.study import Plan
from steelyard.subjects import kind_of
from steelyard.subjects.in_turns import data_s
from steelyard.workflow.prepare import PreparedStudy, expected_run_s, expected_s
from steelyard.workflow.session import slowdown
from steelyard.workloads import work_of

PROGRAM = """\
name = "program"
question = "Which?"

[subject]
kind = "program"

[workload]
kind = "program"
command = ["sleep", "{pause}"]
variables = { pause = 0.1 }

[factors.pause]
scope = "client"
levels = { A = 0.1, B = 0.2 }

[plan]
clients = [1]
blocks = 2
"""


def test_a_program_that_takes_the_plans_seconds_is_estimated_by_them() -> None:
    study = parse_study(PROGRAM.replace('"{pause}"', '"{seconds}", "{pause}"'), "program.toml")
    found = expected_run_s(study, options(study))
    assert found is not None
    assert study.plan.measure_s < found < study.plan.measure_s + 5


def test_the_time_to_make_data_counts_once_per_version_and_schema_and_server() -> None:
    study, _ = find_study("index-or-not")
    found = options(study)
    footprint = kind_of(study).footprint
    assert footprint is not None
    made_s, start_s = footprint.data_s(work_of(study.workload)), kind_of(study).set_up_s
    assert made_s > footprint.make_s
    # one base, and three servers that are rehearsed
    assert data_s(study, found, in_turns=False) == pytest.approx(made_s + 3 * start_s)
    # in turns the two other servers make a base of their own
    assert data_s(study, found, in_turns=True) == pytest.approx(3 * made_s + 3 * start_s)
    versions, _ = find_study("versions")
    assert data_s(versions, options(versions), in_turns=False) >= 2 * footprint.make_s
    null, _ = find_study("overhead")
    assert data_s(null, options(null), in_turns=False) == 0


def test_other_work_lengthens_what_no_plan_fixes(tmp_path: Path) -> None:
    prepared = PreparedStudy.of(PROGRAM.replace('"{pause}"', '"{seconds}", "{pause}"'), "program.toml")
    alone_s, busy_s = expected_s(prepared), expected_s(prepared, 3.0)
    assert alone_s is not None and busy_s is not None
    runs_s = sum(map(len, prepared.blocks)) * (prepared.run_s or 0)
    assert alone_s > runs_s and busy_s - runs_s == pytest.approx(3 * (alone_s - runs_s))
    (tmp_path / "loadavg").write_text("5.00 1.0 1.0 3/100 42\n")
    assert slowdown(tmp_path) == max(1, 6 / len(os.sched_getaffinity(0)))
    (tmp_path / "loadavg").write_text("0.00 1.0 1.0 1/100 42\n")
    assert slowdown(tmp_path) == 1
    assert slowdown(tmp_path / "none") == 1


def test_simulated_seconds_are_not_the_time_that_a_simulation_takes() -> None:
    study, _ = find_study("dispatch-table")
    simulated_s = len(study.plan.clients) * (study.plan.warm_up_s + study.plan.measure_s)
    found = expected_run_s(study, options(study))
    assert found is not None
    assert 0 < found < simulated_s


def test_the_time_of_queries_grows_with_their_data_and_streams() -> None:
    study, text = find_study("complex-queries")
    large = parse_study(text.replace("scale_factor = 1", "scale_factor = 10"), "large.toml")
    small_s, large_s = (expected_run_s(each, options(each)) for each in (study, large))
    assert small_s is not None and large_s is not None
    assert 5 < large_s / small_s < 10.5


@pytest.mark.parametrize(
    ("plan", "changes", "text"),
    [
        (
            Plan(blocks=6, measure_s=10),
            {"blocks": 3, "measure_s": 2.0},
            "3 blocks in place of 6, 2 s in place of 10 s: intervals about 2.4 to 5.3 times wider",
        ),
        (
            Plan(blocks=6, measure_s=1),
            {"blocks": 3},
            "3 blocks in place of 6: intervals about 2.4 times wider",
        ),
        (
            Plan(blocks=3, measure_s=8),
            {"measure_s": 2.0},
            "2 s in place of 8 s: intervals about 1 to 2 times wider",
        ),
        (Plan(blocks=2, measure_s=1), {}, "nothing to shorten: 2 blocks, 1 s per load point"),
    ],
)
def test_a_quick_plan_says_what_it_loses(plan: Plan, changes: dict[str, float], text: str) -> None:
    assert quick_changes(plan) == changes
    assert quick_text(plan, changes) == text


def test_a_quick_run_is_written_into_the_study_and_leaves_alone_what_is_given() -> None:
    plan = tomllib.loads(adjusted("aa", quick=True, measure_s=4).text)["plan"]
    assert (plan["blocks"], plan["measure_s"]) == (3, 4)
