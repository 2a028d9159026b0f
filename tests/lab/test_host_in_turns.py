"""Host settings of options that take turns: changed between turns, undone whatever happens."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from laboratory import SMALL, Lab, alone
from steelyard.bundle.reader import Bundle
from steelyard.host.cpus.placement import Placement
from steelyard.host.cpus.scheduling import schedule_of, tasks
from steelyard.host.kernel.setting import value_of, write
from steelyard.host.processes.guard import Guard
from steelyard.lab.machine import host_settings
from steelyard.lab.machine.host_settings import Host
from steelyard.lab.machine.refused_settings import refusals
from steelyard.study.host_settings import HostSettings
from steelyard.study.load_study import plan_study
from steelyard.study.plan import Option
from steelyard.study.workloads.statements import StatementWorkload
from steelyard.subjects import SubjectFailed
from steelyard.subjects.in_turns import servers_of, why_one_after_another

CPUS = frozenset(os.sched_getaffinity(0))
AUTOGROUP = Path("/proc/sys/kernel/sched_autogroup_enabled")
SERVER = "_core.stub_serve"


def study_text(levels: str, fixed: str = "", blocks: int = 1, measure_s: float = 0.4) -> str:
    text = SMALL.format(subject="null", blocks=blocks, measure_s=measure_s)
    head, _, rest = text.partition("[factors")
    plan = "[plan]" + rest.partition("[plan]")[2].replace("\n", "\nturn_ms = 50\n", 1)
    factor = f'[factors.way]\nscope = "host"\n[factors.way.levels]\n{levels}\n'
    return f"{head}[host]\n{fixed}\n{factor}{plan}"


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
        with pytest.raises(SubjectFailed, match="another program changed one to theirs during the study"):
            host.change(option("B", one="2"))
        with pytest.raises(SubjectFailed, match="left unchanged; before the run it was old"):
            host.restore()
    assert value_of(files["one"]) == "theirs"


def test_a_change_between_turns_takes_less_than_a_millisecond_of_cpu(files: dict[str, Path]) -> None:
    with Guard() as guard:
        host = Host(guard, Placement(CPUS, CPUS))
        options = [option(label, one=label) for label in "AB"]
        for own in options:
            host.change(own)
        times: list[float] = []
        for number in range(200):
            begin = time.thread_time()
            host.change(options[number % 2])
            times.append(time.thread_time() - begin)
        host.restore()
    assert sorted(times)[100] < 1e-3


@pytest.mark.parametrize(
    ("levels", "fixed", "why"),
    [
        ("A = { server.slice_ms = 3 }\nB = { server.slice_ms = 5 }", "hogs.count = 2", ""),
        ("A = { engine.nice = 3 }\nB = { engine.nice = 5 }", "", ""),
        ("A = { server.cpu_weight = 100 }\nB = { server.cpu_weight = 10 }", "", ""),
        ("A = { sysctl.kernel.sched_autogroup_enabled = 0 }\nB = {}", "", ""),
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
        assert list(servers_of(plan_study(study_text(levels), "host")[1]).values()) == servers


def test_the_catalogue_s_study_of_slices_takes_turns() -> None:
    from steelyard.study.load_study import find_study

    study, options = plan_study(find_study("scheduler-slice")[1], "scheduler-slice")
    assert why_one_after_another(study, options) == ""
    assert len(set(servers_of(options).values())) == len(options) == 8


def test_servers_in_turns_keep_their_own_slices(lab: Lab) -> None:
    levels = "A = { server.slice_ms = 1 }\nB = { server.slice_ms = 20 }"
    if list(refusals({"server.slice_ms": 1})):
        pytest.skip("no slices per task here")
    path = lab.folder / "study.toml"
    path.write_text(study_text(levels, measure_s=3))
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


@pytest.fixture
def autogroup() -> Iterator[str]:
    """Its value, put back whatever a test does."""
    if not AUTOGROUP.exists() or list(refusals({"sysctl.kernel.sched_autogroup_enabled": "0"})):
        pytest.skip("kernel.sched_autogroup_enabled cannot be changed here")
    with alone():
        before = value_of(AUTOGROUP)
        yield before
        if value_of(AUTOGROUP) != before:
            write(AUTOGROUP, before)


@pytest.mark.parametrize("kind", [None, signal.SIGINT, signal.SIGKILL])
def test_a_sysctl_changes_between_turns_and_is_as_before_however_the_lab_ends(
    lab: Lab, autogroup: str, kind: signal.Signals | None
) -> None:
    key = "sysctl.kernel.sched_autogroup_enabled"
    path = lab.folder / "study.toml"
    path.write_text(study_text(f"A = {{ {key} = 0 }}\nB = {{ {key} = 1 }}", blocks=2, measure_s=2))
    process = lab.start("run", path, "--bundle", lab.bundle)
    seen: set[str] = set()

    def both() -> bool:
        seen.add(value_of(AUTOGROUP))
        return seen == {"0", "1"}

    lab.wait_for(lambda: len(lab.ours("steelyard.lab.engines.process")) == 2, "two engines")
    lab.wait_for(both, "both values")
    if kind is not None:
        process.send_signal(kind)
    process.communicate(timeout=120)
    lab.wait_for(lambda: not lab.ours(), f"the end of {lab.ours()}")
    assert value_of(AUTOGROUP) == autogroup
