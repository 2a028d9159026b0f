"""Nothing of a study is left running, whatever its programs did to escape, and however the study ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from laboratory import Lab, parent_is_not_postgres, small_study, text_of
from left_behind import (
    CLEARED,
    STUDY,
    SU,
    check_escape_from_instance,
    check_escape_from_server,
    check_left_by_prepare,
    started,
    study_of_a_server,
)
from left_behind import sleeper as sleeper
from processes import running

from steelyard.host.cpus.scheduling import place
from steelyard.host.processes.guard import Guard
from steelyard.host.processes.process_mark import Mark, end_marked, imprint, marked
from steelyard.study.load_study import plan_study
from steelyard.subjects import Bench
from steelyard.subjects.servers.daemon import Daemon


@pytest.mark.parametrize("escape", [CLEARED])
def test_a_process_that_escaped_an_instance_is_ended(lab: Lab, sleeper: str, escape: str) -> None:
    check_escape_from_instance(lab, sleeper, "normal", escape)


@pytest.mark.parametrize("escape", [SU])
def test_a_process_that_escaped_by_su_is_ended_with_a_killed_lab(lab: Lab, sleeper: str, escape: str) -> None:
    check_escape_from_instance(lab, sleeper, "kill -9", escape)


def test_a_process_that_prepare_left_is_ended_with_the_study(lab: Lab, sleeper: str) -> None:
    check_left_by_prepare(lab, sleeper, "Ctrl-C")


def test_a_process_left_by_one_load_point_does_not_disturb_the_next(lab: Lab, sleeper: str) -> None:
    line = (
        f"pgrep -x -f '{sleeper}' > /dev/null && exit 7;"
        f" setsid env -i {sleeper} > /dev/null 2>&1 & sleep 0.2; echo score {{v}}"
    )
    text = STUDY.format(prepare="", line=line).replace("clients = [1]", "clients = [1, 1]")
    (lab.folder / "s.toml").write_text(text)
    done = lab.run("run", "s.toml", "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    assert not running(sleeper)


def test_orphans_that_end_by_themselves_do_not_stay_as_zombies(lab: Lab) -> None:
    # $PPID is the engine, which adopts them
    zombies = "ps -o stat= --ppid $PPID | grep -q Z"
    line = (
        "i=0; while [ $i -lt 200 ]; do (true &); i=$((i+1)); done;"
        f" i=0; while {zombies}; do sleep 0.2; i=$((i+1)); [ $i -lt 100 ] || exit 7; done; echo score {{v}}"
    )
    (lab.folder / "s.toml").write_text(STUDY.format(prepare="", line=line))
    done = lab.run("run", "s.toml", "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr


def test_a_process_that_escaped_a_server_is_ended(lab: Lab, sleeper: str) -> None:
    check_escape_from_server(lab, sleeper, "kill -9")


def test_a_server_killed_from_outside_leaves_no_process(lab: Lab, sleeper: str) -> None:
    study_of_a_server(lab, sleeper)
    process = started(lab, sleeper)
    os.kill(next(pid for pid in lab.ours("postgres -D") if parent_is_not_postgres(pid)), signal.SIGKILL)
    lab.wait_for(lambda: lab.runs() >= 1, "the end of the void run")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert not running(sleeper)


def test_a_process_that_escaped_a_helper_of_a_server_is_ended(tmp_path: Path, sleeper: str) -> None:
    line = f"setsid env -i {sleeper} > /dev/null 2>&1 & sleep 0.2; pgrep -x -f '{sleeper}'"
    with Guard() as guard:
        study, options = plan_study(small_study(tmp_path, subject="postgres").read_text(), "study.toml")
        bench = Bench(study, options, {}, tmp_path, place(1, False), guard)
        daemon = Daemon(bench, "PostgreSQL", "server.log", "socket", 5432)
        done = daemon.finish(["/bin/sh", "-c", line], tmp_path)
        assert done.returncode == 0 and done.stdout.strip()
        assert not running(sleeper)


def test_a_limit_that_forbids_the_mark_does_not_forbid_the_program() -> None:
    mark = Mark()
    # a hard limit below the mark, as an administrator may set it
    code = (
        "import resource; resource.setrlimit(10, (5, 5))\n"
        f"from steelyard.host.processes.process_mark import imprint; imprint({mark.value!r})\n"
        "print(resource.getrlimit(10))"
    )
    prefix = ("setpriv", "--bounding-set", "-sys_resource") if os.geteuid() == 0 else ()
    done = subprocess.run([*prefix, sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "(5, 5)\n", done.stderr


def test_processes_that_start_each_other_anew_are_all_ended(tmp_path: Path) -> None:
    """A chain: each process starts the next one and ends."""
    mark = Mark()
    chain = tmp_path / "chain.sh"
    chain.write_text(f"[ -e {tmp_path}/halt ] && exit\nsleep 0.02\nsh {chain} &\n")
    started = subprocess.Popen(["setsid", "env", "-i", "sh", chain], preexec_fn=lambda: imprint(mark.value))
    try:
        started.wait(60)
        assert marked(mark)
        end_marked(mark)
        time.sleep(0.2)
        assert not marked(mark)
    finally:
        (tmp_path / "halt").touch()
        assert not [pid for pid in marked(mark) if "chain" in text_of(pid, "cmdline")]
