"""The plan of a run's engine."""

from __future__ import annotations

from steelyard.lab.engines.plan import engine_plan
from steelyard.study.load_study import plan_study
from steelyard.study.study import Slot
from steelyard.subjects import Load, Server
from steelyard.workloads import work_of

STUDY = """
name = "s"
question = "?"
[subject]
kind = "postgres"
[workload]
rows = 10
arrival = { kind = "open", rate_per_s = 400 }
[factors.handle]
scope = "client"
levels = { simple = "none", named = "named" }
[plan]
seed = 3
"""


def test_the_options_of_a_block_get_the_same_work_and_each_block_other_work() -> None:
    study, found = plan_study(STUDY, "s.toml")
    load = Load(server=Server("/tmp", 5432, "nobody", "none", "postgres"))
    seeds = [
        engine_plan(study, Slot(block, 1, option), work_of(study.workload), load)["seed"]
        for block in range(1, 7)
        for option in found
    ]
    assert seeds[::2] == seeds[1::2]
    assert len(set(seeds)) == 6 and all(0 <= seed < 2**63 for seed in seeds)
