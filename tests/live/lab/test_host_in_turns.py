"""Host settings of options that take turns: changed between turns, undone whatever happens."""

from __future__ import annotations

import signal

import pytest
from host_study import in_short_turns, is_as_before, study_text
from laboratory import Lab

from steelyard.bundle.reader import Bundle
from steelyard.host.cpus.scheduling import schedule_of, tasks
from steelyard.lab.machine.refused_settings import refusals

SERVER = "_core.stub_serve"


def test_servers_in_turns_keep_their_own_slices(lab: Lab) -> None:
    levels = "A = { server.slice_ms = 1 }\nB = { server.slice_ms = 20 }"
    if list(refusals({"server.slice_ms": 1})):
        pytest.skip("no slices per task here")
    path = lab.folder / "study.toml"
    path.write_text(in_short_turns(study_text(levels, measure_s=2)))
    process = lab.start("run", path, "--bundle", lab.bundle)
    lab.wait_for(lambda: len(lab.ours(SERVER)) == 2, "two servers")
    lab.wait_for(lambda: slices(lab) == {1.0, 20.0}, "each with its own slice")
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "within a block the options take turns of 50 ms, on 2 servers" in err
    assert Bundle(lab.bundle).columns("select count(distinct run) as n from turns")["n"].tolist() == [2]
    assert not lab.ours()


def slices(lab: Lab) -> set[float | None]:
    return {schedule_of(task).slice_ms for pid in lab.ours(SERVER) for task in tasks(pid)}


def test_a_sysctl_changes_between_turns_and_is_as_before_when_the_lab_is_killed(lab: Lab) -> None:
    is_as_before(lab, signal.SIGKILL)
