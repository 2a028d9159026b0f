"""Shares of the CPUs by control groups: all processes of a role together, read back, nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from laboratory import Lab, control_groups, group_folders, text_of

from steelyard.host.cpus.control_group import ControlGroup, dissolve
from steelyard.host.cpus.scheduling import NotTaken, Placement, processes
from steelyard.host.processes.guard import Guard
from steelyard.lab.machine.host_settings import Host
from steelyard.lab.machine.refused_settings import refusals
from steelyard.study.host_settings import Share
from steelyard.study.study import Option
from steelyard.study.workloads.statements import StatementWorkload

CPUS = frozenset(os.sched_getaffinity(0))
ALL = Share(cpuset=frozenset({min(CPUS)}), cpu_weight=50, cpu_quota=0.5)
STUDY = """\
name = "shares"
question = "Which way?"

[subject]
kind = "null"

[workload]
kind = "lookup"
rows = 1000

[host]
hogs.count = 1
{fixed}

[factors.share]
scope = "host"
levels = {{ HALF = {{ engine.cpu_quota = 0.5 }}, ONE = {{ engine.cpu_quota = 1 }} }}

[plan]
clients = [2]
warm_up_s = 0.1
measure_s = 0.5
cool_down_s = 0.1
blocks = {blocks}

[monitors]
processes = 5
"""


def may_share() -> bool:
    return not list(
        refusals({"server.cpuset": str(min(CPUS)), "server.cpu_weight": 50, "server.cpu_quota": 0.5})
    )


needs_groups = pytest.mark.skipif(
    not may_share(), reason="control groups cannot be made here: steelyard doctor"
)


def allowed(pid: int) -> str:
    return text_of(pid, "status").partition("Cpus_allowed_list:")[2].split()[0]


def setting(folders: list[Path], *names: str) -> str:
    """Of the first of the files that is there: version 1 and version 2 name them differently."""
    return next(
        (folder / name).read_text().strip()
        for folder in folders
        for name in names
        if (folder / name).exists()
    )


@pytest.fixture
def sleeper() -> Iterator[int]:
    """A process with a child, which starts another after a second."""
    command = ["sh", "-c", "(sleep 1; sleep 60) & sleep 60"]
    process = subprocess.Popen(command, start_new_session=True)
    yield process.pid
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@needs_groups
def test_a_process_its_children_and_those_to_come_share_what_the_group_has(sleeper: int, lab: Lab) -> None:
    group = ControlGroup(ALL, f"steelyard-test-{os.getpid()}")
    try:
        group.make()
        group.join(sleeper)
        lab.wait_for(lambda: commands(sleeper).count("sleep 60 ") == 2, "the late child")
        for pid in processes(sleeper):
            assert allowed(pid) == str(min(CPUS))
            assert text_of(pid, "cgroup").count("steelyard-test") == len(group.folders)
        assert setting(group.folders, "cpu.weight", "cpu.shares") in ("50", "512")
        assert setting(group.folders, "cpu.max", "cpu.cfs_quota_us") in ("50000 100000", "50000")
        # no process can leave its cpuset
        if len(CPUS) > 1:
            with pytest.raises(OSError, match="Invalid argument"):
                os.sched_setaffinity(sleeper, {max(CPUS)})
    finally:
        for folder in group.folders:
            dissolve(folder)
    assert "steelyard" not in text_of(sleeper, "cgroup")
    assert not any(folder.exists() for folder in group.folders)


def commands(pid: int) -> list[str]:
    return [text_of(task, "cmdline").replace("\0", " ") for task in processes(pid)]


@needs_groups
def test_a_quota_throttles_what_only_computes(lab: Lab) -> None:
    with Guard() as guard:
        host = Host(guard, Placement(CPUS, CPUS))
        option = Option("X", {}, StatementWorkload(), host={"hogs.count": 2, "hogs.cpu_quota": 0.2})
        host.settle(option, {})
        try:
            names = control_groups(processes(os.getpid()))
            (stat,) = [
                folder / "cpu.stat" for folder in group_folders(names) if (folder / "cpu.stat").exists()
            ]
            lab.wait_for(lambda: "nr_throttled 0\n" not in stat.read_text(), "a hog that has to wait")
        finally:
            host.restore()
    assert not group_folders(names)


@needs_groups
def test_a_share_that_the_kernel_does_not_take_is_named_with_its_value() -> None:
    group = ControlGroup(Share(cpuset=frozenset({9998})), f"steelyard-test-{os.getpid()}")
    try:
        with pytest.raises(NotTaken, match=r"cpuset = 9998: "):
            group.make()
    finally:
        for folder in group.folders:
            dissolve(folder)


@needs_groups
def test_a_study_of_shares_ends_with_a_verdict_and_no_group(lab: Lab) -> None:
    path = lab.folder / "shares.toml"
    path.write_text(STUDY.format(fixed="hogs.cpu_weight = 1", blocks=1))
    process = lab.start("run", path, "--bundle", lab.bundle)
    seen: set[str] = set()
    while process.poll() is None:
        seen |= control_groups(lab.ours())
        time.sleep(0.05)
    _, err = process.communicate()
    assert process.returncode == 0, err
    assert len(seen) >= 2
    assert not group_folders(seen)


@needs_groups
def test_kill_9_of_the_lab_leaves_no_group(lab: Lab) -> None:
    path = lab.folder / "shares.toml"
    path.write_text(STUDY.format(fixed="hogs.cpu_weight = 1", blocks=20))
    process = lab.start("run", path, "--bundle", lab.bundle)
    lab.wait_for(lambda: len(control_groups(lab.ours())) >= 2, "groups of hogs and engine")
    seen = control_groups(lab.ours())
    process.kill()
    process.communicate(timeout=60)
    lab.wait_for(lambda: not group_folders(seen) and not lab.ours(), f"the end of {seen}, {lab.ours()}")
