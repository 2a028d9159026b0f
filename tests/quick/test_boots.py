"""Kernels as levels: how a boot is told, and the plan over reboots."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest
from booted_machine import NEW, OLD, STUDY, schedule
from hypothesis import given, settings
from hypothesis import strategies as st
from needs import GUESTS

from steelyard.errors import InputError
from steelyard.lab.machine.host_settings import Boot, BootNeeded
from steelyard.study.load_study import parse_study
from steelyard.study.plan import options
from steelyard.workflow.prepare import PreparedStudy


def booted(folder: Path, release: str, cmdline: str) -> Boot:
    for name, text in (
        ("sys/kernel/osrelease", release),
        ("cmdline", cmdline),
        ("sys/kernel/random/boot_id", "1"),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text + "\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("steelyard.lab.machine.host_settings.PROC", folder)
        return Boot.now()


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
    boot = booted(tmp_path, OLD, "root=/dev/vda preempt=full nosmt")
    assert boot.unmet(wanted) == why


def test_a_kernel_s_name_ends_where_its_number_does(tmp_path: Path) -> None:
    boot = booted(tmp_path, NEW, "")
    assert boot.unmet({"kernel": "6.1"}) and not boot.unmet({"kernel": "6.12"})


def test_what_is_needed_is_named(tmp_path: Path) -> None:
    found = options(parse_study(STUDY.format(more="", blocks=1), "a test"))
    with pytest.raises(BootNeeded, match=r"option new needs kernel = 6\.12: it is 6\.1\.0") as need:
        booted(tmp_path, OLD, "").check(found[1])
    assert need.value.requested == {"kernel": "6.12"}


def test_an_option_does_not_run_in_a_boot_with_words_of_another(tmp_path: Path) -> None:
    bare, off = '{ kernel = "6.1" }', '{ kernel = "6.1", "cmdline.mitigations" = "off" }'
    text = STUDY.format(more="", blocks=1).replace('"6.1", new = "6.12"', f"{bare}, new = {off}")
    old, new = PreparedStudy.of(text, "a test").options
    with_word = booted(tmp_path / "with", OLD, "quiet mitigations=off")
    without = booted(tmp_path / "without", OLD, "quiet")
    with_word.check(new)
    without.check(old)
    with pytest.raises(BootNeeded, match=r"mitigations = false: the command line has mitigations=off"):
        with_word.check(old)
    with pytest.raises(BootNeeded, match=r"the command line has no mitigations=off"):
        without.check(new)


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


@pytest.mark.needs(*GUESTS)
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
