"""Kernels of this machine as levels, over reboots: the lab really ends between two boots.

A boot is played by a mount namespace in which the kernel's own files say another release, command line
and boot_id; everything else, the lab first of all, is what runs in earnest.
"""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laboratory import Lab
from steelyard.bundle.reader import Bundle
from steelyard.lab.machine.boots import Boot, BootNeeded
from steelyard.study.errors import InputError
from steelyard.study.load_study import parse_study
from steelyard.study.plan import blocks, options
from steelyard.workflow.prepare import PreparedStudy

STUDY = """\
name = "kernels"
question = "Which kernel?"
[subject]
kind = "null"
[factors.kernel]
scope = "host"
levels = {{ old = "6.1", new = "6.12" }}
{more}
[plan]
clients = [1]
warm_up_s = 0
measure_s = 0.1
cool_down_s = 0
blocks = {blocks}
[monitors]
processes = 5
"""
OLD, NEW = "6.1.0-56-amd64", "6.12.117+deb12-amd64"
_PLAY = """\
mount --bind "$0/osrelease" /proc/sys/kernel/osrelease
mount --bind "$0/cmdline" /proc/cmdline
mount --bind "$0/boot_id" /proc/sys/kernel/random/boot_id
mount --bind "$0/units" /etc/systemd/system
exec "$@"
"""


def can_play() -> bool:
    tried = ["unshare", "--mount", "sh", "-c", "mount --bind /proc/version /proc/cmdline"]
    if os.geteuid() != 0 or not Path("/etc/systemd/system").is_dir():
        return False
    return not subprocess.run(tried, capture_output=True, check=False).returncode


needs_namespaces = pytest.mark.skipif(
    not can_play(), reason="needs root, and mounts in a namespace of its own"
)


class Machine:
    """What the lab sees of the kernel."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "machine"
        (self.folder / "units").mkdir(parents=True)
        self.boots = 0

    def boot(self, release: str, cmdline: str = "quiet") -> None:
        self.boots += 1
        for name, text in (("osrelease", release), ("cmdline", cmdline), ("boot_id", f"boot-{self.boots}")):
            (self.folder / name).write_text(text + "\n")

    @property
    def prefix(self) -> tuple[str, ...]:
        return ("unshare", "--mount", "sh", "-e", "-c", _PLAY, str(self.folder))

    @property
    def units(self) -> list[str]:
        return sorted(path.name for path in (self.folder / "units").rglob("*.service"))


@pytest.fixture
def machine(lab: Lab, tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    machine.boot(OLD)
    lab.prefix = machine.prefix
    return machine


def study(folder: Path, more: str = "", blocks: int = 2) -> Path:
    path = folder / "kernels.toml"
    path.write_text(STUDY.format(more=more, blocks=blocks))
    return path


def schedule(text: str) -> list[list[str]]:
    found = parse_study(text, "a test")
    return [[slot.option.label for slot in block] for block in blocks(found, options(found))]


def runs(bundle: Path) -> list[tuple[int, str, int]]:
    rows = Bundle(bundle).columns("select block, option, attempt from runs order by run")
    return list(zip(rows["block"].tolist(), rows["option"].tolist(), rows["attempt"].tolist(), strict=True))


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
def test_ctrl_c_leaves_no_unit(lab: Lab, machine: Machine) -> None:
    machine.boot("5.10.0-1-amd64")
    path = study(lab.folder, "[reboots]\nunit = true\n")
    path.write_text(path.read_text().replace("measure_s = 0.1", "measure_s = 60"))
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
def test_a_command_boots_and_a_unit_goes_on_until_the_study_ends(lab: Lab, machine: Machine) -> None:
    told = lab.folder / "booted"
    more = f"""[reboots]
command = ["sh", "-c", "echo {{kernel}} > {told}"]
unit = true
"""
    outcome = lab.run("run", study(lab.folder, more), "--bundle", lab.bundle)
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
    assert len(runs(lab.bundle)) == 4
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


def proc(folder: Path, release: str, cmdline: str) -> Path:
    for name, text in (
        ("sys/kernel/osrelease", release),
        ("cmdline", cmdline),
        ("sys/kernel/random/boot_id", "1"),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text + "\n")
    return folder


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ({"kernel": "6.1"}, ""),
        ({"kernel": "6.1.0-56-amd64"}, ""),
        ({"kernel": "6.12"}, "kernel = 6.12: it is 6.1.0-56-amd64"),
        ({"kernel": "6"}, ""),
        ({"cmdline.preempt": "full", "cmdline.nosmt": True}, ""),
        ({"cmdline.preempt": "none"}, "cmdline.preempt: the command line has no preempt=none"),
        ({"cmdline.mitigations": "off"}, "cmdline.mitigations: the command line has no mitigations=off"),
        ({"cmdline.nosmt": False}, "cmdline.nosmt = false: the command line has nosmt"),
        ({"cmdline.quiet": False}, ""),
    ],
)
def test_a_boot_is_told_by_release_and_whole_words(tmp_path: Path, wanted: dict[str, str], why: str) -> None:
    boot = Boot.now(proc(tmp_path, OLD, "root=/dev/vda preempt=full nosmt"))
    assert boot.unmet(wanted) == why


def test_a_kernel_s_name_ends_where_its_number_does(tmp_path: Path) -> None:
    boot = Boot.now(proc(tmp_path, NEW, ""))
    assert boot.unmet({"kernel": "6.1"}) and not boot.unmet({"kernel": "6.12"})


def test_what_is_needed_is_named(tmp_path: Path) -> None:
    found = options(parse_study(STUDY.format(more="", blocks=1), "a test"))
    with pytest.raises(BootNeeded, match=r"option new needs kernel = 6\.12: it is 6\.1\.0") as need:
        Boot.now(proc(tmp_path, OLD, "")).check(found[1])
    assert need.value.requested == {"kernel": "6.12"}


def test_an_option_does_not_run_in_a_boot_with_words_of_another(tmp_path: Path) -> None:
    bare, off = '{ kernel = "6.1" }', '{ kernel = "6.1", "cmdline.mitigations" = "off" }'
    text = STUDY.format(more="", blocks=1).replace('"6.1", new = "6.12"', f"{bare}, new = {off}")
    old, new = PreparedStudy.of(text, "a test").options
    with_word = Boot.now(proc(tmp_path / "with", OLD, "quiet mitigations=off"))
    without = Boot.now(proc(tmp_path / "without", OLD, "quiet"))
    with_word.check(new)
    without.check(old)
    with pytest.raises(BootNeeded, match=r"mitigations = false: the command line has mitigations=off"):
        with_word.check(old)
    with pytest.raises(BootNeeded, match=r"the command line has no mitigations=off"):
        without.check(new)


def test_words_of_a_guest_are_left_as_they_are() -> None:
    more = '[factors.smt]\nscope = "host"\nlevels = { on = {}, off = { "cmdline.nosmt" = true } }\n'
    text = STUDY.format(more=more, blocks=1).partition("[monitors]")[0]
    guests = PreparedStudy.of(text.replace('"null"', '"virtual-machine"'), "a test").options
    assert [option.host for option in guests[:2]] == [
        {"kernel": "6.1"},
        {"kernel": "6.1", "cmdline.nosmt": True},
    ]
    ours = PreparedStudy.of(text, "a test").options
    assert ours[0].host == {"kernel": "6.1", "cmdline.nosmt": False}


def test_a_boot_command_that_nothing_fills_and_one_that_nobody_needs_are_refused() -> None:
    unknown = STUDY.format(more='[reboots]\ncommand = ["boot", "{kernle}"]', blocks=1)
    with pytest.raises(InputError, match=r"unknown \{kernle\}"):
        PreparedStudy.of(unknown, "a test")
    handles = f"{HANDLES}[reboots]\nunit = true\n"
    idle = STUDY.format(more=handles, blocks=1).replace('kernel]\nscope = "host"', 'text]\nscope = "client"')
    idle = idle.replace('old = "6.1", new = "6.12"', 'same = "identical", many = "distinct"')
    with pytest.raises(InputError, match="no option sets a kernel or a command line"):
        PreparedStudy.of(idle, "a test")


HANDLES = '[factors.handle]\nscope = "client"\nlevels = { simple = "none", named = "named" }\n'


def changes_of(labels: Sequence[str]) -> int:
    kernels = [label.partition("_")[0] for label in labels]
    return sum(a != b for a, b in itertools.pairwise(kernels))


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_kernels_change_once_a_block_and_weigh_alike_under_drift(seed: int) -> None:
    text = STUDY.format(more=HANDLES, blocks=4).replace("blocks = 4", f"blocks = 4\nseed = {seed}")
    planned = schedule(text)
    assert [sorted(block) for block in planned] == [sorted(planned[0])] * 4
    order = [label for block in planned for label in block]
    assert changes_of(order) == len(planned)
    for start in (0, 8):
        pair = order[start : start + 8]
        places: dict[str, int] = {}
        for place, label in enumerate(pair):
            places[label] = places.get(label, 0) + place
        # a steady drift weighs the same on each option
        assert set(places.values()) == {7}
