"""Kernels of this machine as levels, over reboots: how a study of them ends."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from booted_machine import NEW, OLD, Machine, machine_of, needs_namespaces, runs, schedule, study
from laboratory import Lab

from steelyard.bundle.reader import Bundle


@pytest.fixture
def machine(lab: Lab, tmp_path: Path) -> Machine:
    return machine_of(lab, tmp_path)


@needs_namespaces
def test_a_study_of_two_kernels_goes_on_where_it_was_over_three_boots(lab: Lab, machine: Machine) -> None:
    path = study(lab.folder, blocks=4)
    planned = [(n, label, 1) for n, block in enumerate(schedule(path.read_text()), 1) for label in block]
    first = lab.run("run", path, "--bundle", lab.bundle)
    asked = first
    boots = 0
    while asked.returncode == 4:
        boots += 1
        wanted = NEW if "kernel = 6.12" in asked.stderr.partition("hint: boot")[2] else OLD
        assert f"then: steelyard resume {lab.bundle}" in asked.stderr
        machine.boot(wanted)
        asked = lab.run("resume", lab.bundle)
        assert boots < 10, asked.stderr
    assert asked.returncode == 0, asked.stderr
    # every option once a block, none twice, in the order planned before the first
    assert runs(lab.bundle) == planned
    # one boot a block, and one to begin with where the first kernel was not there yet
    assert boots <= 5
    known = Bundle(lab.bundle).environment["boots"]
    assert {boot["kernel"]["release"] for boot in known} == {OLD, NEW}
    assert len({boot["boot_id"] for boot in known}) == len(known)
    assert not lab.traces()


@needs_namespaces
def test_another_kernel_of_the_same_name_is_refused(lab: Lab, machine: Machine) -> None:
    path = study(lab.folder, "[reboots]\nunit = true\n")
    first = lab.run("run", path, "--bundle", lab.bundle)
    assert machine.units
    if not lab.runs():  # the other kernel was first
        machine.boot(NEW)
        first = lab.run("resume", lab.bundle)
    assert first.returncode == 4 and lab.runs()
    was = Bundle(lab.bundle).environment["boots"][-1]["kernel"]["release"]
    machine.boot("6.1.0-57-amd64" if was == OLD else "6.12.118-amd64")
    again = lab.run("resume", lab.bundle)
    assert again.returncode == 2
    assert f"was {was} in this study" in again.stderr
    assert not machine.units


# what Python starts with: under one kernel it ends the load engine
_KILLS = """\
import os, sys
release = open("/proc/sys/kernel/osrelease").read()
if "steelyard.lab.engines.process" in sys.orig_argv and release.startswith("{kernel}."):
    os._exit(9)
"""


@needs_namespaces
def test_an_option_that_fails_after_every_boot_ends_the_study_at_the_second(
    lab: Lab, machine: Machine
) -> None:
    path = study(lab.folder, '[reboots]\ncommand = ["true"]\nunit = true\n')
    kernels = {"old": ("6.1", OLD), "new": ("6.12", NEW)}
    # the last of its block: a block done anew begins with a boot
    fails = schedule(path.read_text())[0][-1]
    (lab.folder / "sitecustomize.py").write_text(_KILLS.format(kernel=kernels[fails][0]))
    paths = f"{lab.folder}:{os.environ.get('PYTHONPATH', '')}"
    outcome = lab.run("run", path, "--bundle", lab.bundle, PYTHONPATH=paths)
    for _ in range(8):
        if outcome.returncode != 4:
            break
        wanted = Bundle(lab.bundle).environment["reboots"][-1]["wanted"]["kernel"]
        machine.boot(dict(kernels.values())[wanted])
        outcome = lab.run("resume", lab.bundle, PYTHONPATH=paths)
    assert outcome.returncode == 1, outcome.stderr
    assert f"block 1 failed twice: {fails}: the load engine ended with exit code 9" in outcome.stderr
    rows = Bundle(lab.bundle).columns("select attempt, option from runs where status = 'void' order by run")
    assert list(zip(rows["attempt"], rows["option"], strict=True)) == [(1, fails), (2, fails)]
    assert not machine.units


@needs_namespaces
def test_a_boot_command_that_fails_leaves_no_unit(lab: Lab, machine: Machine) -> None:
    machine.boot("5.10.0-1-amd64")
    path = study(lab.folder, '[reboots]\ncommand = ["false"]\nunit = true\n')
    outcome = lab.run("run", path, "--bundle", lab.bundle)
    assert outcome.returncode == 1
    assert "reboots.command ended with exit code 1" in outcome.stderr
    assert not machine.units


@needs_namespaces
def test_reboots_are_counted_and_a_stop_file_ends_them(lab: Lab, machine: Machine) -> None:
    more = '[reboots]\ncommand = ["true"]\nmost = 1\n'
    outcome = lab.run("run", study(lab.folder, more, blocks=3), "--bundle", lab.bundle)
    while outcome.returncode == 4:
        wanted = Bundle(lab.bundle).environment["reboots"][-1]["wanted"]["kernel"]
        machine.boot(NEW if wanted == "6.12" else OLD)
        outcome = lab.run("resume", lab.bundle)
    assert outcome.returncode == 1
    assert "the limit of 1 reboots is reached" in outcome.stderr
    (lab.bundle / "stop").touch()
    outcome = lab.run("resume", lab.bundle)
    assert outcome.returncode == 1
    assert "continues only after this file is removed" in outcome.stderr


@needs_namespaces
def test_a_command_boots_and_a_unit_goes_on_until_the_study_ends(lab: Lab, machine: Machine) -> None:
    told = lab.folder / "booted"
    more = f"""[reboots]
command = ["sh", "-c", "echo {{kernel}} > {told}"]
unit = true
"""
    path = study(lab.folder, more)
    planned = [(n, label, 1) for n, block in enumerate(schedule(path.read_text()), 1) for label in block]
    outcome = lab.run("run", path, "--bundle", lab.bundle)
    for _ in range(5):
        if outcome.returncode != 4:
            break
        assert machine.units == ["steelyard-resume.service"] * 2  # the file, and what enables it
        unit = (machine.folder / "units/steelyard-resume.service").read_text()
        line = next(line for line in unit.splitlines() if line.startswith("ExecStart="))
        machine.boot(NEW if told.read_text().strip() == "6.12" else OLD)
        done = subprocess.run(
            [*machine.prefix, *line.removeprefix("ExecStart=").split()],
            capture_output=True, text=True, check=False, cwd=lab.folder,
            env={**os.environ, "TMPDIR": str(lab.folder)},
        )  # fmt: skip
        outcome = done
    assert outcome.returncode == 0, outcome.stderr
    # every option once a block, none twice, in the order planned before the first
    assert runs(lab.bundle) == planned
    assert not machine.units
