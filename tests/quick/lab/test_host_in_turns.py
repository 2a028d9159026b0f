"""Host settings of options that take turns: which ones can, and what is written when."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from host_study import study_text

from steelyard.host.cpus.scheduling import Placement
from steelyard.host.kernel import value_of, write
from steelyard.host.processes.guard import Guard
from steelyard.lab.machine import host_settings
from steelyard.lab.machine.host_settings import Host
from steelyard.study.host_settings import HostSettings
from steelyard.study.load_study import find_study, plan_study
from steelyard.study.study import Option
from steelyard.study.workloads.statements import StatementWorkload
from steelyard.subjects import SubjectFailed
from steelyard.subjects.in_turns import servers_of, why_one_after_another

CPUS = frozenset(os.sched_getaffinity(0))


def option(label: str, **files: str) -> Option:
    return Option(label, {}, StatementWorkload(), host=dict(files))


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Settings of a machine that are files of the test."""
    found = {name: tmp_path / name for name in ("one", "two")}
    for path in found.values():
        path.write_text("old\n")

    def settings(host: Mapping[str, object]) -> HostSettings:
        return HostSettings({}, {}, 0, tuple((name, found[name], str(value)) for name, value in host.items()))

    monkeypatch.setattr(host_settings, "host_settings", settings)
    return found


def test_each_option_finds_its_own_values_and_the_old_ones_where_it_has_none(files: dict[str, Path]) -> None:
    with Guard() as guard:
        host = Host(guard, Placement(CPUS, CPUS))
        a, b = option("A", one="1"), option("B", one="2", two="3")
        for now, one, two in (
            (a, "1", "old"),
            (b, "2", "3"),
            (a, "1", "old"),
            (a, "1", "old"),
            (b, "2", "3"),
        ):
            host.change(now)
            assert (value_of(files["one"]), value_of(files["two"])) == (one, two)
        host.restore()
        assert {value_of(path) for path in files.values()} == {"old"}


@pytest.mark.parametrize("changes", range(1, 5))
def test_the_guard_restores_whatever_value_the_lab_left(files: dict[str, Path], changes: int) -> None:
    with Guard() as guard:
        host = Host(guard, Placement(CPUS, CPUS))
        for number in range(changes):
            host.change(option("X", one=str(number % 3)))
        # the lab ends here without restore()
    assert value_of(files["one"]) == "old"


def test_what_another_program_changes_between_turns_ends_the_study_and_is_left(
    files: dict[str, Path],
) -> None:
    with Guard() as guard:
        host = Host(guard, Placement(CPUS, CPUS))
        host.change(option("A", one="1"))
        write(files["one"], "theirs")
        with pytest.raises(SubjectFailed, match=r"another program changed .*/one to theirs: left unchanged"):
            host.change(option("B", one="2"))
        with pytest.raises(SubjectFailed, match="left unchanged; before the run it was old"):
            host.restore()
    assert value_of(files["one"]) == "theirs"


def test_a_change_between_turns_takes_the_cpu_time_of_a_few_writes(files: dict[str, Path]) -> None:
    with Guard() as guard:
        host = Host(guard, Placement(CPUS, CPUS))
        options = [option(label, one=label) for label in "AB"]
        for own in options:
            host.change(own)
        changes: list[float] = []
        writes: list[float] = []
        for number in range(200):
            begin = time.thread_time()
            host.change(options[number % 2])
            changed = time.thread_time()
            files["one"].write_text(files["one"].read_text())
            changes.append(changed - begin)
            writes.append(time.thread_time() - changed)
        host.restore()
    assert sorted(changes)[100] < 20 * sorted(writes)[100]


@pytest.mark.parametrize(
    ("levels", "fixed", "why"),
    [
        ("A = { server.slice_ms = 3 }\nB = { server.slice_ms = 5 }", "hogs.count = 2", ""),
        ("A = { engine.nice = 3 }\nB = { engine.nice = 5 }", "", ""),
        ("A = { server.cpu_weight = 100 }\nB = { server.cpu_weight = 10 }", "", ""),
        ("A = { sysctl.kernel.sched_autogroup_enabled = 0 }\nB = {}", "", ""),
        ("A = { server.cpu_quota = 1 }\nB = { server.cpu_quota = 0.5 }", "", "in periods of 100 ms"),
        ("A = { server.slice_ms = 3 }\nB = {}", "engine.cpu_quota = 0.5", "in periods of 100 ms"),
        ("A = { server.slice_ms = 3 }\nB = {}", "hogs.count = 1\nhogs.cpu_quota = 0.5", ""),
        (
            "A = { hogs.count = 1 }\nB = { hogs.count = 2 }",
            "",
            "hogs.count differs between options and CPU hogs",
        ),
        (
            'A = { thp = "never" }\nB = { thp = "always" }',
            "",
            "thp differs between options and acts on memory",
        ),
        (
            "A = { sysctl.vm.swappiness = 1 }\nB = { sysctl.vm.swappiness = 2 }",
            "",
            "sysctl.vm.swappiness differs",
        ),
        ("A = { cmdline.quiet = true }\nB = { cmdline.quiet = false }", "", "takes effect only at boot"),
    ],
)
def test_settings_that_hold_at_once_take_turns_and_others_have_a_reason(
    levels: str, fixed: str, why: str
) -> None:
    study, options = plan_study(study_text(levels, fixed), "host")
    assert why in why_one_after_another(study, options)
    assert bool(why) == bool(why_one_after_another(study, options))


def test_options_have_servers_of_their_own_where_they_differ_in_the_scheduling_of_the_server() -> None:
    for role, servers in (("server", [0, 1]), ("engine", [0, 0])):
        levels = f"A = {{ {role}.slice_ms = 3 }}\nB = {{ {role}.slice_ms = 5 }}"
        assert list(servers_of(*plan_study(study_text(levels), "host")).values()) == servers


def test_the_catalogue_s_study_of_slices_takes_turns() -> None:
    study, options = plan_study(find_study("scheduler-slice")[1], "scheduler-slice")
    assert why_one_after_another(study, options) == ""
    assert len(set(servers_of(study, options).values())) == len(options) == 8
