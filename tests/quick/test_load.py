"""What a subject hands to the lab: its kind, and the load of a run."""

from __future__ import annotations

from typing import Any

import pytest

from steelyard.lab.engines.plan import engine_limit_s, engine_plan
from steelyard.lab.engines.result_tables import why_nothing
from steelyard.monitors import MONITORS
from steelyard.study.load_study import plan_study
from steelyard.study.study import Slot
from steelyard.subjects import SUBJECTS, Load, Server, kinds
from steelyard.workloads import work_of

STUDY = """
name = "outside"
question = "Does an engine of another language fit?"
subject.kind = "null"
[factors.handle]
scope = "client"
levels = { A = "named", B = "per-use" }
"""


def planned(load: Load) -> tuple[dict[str, Any], float]:
    study, options = plan_study(STUDY, "outside")
    slot = Slot(2, 1, options[1])
    return engine_plan(study, slot, work_of(study.workload), load), engine_limit_s(study, slot, load)


def test_an_engine_of_another_language_drives_a_server_at_an_address() -> None:
    server = Server("db.example", 5432, "bench", "bench", protocol="postgres")
    load = Load(engine="jdbc", plan={"driver": "postgresql.jar"}, server=server)
    plan, limit_s = planned(load)
    assert not load.in_process
    assert plan["driver"] == "postgresql.jar"
    assert plan["server"]["host"] == "db.example"
    assert plan["handle"] == "per-use"
    assert 0 < limit_s < float("inf")


def test_a_simulation_has_the_block_for_its_seed_and_no_limit() -> None:
    load = Load(engine="dispatch", own_clock=True, limit_s=float("inf"))
    plan, limit_s = planned(load)
    assert load.in_process
    assert plan["block"] == 2 and "server" not in plan
    assert limit_s == float("inf")


def test_every_kind_of_subject_names_monitors_that_are_registered() -> None:
    found = list(kinds())
    assert len(found) == len(SUBJECTS)
    assert {name for kind in found for name in kind.monitors} <= MONITORS.keys()


def samples_of(**totals: float) -> dict[str, dict[str, list[Any]]]:
    return {
        "samples": {
            "monitor": ["postgres-waits"] * len(totals),
            "metric": ["samples_total"] * len(totals),
            "entity": [name.replace("_", ":") for name in totals],
            "value": list(totals.values()),
        }
    }


@pytest.mark.parametrize(
    ("totals", "said"),
    [
        (
            {"IPC_SyncRep": 97, "CPU_running": 3},
            "97 % of the time for IPC:SyncRep: no standby of synchronous_standby_names",
        ),
        (
            {"Client_ClientRead": 9},
            "100 % of the time for Client:ClientRead: the server expects data, as of COPY",
        ),
        ({"IO_DataFileRead": 6, "CPU_running": 4}, "60 % of the time for IO:DataFileRead"),
        ({"CPU_running": 9, "Lock_tuple": 1}, "raise plan.measure_s"),
        ({}, "raise plan.measure_s"),
    ],
)
def test_without_transactions_the_wait_that_prevails_is_named(totals: dict[str, float], said: str) -> None:
    assert "no transaction ended in the measure phase: " in why_nothing(samples_of(**totals))
    assert said in why_nothing(samples_of(**totals))
    errors = {"errors": {"count": [3], "code": ["40P01"], "message": ["deadlock detected"]}}
    failed = why_nothing({**samples_of(**totals), **errors})
    assert failed.startswith("no transaction succeeded; 3 failed with 40P01: deadlock detected")
