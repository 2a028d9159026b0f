"""What is set must act: read back under load, it fails the run, or the study, by name."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from host_study import AUTOGROUP, AUTOGROUP_KEY, in_short_turns, study_text
from laboratory import ENGINE, Lab, alone, control_groups, group_folders

from steelyard.bundle.reader import Bundle
from steelyard.host.cpus.scheduling import NotTaken, impose, shown
from steelyard.host.kernel import value_of, write
from steelyard.lab.machine.refused_settings import refusals
from steelyard.study.host_settings import Schedule

EXTFRAG = Path("/proc/sys/vm/extfrag_threshold")
POLICIES = 'A = { engine.policy = "other" }\nB = { engine.policy = "batch" }'


def meddled(lab: Lab, text: str, meddle: Callable[[], None]) -> subprocess.CompletedProcess[str]:
    """A study beside which something goes on until it ends."""
    path = lab.folder / "study.toml"
    path.write_text(text)
    process = lab.start("run", path, "--bundle", lab.bundle)

    def over() -> bool:
        with suppress(OSError, NotTaken):
            meddle()
        return process.poll() is not None

    lab.wait_for(over, "the end of the study")
    return subprocess.CompletedProcess(path, process.returncode, *process.communicate())


@pytest.mark.parametrize("in_turns", [False, True])
def test_a_policy_that_the_load_engine_lost_fails_the_run(lab: Lab, in_turns: bool) -> None:
    text = study_text(POLICIES, measure_s=1)

    def meddle() -> None:
        for pid in lab.ours(ENGINE):
            impose(pid, Schedule(policy="idle"))

    done = meddled(lab, in_short_turns(text) if in_turns else alone_in(text), meddle)
    assert done.returncode != 0
    # the meddler may come before the policy is set: a user without privileges cannot leave `idle`
    if "did not take engine.policy = " not in done.stderr:
        assert "failed twice" in done.stderr and " a thread lost engine.policy = " in done.stderr, done.stderr
        assert ": it has idle under load" in done.stderr


def test_a_value_that_another_program_set_back_ends_the_study(lab: Lab) -> None:
    with alone():
        if list(refusals({"sysctl.vm.extfrag_threshold": "1"})):
            pytest.skip("vm.extfrag_threshold needs root")
        before = value_of(EXTFRAG)
        text = study_text(fixed="sysctl.vm.extfrag_threshold = 23", measure_s=1)

        def meddle() -> None:
            if lab.ours(ENGINE) and value_of(EXTFRAG) != before:
                write(EXTFRAG, before)

        done = meddled(lab, alone_in(text), meddle)
        assert value_of(EXTFRAG) == before
    assert done.returncode != 0
    assert f"another program set {EXTFRAG} back during a run" in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("setting", "file", "value", "message"),
    [
        ("cpu_quota = 0.05", "cpu.cfs_quota_us", "-1", "engine.cpu_quota = 0.05 does not act: "),
        ("cpu_weight = 50", "../cgroup.procs", "", "the engine left its control group under load"),
    ],
)
def test_a_control_group_that_no_longer_acts_fails_the_run(
    lab: Lab, setting: str, file: str, value: str, message: str
) -> None:
    name, _, number = setting.partition(" = ")
    if list(refusals({f"engine.{name}": float(number) if name == "cpu_quota" else int(number)})):
        pytest.skip("no control groups here")
    levels = f"A = {{ engine.{setting} }}\nB = {{ engine.{setting}, engine.slice_ms = 3 }}"

    def meddle() -> None:
        pids = lab.ours(ENGINE)
        for folder in group_folders(control_groups(pids)):
            version_2 = not (folder / "cpu.shares").exists()
            told = ("cpu.max", "max") if version_2 and value else (file, value)
            for pid in pids:
                write(folder / told[0], told[1] or str(pid))

    done = meddled(lab, alone_in(study_text(levels, measure_s=1.5)), meddle)
    assert done.returncode != 0 and message in done.stderr, done.stderr


def test_the_idle_policy_beside_busy_neighbours_without_autogroups_leaves_almost_nothing(lab: Lab) -> None:
    fixed = f'hogs.count = 2\nhogs.cpus = "{shown(frozenset(os.sched_getaffinity(0)))}"'
    levels = 'OTHER = { engine.policy = "other" }\nIDLE = { engine.policy = "idle" }'
    with alone():
        if AUTOGROUP.exists() and value_of(AUTOGROUP) == "1":
            if list(refusals({AUTOGROUP_KEY: "0"})):
                pytest.skip("autogroups cannot be turned off here")
            fixed += f"\n{AUTOGROUP_KEY} = 0"
        path = lab.folder / "study.toml"
        path.write_text(alone_in(study_text(levels, fixed, measure_s=1)))
        done = lab.run("run", path, "--bundle", lab.bundle)
    if "option IDLE: no transaction ended in the measure phase" in done.stderr:
        return  # as little as that
    assert done.returncode == 0, done.stderr
    rows = Bundle(lab.bundle).columns(
        "select option, sum(count) as done from transactions join runs using (run) group by 1"
    )
    counts = dict(zip(rows["option"], rows["done"], strict=True))
    assert counts["IDLE"] < 0.1 * counts["OTHER"], counts


def alone_in(text: str) -> str:
    return text.replace("[plan]", "[plan]\nturns = false")
