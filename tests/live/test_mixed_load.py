"""Reports beside order entry: counted apart, and scheduled apart."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace

import pytest
from loaded_server import running
from mixed_load import study_text

from steelyard import _core
from steelyard.errors import InputError
from steelyard.host.cpus.scheduling import place, schedule_of
from steelyard.host.processes.guard import Guard
from steelyard.lab.alone import BackgroundSessions
from steelyard.lab.engines.plan import engine_plan
from steelyard.lab.engines.result import LoadFailed
from steelyard.lab.machine.host_settings import Host
from steelyard.study.load_study import plan_study
from steelyard.study.study import Slot
from steelyard.subjects.in_turns import why_one_after_another
from steelyard.workloads import work_of
from steelyard.workloads.load_plan import anywhere, check_load


def test_settings_of_reports_need_sessions_that_report() -> None:
    with pytest.raises(InputError, match=r"report\.\w+ has no effect in SAME: no session executes reports"):
        plan_study(study_text(reports=0), "study.toml")


def test_sessions_have_no_control_group() -> None:
    text = study_text().replace("report.nice = 15", "report.cpu_weight = 15")
    with pytest.raises(InputError, match=r'no setting "report\.cpu_weight" of scope host'):
        plan_study(text, "study.toml")


def test_some_client_has_to_enter_orders() -> None:
    study, options = plan_study(study_text(reports=4), "study.toml")
    with pytest.raises(InputError, match="4 clients execute a transaction of their own: needs more than 4"):
        check_load(study, options[0], work_of(options[0].workload), anywhere("postgres"))


def test_reports_are_too_long_for_turns() -> None:
    study, options = plan_study(study_text(), "study.toml")
    assert why_one_after_another(study, options) == "reporting queries are longer than a turn"


def test_reports_count_apart_and_only_their_session_is_scheduled() -> None:
    with running("postgres", study_text(reports=2)) as server, Guard() as guard:
        host = Host(guard, place(1, False))
        server.start("LATE")
        load, work, option = server.load, server.works["LATE"], server.options["LATE"]
        assert load is not None and load.server is not None and load.server.sessions is not None
        sessions, background = load.server.sessions, BackgroundSessions(host, option, work, load)
        nice: list[tuple[int, int]] = []

        def on_event(line: str) -> None:
            event = json.loads(line)
            if event["event"] == "phase":
                background.phase(event)
            if event["event"] == "phase" and event["phase"] == "measure":
                time.sleep(0.3)
                reporting: set[int] = set()
                # a session that begins or ends its transaction shows that statement
                while len(reporting) < 2:
                    reporting |= set(sessions("select ol_i_id, count(*)"))
                every = set(sessions(""))
                nice.extend((pid in reporting, schedule_of(pid).nice or 0) for pid in every)

        plan = engine_plan(server.study, Slot(1, 1, option), work, load)
        result = json.loads(_core.load_run(json.dumps(plan), on_event))
        own = os.getpriority(os.PRIO_PROCESS, 0)
        assert sorted(set(nice)) == [(False, own), (True, 15)] and sum(r for r, _ in nice) == 2
        kinds = dict(zip(result["transactions"]["transaction"], result["transactions"]["count"], strict=True))
        assert kinds["report"] > 0 and kinds["new-order"] > 0
        latency = dict(zip(result["latency"]["statement"], result["latency"]["count"], strict=True))
        assert latency["transaction"] == sum(kinds.values()) - kinds["report"]
        assert latency["transaction report"] == kinds["report"]
        # the sessions have gone: a check now is a failure by name
        server.subject.stop()
        with pytest.raises(LoadFailed, match="a reporting session ended under load"):
            host.confirm(replace(option, host={}), {})
