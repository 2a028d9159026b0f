"""Host settings: read back from the kernel, named and left out where refused, undone whatever happens."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from host_study import SLICES, study_text
from hypothesis import given
from hypothesis import strategies as st
from laboratory import Lab, alone, text_of
from needs import needs_root

from steelyard.bundle.reader import Bundle
from steelyard.errors import InputError
from steelyard.host.cpus.scheduling import Placement, impose, misfit_of, schedule_of, tasks
from steelyard.host.finding import held, privileged
from steelyard.host.kernel import Saved, value_of, write
from steelyard.host.processes.cpu_hogs import Hogs
from steelyard.host.processes.guard import Guard
from steelyard.lab.engines.result import LoadFailed
from steelyard.lab.machine.host_settings import Host
from steelyard.lab.machine.refused_settings import permitted, refusals
from steelyard.study.host_settings import Schedule, cpus_of, host_settings
from steelyard.study.load_study import parse_study
from steelyard.study.plan import options
from steelyard.study.study import Option
from steelyard.study.workloads.statements import StatementWorkload
from steelyard.subjects import SubjectFailed

ENGINE = "steelyard.lab.engines.process"
HOGS = "steelyard.host.processes.cpu_hogs"
EXTFRAG = Path("/proc/sys/vm/extfrag_threshold")
CPUS = frozenset(os.sched_getaffinity(0))


def host_study(folder: Path, text: str) -> Path:
    path = folder / "host.toml"
    path.write_text(text)
    return path


def option(**settings: str | float) -> Option:
    return Option(
        "X",
        {},
        StatementWorkload(),
        host={key.replace("__", "."): value for key, value in settings.items()},
    )


def extfrag_may_change() -> bool:
    with alone():
        return not list(refusals({"sysctl.vm.extfrag_threshold": "1"}))


needs_extfrag = pytest.mark.skipif(not extfrag_may_change(), reason="vm.extfrag_threshold needs root")


@pytest.fixture
def extfrag() -> Iterator[str]:
    """Its value, put back whatever a test does."""
    with alone():
        before = value_of(EXTFRAG)
        yield before
        if value_of(EXTFRAG) != before:
            write(EXTFRAG, before)


@pytest.fixture
def sleeper() -> Iterator[int]:
    """A process with a child."""
    process = subprocess.Popen(
        ["sh", "-c", "sleep 60 & echo; wait"], start_new_session=True, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()  # the child is there
    yield process.pid
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


# what a study may say


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("server.slice = 3", 'did you mean "server.slice_ms"?'),
        ("server.slice_ms = 380", "milliseconds from 0.1 to 100"),
        ('engine.policy = "btach"', 'did you mean "batch"?'),
        ("hogs.nice = 40", "a whole number from -20 to 19"),
        ("hogs.count = -1", "a whole number from 0 to 1000"),
        ('server.cpus = "3-1"', "not a list of CPUs"),
        ('thp = "sometimes"', "One of: always, madvise, never."),
        ('preempt = "ful"', 'did you mean "full"?'),
        ('kernel = ""', "one word without blanks"),
        ('cmdline.preempt = "full quiet"', "one word without blanks"),
        ('"sysctl.vm/../../etc/passwd" = 1', "no setting"),
        ("server.rt_priority = 5", "only rr and fifo have real-time priorities"),
        ("hogs.nice = 5", "there are no hogs"),
    ],
)
def test_a_bad_setting_is_refused_with_its_line(line: str, message: str) -> None:
    text = study_text(fixed=line)
    number = text.splitlines().index(line) + 1
    with pytest.raises(InputError) as error:
        parse_study(text, "s.toml")
    assert str(error.value).startswith(f"s.toml:{number}: host.")
    assert message in str(error.value)


def test_a_level_that_its_policy_ignores_is_refused_with_its_line() -> None:
    text = study_text('A = { server.policy = "rr", server.slice_ms = 3 }\nB = { server.policy = "other" }')
    number = next(n for n, line in enumerate(text.splitlines(), 1) if line.startswith("A ="))
    with pytest.raises(InputError, match=rf"s\.toml:{number}: .*policy = rr has no slice"):
        parse_study(text, "s.toml")


def test_what_a_study_fixes_yields_to_a_level_and_may_be_idle_in_some_options() -> None:
    text = study_text(
        'A = { server.policy = "rr" }\nB = { server.nice = 7 }', fixed="server.nice = 5\nserver.slice_ms = 2"
    )
    a, b = options(parse_study(text, "s.toml"))
    assert b.host == {"server.nice": 7, "server.slice_ms": 2}
    assert a.host["server.nice"] == 5


@given(st.frozensets(st.integers(0, 9999), min_size=1))
def test_a_list_of_cpus_reads_as_what_was_written(cpus: frozenset[int]) -> None:
    assert cpus_of(",".join(map(str, cpus))) == cpus
    assert cpus_of(f"{min(cpus)}-{max(cpus)}") == frozenset(range(min(cpus), max(cpus) + 1))


def test_dots_of_a_sysctl_part_names_unless_slashes_do() -> None:
    files = host_settings({"sysctl.vm.extfrag_threshold": 1, "sysctl.net/ipv4/x.y/forwarding": True}).files
    assert [(str(path), value) for _, path, value in files] == [
        ("/proc/sys/vm/extfrag_threshold", "1"),
        ("/proc/sys/net/ipv4/x.y/forwarding", "1"),
    ]


# what the kernel is told


@pytest.mark.parametrize("slice_ms", [0.1, 3, 20, 100])
def test_a_slice_is_what_the_kernel_shows_of_the_process(sleeper: int, slice_ms: float) -> None:
    impose(sleeper, Schedule(slice_ms=slice_ms))
    for task in tasks(sleeper):
        shown = [line for line in Path(f"/proc/{task}/sched").read_text().splitlines() if "se.slice" in line]
        assert [int(line.split()[-1]) for line in shown] == [round(slice_ms * 1e6)]


def test_children_are_scheduled_as_their_parents_and_all_attributes_are_read_back(sleeper: int) -> None:
    wanted = Schedule(policy="batch", nice=3, slice_ms=7.5, cpus=frozenset({min(CPUS)}))
    impose(sleeper, wanted)
    assert len(tasks(sleeper)) == 2
    for task in tasks(sleeper):
        assert schedule_of(task) == wanted
        assert os.sched_getscheduler(task) == os.SCHED_BATCH
        assert os.getpriority(os.PRIO_PROCESS, task) == 3
        assert os.sched_getaffinity(task) == {min(CPUS)}
        assert not misfit_of(task, wanted)


def test_a_thread_that_bound_itself_to_some_of_its_cpus_still_obeys(sleeper: int) -> None:
    wanted = Schedule(cpus=frozenset({min(CPUS), 4095}))
    os.sched_setaffinity(sleeper, {min(CPUS)})
    assert misfit_of(sleeper, wanted) and not misfit_of(sleeper, wanted, narrower=True)
    assert misfit_of(sleeper, Schedule(cpus=frozenset({4095})), narrower=True)


def test_a_setting_that_is_lost_is_that_of_its_own_option(sleeper: int) -> None:
    other = subprocess.Popen(["sleep", "60"])
    try:
        with Guard() as guard:
            host = Host(guard, Placement(CPUS, CPUS))
            for pid in (sleeper, other.pid):
                host.schedule("server", pid, Schedule(slice_ms=20))
            impose(other.pid, Schedule(slice_ms=3))
            host.confirm(option(), {"server": sleeper})
            with pytest.raises(LoadFailed, match=r"server\.slice_ms"):
                host.confirm(option(), {"server": other.pid})
    finally:
        other.kill()
        other.wait()


def test_what_was_not_asked_stays_as_it_was(sleeper: int) -> None:
    impose(sleeper, Schedule(nice=4))
    impose(sleeper, Schedule(policy="batch"))
    assert os.getpriority(os.PRIO_PROCESS, sleeper) == 4


def test_an_attribute_that_is_not_taken_is_named() -> None:
    guard_less = Host.__new__(Host)
    guard_less._hogs = None  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(SubjectFailed, match=r"option X: the host did not take server\.cpus = 9999"):
        guard_less.settle(option(server__cpus="9999"), {"server": os.getpid()})


def test_the_server_s_processes_under_load_have_the_option_s_slice(lab: Lab) -> None:
    text = study_text(subject="postgres", measure_s=3).replace("[plan]", "[plan]\nturns = false")
    # slices are set, not used up
    text = text.replace("rows = 1000", "rows = 1000\narrival.think_ms = 5")
    process = lab.start("run", host_study(lab.folder, text), "--bundle", lab.bundle)
    seen: set[tuple[float | None, ...]] = set()

    def both_seen() -> bool:
        engine = lab.ours(ENGINE)
        try:
            backends = [
                task
                for root in lab.ours("postgres -D")
                for task in tasks(root)
                if b"postgres steelyard" in Path(f"/proc/{task}/cmdline").read_bytes()
            ]
            slices = {schedule_of(pid).slice_ms for pid in backends}
            engines = {schedule_of(task).slice_ms for pid in engine for task in tasks(pid)}
        except OSError:
            return False
        if len(backends) >= 2 and len(slices) == len(engines) == 1:
            seen.add((*slices, *engines))
        return len(seen) >= 2 or process.poll() is not None

    lab.wait_for(both_seen, "backends of both options")
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert seen == {(0.1, 5.0), (20.0, 5.0)}


# hogs


def test_hogs_are_accounted_as_a_role_of_their_own_and_end_with_the_run(lab: Lab) -> None:
    text = study_text(fixed='hogs.count = 2\nhogs.policy = "batch"')
    done = lab.run("run", host_study(lab.folder, text), "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    assert not lab.ours()
    rows = Bundle(lab.bundle).columns(
        "select max(value) as processes from samples where entity = 'hogs' and metric = 'processes'"
    )
    assert rows["processes"][0] == 3  # two, and the one that holds them


def test_hogs_use_their_cpus_and_nothing_else_and_die_at_once() -> None:
    with Guard() as guard:
        hogs = Hogs(2, {min(CPUS)}, Schedule(policy="idle"), guard)
        mine = {task: begun(task) for task in tasks(hogs.pid)}
        assert {os.sched_getscheduler(task) for task in mine} == {os.SCHED_IDLE}
        assert {frozenset(os.sched_getaffinity(task)) for task in mine} == {frozenset({min(CPUS)})}
        hogs.stop()
        assert not tasks(hogs.pid)
        assert not any(begun(task) == then for task, then in mine.items())


def begun(pid: int) -> str:
    """When a process began, which tells it from a later one of its number; '' when it has ended."""
    words = text_of(pid, "stat").rpartition(")")[2].split()
    return words[19] if words and words[0] not in "ZX" else ""


# values of the machine


def host_of(guard: Guard) -> Host:
    return Host(guard, Placement(CPUS, CPUS))


@needs_extfrag
def test_a_value_of_the_machine_is_set_for_the_run_and_put_back(extfrag: str) -> None:
    with Guard() as guard:
        host = host_of(guard)
        host.change(option(sysctl__vm__extfrag_threshold="11"))
        assert value_of(EXTFRAG) == "11"
        host.restore()
        assert value_of(EXTFRAG) == extfrag


@needs_extfrag
def test_an_error_puts_the_value_back_and_is_named(lab: Lab, extfrag: str) -> None:
    # of this one the range is not known: only writing it can try it
    levels = "A = { sysctl.vm.extfrag_threshold = 19, sysctl.vm.dirty_expire_centisecs = 3000 }\n"
    levels += "B = { sysctl.vm.extfrag_threshold = 19, sysctl.vm.dirty_expire_centisecs = -7 }"
    study = host_study(lab.folder, study_text(levels))
    assert "dirty_expire_centisecs in B: only a run writes it" in lab.run("run", study, "--dry-run").stderr
    failed = lab.run("run", study, "--bundle", lab.bundle)
    assert failed.returncode == 2 and "levels.B: option B: " in failed.stderr
    assert "sysctl.vm.dirty_expire_centisecs = -7: Invalid argument" in failed.stderr
    assert (value_of(EXTFRAG), lab.ours()) == (extfrag, [])
    assert not lab.bundle.exists()


@needs_extfrag
def test_a_value_that_the_kernel_does_not_take_is_named_and_the_old_one_stays(extfrag: str) -> None:
    with Guard() as guard:
        host = host_of(guard)
        with pytest.raises(SubjectFailed, match=r"sysctl\.vm\.extfrag_threshold = 100000: Invalid argument"):
            host.change(option(sysctl__vm__extfrag_threshold="100000"))
        host.restore()
    assert value_of(EXTFRAG) == extfrag


@needs_extfrag
def test_what_another_program_changed_meanwhile_is_left_and_reported(extfrag: str) -> None:
    with Guard() as guard:
        host = host_of(guard)
        host.change(option(sysctl__vm__extfrag_threshold="13"))
        write(EXTFRAG, "14")
        with pytest.raises(SubjectFailed, match=f"changed {EXTFRAG} to 14.*it was {extfrag}"):
            host.restore()
        assert value_of(EXTFRAG) == "14"


@needs_extfrag
def test_two_laboratories_do_not_change_the_same_value(extfrag: str) -> None:
    with Guard() as guard:
        first, second = host_of(guard), host_of(guard)
        first.change(option(sysctl__vm__extfrag_threshold="15"))
        with pytest.raises(SubjectFailed, match="another study on this machine"):
            second.change(option(sysctl__vm__extfrag_threshold="16"))
        first.restore()
    assert value_of(EXTFRAG) == extfrag


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("always [madvise] never", "madvise"),
        ("always defer [defer+madvise] madvise never", "defer+madvise"),
        ("none (voluntary) full ", "voluntary"),
        ("none voluntary (full) lazy", "full"),
        ("60", "60"),
        ("a (b", "a (b"),
    ],
)
def test_the_word_that_holds_is_the_one_in_brackets(tmp_path: Path, text: str, value: str) -> None:
    knob = tmp_path / "knob"
    knob.write_text(f"{text}\n")
    assert value_of(knob) == value


THP = {
    "thp": Path("/sys/kernel/mm/transparent_hugepage/enabled"),
    "thp_defrag": Path("/sys/kernel/mm/transparent_hugepage/defrag"),
}


def huge_pages_may_change() -> bool:
    with alone():
        return not list(refusals({"thp": "never", "thp_defrag": "never"}))


needs_thp = pytest.mark.skipif(not huge_pages_may_change(), reason="huge pages need root")


@pytest.fixture
def huge_pages() -> Iterator[dict[str, str]]:
    """How they are, put back whatever a test does."""
    with alone():
        before = {name: value_of(path) for name, path in THP.items()}
        yield before
        for name, path in THP.items():
            if value_of(path) != before[name]:
                write(path, before[name])


@needs_thp
@pytest.mark.parametrize("value", ["always", "never", "madvise"])
def test_huge_pages_are_set_for_the_run_and_put_back(value: str, huge_pages: dict[str, str]) -> None:
    with Guard() as guard:
        host = host_of(guard)
        host.change(option(thp=value, thp_defrag=value))
        assert {name: value_of(path) for name, path in THP.items()} == {"thp": value, "thp_defrag": value}
        host.restore()
    assert {name: value_of(path) for name, path in THP.items()} == huge_pages


@needs_thp
def test_huge_pages_are_as_before_when_the_lab_was_killed(lab: Lab, huge_pages: dict[str, str]) -> None:
    ours = next(value for value in ("never", "always") if value != huge_pages["thp"])
    other = next(value for value in ("defer", "never") if value != huge_pages["thp_defrag"])
    text = study_text(fixed=f'thp = "{ours}"\nthp_defrag = "{other}"', blocks=20, measure_s=2)
    process = lab.start("run", host_study(lab.folder, text), "--bundle", lab.bundle)
    lab.wait_for(lambda: lab.ours(ENGINE), "a run under load")
    assert (value_of(THP["thp"]), value_of(THP["thp_defrag"])) == (ours, other)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    lab.wait_for(lambda: not lab.ours(), f"the end of {lab.ours()}")
    assert {name: value_of(path) for name, path in THP.items()} == huge_pages


def test_a_preemption_mode_is_had_or_refused_by_name() -> None:
    found = list(refusals({"preempt": "full"}))
    if not found:
        assert value_of(Path("/sys/kernel/debug/sched/preempt")) in ("none", "voluntary", "full", "lazy")
    else:
        assert found[0].setting == "preempt" and "/sys/kernel/debug/sched/preempt" in found[0].why


def test_the_guard_writes_a_value_back_when_the_lab_is_gone(tmp_path: Path) -> None:
    knob, other = tmp_path / "knob", tmp_path / "other"
    knob.write_text("ours\n")
    other.write_text("somebody's\n")
    with Guard() as guard:
        guard.write_back({knob: Saved("old", ["ours", "earlier"])})
        guard.write_back({other: Saved("old", ["ours"])})
    assert (value_of(knob), value_of(other)) == ("old", "somebody's")


@needs_extfrag
@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_whatever_ends_the_lab_the_machine_is_as_before_and_no_hog_is_left(
    lab: Lab, kind: signal.Signals, extfrag: str
) -> None:
    text = study_text(fixed="hogs.count = 2\nsysctl.vm.extfrag_threshold = 17", blocks=20, measure_s=2)
    process = lab.start("run", host_study(lab.folder, text), "--bundle", lab.bundle)
    lab.wait_for(lambda: lab.ours(ENGINE) and len(lab.ours(HOGS)) == 3, "a run under load, with hogs")
    assert value_of(EXTFRAG) == "17"
    process.send_signal(kind)
    process.communicate(timeout=60)
    lab.wait_for(lambda: not lab.ours(), f"the end of {lab.ours()}")
    assert value_of(EXTFRAG) == extfrag


@needs_extfrag
def test_a_killed_engine_leaves_the_machine_as_before(lab: Lab, extfrag: str) -> None:
    text = study_text(fixed="hogs.count = 1\nsysctl.vm.extfrag_threshold = 18", measure_s=2)
    process = lab.start("run", host_study(lab.folder, text), "--bundle", lab.bundle)
    lab.wait_for(lambda: lab.ours(ENGINE) and lab.ours(HOGS), "a run under load, with hogs")
    os.kill(lab.ours(ENGINE)[0], signal.SIGKILL)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert (value_of(EXTFRAG), lab.ours()) == (extfrag, [])


# what this machine refuses


def test_an_option_that_the_machine_refuses_is_left_out_and_named() -> None:
    study = parse_study(study_text(SLICES + 'C = { server.cpus = "9998" }'), "s.toml")
    left, told = permitted(study, options(study))
    assert [option.label for option in left] == ["A", "B"]
    assert len(told) == 1
    assert told[0].startswith("option C is left out: server.cpus = 9998: Invalid argument")


def test_a_refused_setting_that_all_options_share_is_left_out_of_them() -> None:
    study = parse_study(study_text(fixed="sysctl.kernel.no_such_thing = 1"), "s.toml")
    left, told = permitted(study, options(study))
    assert all("sysctl.kernel.no_such_thing" not in option.host for option in left)
    assert "/proc/sys/kernel/no_such_thing does not exist" in told[0]
    assert "left out of all options" in told[0]


def test_fewer_than_two_options_left_is_no_study(lab: Lab) -> None:
    path = host_study(
        lab.folder, study_text("A = { server.slice_ms = 3 }\nC = { sysctl.kernel.no_such_thing = 1 }")
    )
    refused = lab.run("run", path, "--bundle", lab.bundle)
    assert refused.returncode == 2
    assert "one option is left" in refused.stderr
    assert "no_such_thing does not exist" in refused.stderr
    assert not lab.bundle.exists()


@needs_root
def test_without_the_right_the_real_time_option_is_left_out_in_terminal_and_bundle(lab: Lab) -> None:
    path = host_study(lab.folder, study_text(SLICES + 'RR = { server.policy = "rr" }'))
    lab.prefix = ("setpriv", "--bounding-set", "-sys_nice")
    done = lab.run("run", path, "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    sentence = "option RR is left out: server.policy = rr: Operation not permitted"
    assert sentence in done.stderr
    bundle = Bundle(lab.bundle)
    notices = bundle.columns("select distinct code, text from notices where code = 'host-refused'")
    assert len(notices["text"]) == 1
    assert str(notices["text"][0]).startswith(sentence)
    assert "left out" in (lab.bundle / "report.html").read_text()
    assert [option["label"] for option in bundle.head["options"]] == ["A", "B"]


@needs_extfrag
def test_the_question_whether_a_value_may_change_changes_nothing(extfrag: str) -> None:
    assert not list(refusals({"sysctl.vm.extfrag_threshold": 77}))
    assert value_of(EXTFRAG) == extfrag


@pytest.mark.parametrize("settings", [{"server.nice": 5}, {"server.policy": "idle"}, {"hogs.policy": "idle"}])
def test_nice_and_the_idle_policy_beside_autogroups_are_refused_unless_the_study_turns_them_off(
    settings: dict[str, str | int],
) -> None:
    autogroups, setting = (
        Path("/proc/sys/kernel/sched_autogroup_enabled"),
        "sysctl.kernel.sched_autogroup_enabled",
    )
    with alone():
        if value_of(autogroups) != "1":
            pytest.skip("no autogroups here")
        (refusal,) = refusals(settings)
        assert [refusal.setting] == [*settings] and "counts only within one" in refusal.why
        refused = [refusal.setting for refusal in refusals({**settings, setting: 0})]
    assert refused == ([] if os.access(autogroups, os.W_OK) else [setting])


def test_a_setting_of_the_machine_that_can_change_nothing_here_is_refused() -> None:
    swaps, nodes = Path("/proc/swaps"), Path("/sys/devices/system/node/online")
    swap, memory = Path("/proc/sys/vm/swappiness"), Path("/proc/sys/kernel/numa_balancing")
    if not (swap.exists() and memory.exists() and nodes.exists()):
        pytest.skip("this kernel lacks them")
    refused = {
        refusal.setting: refusal.why
        for refusal in refusals({"sysctl.vm.swappiness": 1, "sysctl.kernel.numa_balancing": 0})
        if "no effect" in refusal.why
    }
    assert ("sysctl.vm.swappiness" in refused) == (len(swaps.read_text().splitlines()) == 1)
    assert ("sysctl.kernel.numa_balancing" in refused) == nodes.read_text().strip().isdigit()


@needs_root
def test_a_value_that_the_kernel_refuses_is_not_mended_by_privileges() -> None:
    for setting in ("server.cpuset", "server.cpus"):
        (refusal,) = refusals({setting: "0,4095"})
        assert "CPUs that" in refusal.hint and "privileged" not in refusal.hint, refusal


@needs_root
def test_root_is_told_what_refuses_it_and_not_to_be_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lockdown = tmp_path / "lockdown"
    monkeypatch.setattr("steelyard.host.finding._LOCKDOWN", lockdown)
    assert held("CAP_SYS_NICE") and "root has CAP_SYS_NICE" in privileged("CAP_SYS_NICE")
    lockdown.write_text("none [integrity] confidentiality\n")
    assert privileged("CAP_SYS_NICE").startswith(f"{lockdown} is none [integrity]")


def hints(settings: dict[str, str | float], *prefix: str) -> list[str]:
    """Of a process under other conditions, whose refusals are its own."""
    code = "import sys, json\nfrom steelyard.lab.machine.refused_settings import refusals\n"
    code += "print(*(one.hint for one in refusals(json.loads(sys.argv[1]))), sep='\\n')"
    command = [*prefix, sys.executable, "-c", code, json.dumps(settings)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


@needs_root
@pytest.mark.parametrize(
    ("settings", "prefix", "hint"),
    [
        ({"server.policy": "rr"}, ("setpriv", "--bounding-set", "-sys_nice"), "CAP_SYS_NICE is permitted"),
        ({"server.policy": "rr"}, ("unshare", "-Ur"), "root of the machine"),
        ({"sysctl.vm.extfrag_threshold": 9}, (), "mounted read-only"),
        ({"server.cpus": "4095"}, (), f"CPUs 0-{(os.cpu_count() or 1) - 1} exist: name CPUs that"),
        ({"sysctl.kernel.no_such_thing": 9}, (), "use a kernel that has it"),
    ],
)
def test_each_answer_of_the_kernel_has_a_hint_of_its_own(
    settings: dict[str, str | float], prefix: tuple[str, ...], hint: str
) -> None:
    shell = 'mount --bind -o ro /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys && exec "$@"'
    prefix = prefix or ("unshare", "-m", "sh", "-c", shell, "sh")
    if subprocess.run([*prefix, "true"], capture_output=True).returncode:
        pytest.skip(f"{prefix[0]} is not permitted here")
    (found,) = hints(settings, *prefix)
    assert hint in found and ("setcap" in found) == ("server.policy" in settings)
