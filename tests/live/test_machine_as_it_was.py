"""A study leaves the machine as it was, with what the kernel changes together; a dry run writes nothing."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from kernel_settings import (
    BYTES,
    COMMIT,
    CPUS,
    FORWARD,
    HIGH,
    KBYTES,
    LOW,
    RATIO,
    REDIRECTS,
    SYS,
    check_copies,
    check_end,
    check_pair,
    kept_machine,
    needs_root,
    of,
    option,
)
from laboratory import Lab

from steelyard.host.cpus.scheduling import Placement
from steelyard.host.kernel import settle, write
from steelyard.host.processes.guard import Guard
from steelyard.lab.machine.host_settings import Host
from steelyard.subjects import SubjectFailed


@pytest.fixture
def machine() -> Iterator[dict[str, str]]:
    with kept_machine() as before:
        yield before


@pytest.fixture
def host() -> Iterator[Host]:
    with Guard() as guard:
        yield Host(guard, Placement(CPUS, CPUS))


@needs_root
@pytest.mark.parametrize(
    ("active", "old", "by_guard"),
    [(BYTES, "268435456", True), (RATIO, "20", False), (KBYTES, "9000000", False)],
)
def test_a_pair_has_its_old_values_again_whichever_was_active(
    machine: dict[str, str], active: str, old: str, by_guard: bool
) -> None:
    check_pair(active, old, by_guard)


@needs_root
@pytest.mark.parametrize(
    ("name", "copy", "before", "by_guard"),
    [
        (FORWARD, REDIRECTS, "0", True),
        ("net/ipv4/conf/default/rp_filter", "net/ipv4/conf/lo/rp_filter", "", False),
    ],
)
def test_settings_that_the_kernel_copies_elsewhere_leave_no_copy(
    machine: dict[str, str], name: str, copy: str, before: str, by_guard: bool
) -> None:
    check_copies(name, copy, before, by_guard)


@needs_root
@pytest.mark.parametrize("end", ["dry run", "run", signal.SIGKILL])
def test_the_machine_is_as_before_however_a_study_ends(
    lab: Lab, machine: dict[str, str], end: str | signal.Signals
) -> None:
    check_end(lab, end)


@needs_root
def test_each_option_has_its_own_member_of_a_pair_and_one_without_has_the_old(
    machine: dict[str, str], host: Host
) -> None:
    old = of(KBYTES, COMMIT)
    a, b = option({KBYTES: 8_000_000}), option({COMMIT: 60})
    for now, values in (
        (a, ["8000000", "0"]),
        (b, ["0", "60"]),
        (b, ["0", "60"]),
        (a, ["8000000", "0"]),
        (option({}), old),
        (b, ["0", "60"]),
    ):
        host.change(now)
        assert of(KBYTES, COMMIT) == values
    host.restore()
    assert of(KBYTES, COMMIT) == old


@needs_root
def test_two_settings_of_one_option_that_exclude_each_other_are_named(
    machine: dict[str, str], host: Host
) -> None:
    with pytest.raises(SubjectFailed, match=r"option X: sysctl.vm/\w+ = \d+: .* it has 0"):
        host.change(option({KBYTES: 8_000_000, COMMIT: 60}))
    host.restore()


@needs_root
def test_limits_that_depend_on_each_other_are_set_and_put_back_in_any_order(
    machine: dict[str, str], host: Host
) -> None:
    low, high = (int(value) for value in of(LOW, HIGH))
    host.change(option({LOW: high + 4096, HIGH: high + 8192}))
    assert of(LOW, HIGH) == [str(high + 4096), str(high + 8192)]
    host.change(option({HIGH: low - 1, LOW: low - 2}))
    host.change(option({}))
    assert of(LOW, HIGH) == [str(low), str(high)]
    host.restore()


@needs_root
def test_a_coupled_setting_that_another_program_changed_is_left_and_reported(
    machine: dict[str, str], host: Host
) -> None:
    before = of(BYTES, RATIO)
    host.change(option({BYTES: 67108864}))
    write(SYS / RATIO, "33")
    try:
        with pytest.raises(SubjectFailed, match=r"another program changed \S+dirty_ratio to 33: left"):
            host.change(option({}))
        with pytest.raises(SubjectFailed, match="dirty_ratio to 33: left unchanged; before the run it was"):
            host.restore()
        assert of(BYTES, RATIO) == ["0", "33"]
    finally:
        settle(dict(zip((SYS / BYTES, SYS / RATIO), before, strict=True)))


@needs_root
def test_two_studies_do_not_change_coupled_settings(machine: dict[str, str], host: Host) -> None:
    host.change(option({BYTES: 67108864}))
    with Guard() as guard, pytest.raises(SubjectFailed, match="another study on this machine"):
        Host(guard, Placement(CPUS, CPUS)).change(option({RATIO: 5}))
    host.restore()


_KILLED_IN_A_TRIAL = """
import os, signal
from steelyard.host.cpus.control_group import ControlGroup
from steelyard.lab.machine.refused_settings import refusals

join = ControlGroup.join
def join_and_die(group, pid):
    join(group, pid)
    print(*group.folders, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
ControlGroup.join = join_and_die
list(refusals({"server.cpu_weight": 50}))
"""


@needs_root
def test_a_lab_killed_while_it_tries_a_control_group_leaves_none() -> None:
    # the process of the trial and the guard have this output too: it ends when both are gone
    done = subprocess.run(
        [sys.executable, "-c", _KILLED_IN_A_TRIAL], stdout=subprocess.PIPE, text=True, timeout=60, check=False
    )
    if not done.stdout:
        pytest.skip("control groups cannot be made here: steelyard doctor")
    assert not [folder for folder in done.stdout.split() if Path(folder).exists()]
