"""Kernels of this machine as levels, over reboots: the lab really ends between two boots.

A boot is played by a mount namespace in which the kernel's own files say another release, command line
and boot_id; everything else, the lab first of all, is what runs in earnest.
"""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from booted_machine import NEW, OLD, Machine, machine_of, needs_namespaces, schedule, study
from laboratory import Lab


@pytest.fixture
def machine(lab: Lab, tmp_path: Path) -> Machine:
    return machine_of(lab, tmp_path)


@needs_namespaces
def test_ctrl_c_leaves_no_unit(lab: Lab, machine: Machine) -> None:
    machine.boot("5.10.0-1-amd64")
    path = study(lab.folder, "[reboots]\nunit = true\n")
    path.write_text(path.read_text().replace("measure_s = 0.3", "measure_s = 60"))
    assert lab.run("run", path, "--bundle", lab.bundle).returncode == 4
    assert machine.units
    machine.boot(OLD if schedule(path.read_text())[0][0] == "old" else NEW)
    process = lab.start("resume", lab.bundle)
    lab.wait_for(lambda: lab.ours("steelyard.lab.engines.process"), "a load engine")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 3, err
    assert not machine.units


@needs_namespaces
def test_a_boot_that_came_up_with_the_wrong_kernel_is_not_repeated(lab: Lab, machine: Machine) -> None:
    more = '[reboots]\ncommand = ["true"]\nunit = true\n'
    outcome = lab.run("run", study(lab.folder, more), "--bundle", lab.bundle)
    assert outcome.returncode == 4
    machine.boot("5.10.0-1-amd64")
    outcome = lab.run("resume", lab.bundle)
    assert outcome.returncode == 1
    assert "the machine was rebooted, but option" in outcome.stderr
    assert "it is 5.10.0-1-amd64: it is not rebooted again" in outcome.stderr
    assert not machine.units
