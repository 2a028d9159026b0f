"""The guard undoes what was promised, however the process that promised it ended."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from laboratory import ENGINE, Lab, nothing_left, parent_is_not_postgres, small_study, text_of, under_load
from live_postgres import bindirs, start_server, stop_server
from needs import needs_root
from processes import NOBODY, family

from steelyard.host.processes.guard import Guard
from steelyard.host.processes.process_mark import Mark, end_marked, marked, with_mark

# the lab is gone before its child has become the server, let alone told anybody its number
_KILLED_AT_ONCE = """
import os, signal, time
from steelyard.host.processes.guard import Guard
from steelyard.host.processes.process_mark import Mark, with_mark

guard = Guard()
guard.stop_marked(Mark({mark!r}), signal.SIGTERM)
if os.fork() == 0:
    os.setsid()
    time.sleep(0.5)
    os.execvpe("sleep", ["sleep", "1000"], with_mark({mark!r}))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_server_begun_by_a_lab_killed_in_that_moment_is_stopped() -> None:
    mark = Mark()
    try:
        # guard and server have this output too: it ends when both are gone
        subprocess.run(
            [sys.executable, "-c", _KILLED_AT_ONCE.format(mark=mark.value)],
            stdout=subprocess.PIPE,
            timeout=60,
            check=False,
        )
        assert not marked(mark)
    finally:
        end_marked(mark)


# a program without a mark goes on writing into the folder
_WRITES_ON = """
import os, signal, subprocess, sys
from pathlib import Path
from steelyard.host.processes.guard import Guard

guard, folder = Guard(), Path(sys.argv[1])
guard.remove_folder(folder)
(folder / "data").mkdir(parents=True)
writes = "i=0; while [ $i -lt 100000 ] && : > $i; do i=$((i+1)); done"
subprocess.Popen(["sh", "-c", writes], cwd=folder / "data")
while not (folder / "data" / "100").exists():
    pass
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_folder_that_a_program_still_writes_to_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "data-of-a-server"
    # guard and program have this output too: it ends when both are gone
    command = [sys.executable, "-c", _WRITES_ON, folder]
    subprocess.run(command, stdout=subprocess.PIPE, timeout=60, check=False)
    assert not folder.exists()


def guards_of(pid: int) -> list[int]:
    return [
        child for child in family(pid)[1:] if "steelyard.host.processes.guard" in text_of(child, "cmdline")
    ]


def test_another_guard_takes_over_the_promises_of_one_that_was_killed(lab: Lab) -> None:
    study = small_study(lab.folder, subject="postgres", measure_s=60)
    process = lab.start("run", study, "--bundle", lab.bundle)
    lab.wait_for(lambda: lab.ours(ENGINE), "a run under load")
    (guard,) = guards_of(process.pid)
    os.kill(guard, signal.SIGKILL)
    lab.wait_for(lambda: set(guards_of(process.pid)) - {guard}, "another guard")
    time.sleep(0.5)
    process.kill()
    _, err = process.communicate(timeout=60)
    assert "a new guard takes over" in err
    lab.wait_for(lambda: nothing_left(lab), f"the end of {lab.ours()} {lab.traces()}")


def test_a_stopped_guard_does_not_hold_up_the_end() -> None:
    with Guard() as guard:
        promise = guard.remove_folder(Path("/nonexistent"))
        deadline = time.monotonic() + 30
        # a child is a guard once it has become that program
        while not (found := guards_of(os.getpid())) and time.monotonic() < deadline:
            time.sleep(0.01)
        (process,) = found
        os.kill(process, signal.SIGSTOP)
        guard.forget(promise)


def test_a_stopped_process_is_ended_by_its_mark() -> None:
    mark = Mark()
    sleeper = subprocess.Popen(["sleep", "1000"], env=with_mark(mark.value))
    os.kill(sleeper.pid, signal.SIGSTOP)
    end_marked(mark, signal.SIGTERM)
    assert sleeper.wait(10) == -signal.SIGTERM


@needs_root
def test_a_process_ends_at_the_pace_of_others_whatever_the_study_gave_it() -> None:
    # a killed session under an idle policy held its shared memory until the next server would not start
    mark = Mark()
    program = (
        "import os, signal\n"
        "def told(*_): print(os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, 0), flush=True)\n"
        "signal.signal(signal.SIGTERM, told)\n"
        "os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0)); os.nice(10)\n"
        "print('ready', flush=True)\n"
        "while True: signal.pause()"
    )
    idle = subprocess.Popen(
        [sys.executable, "-c", program], env=with_mark(mark.value), stdout=subprocess.PIPE, text=True
    )
    assert idle.stdout is not None and idle.stdout.readline() == "ready\n"
    end_marked(mark, signal.SIGTERM)
    assert idle.stdout.read().split() == [str(os.SCHED_OTHER), "0"]
    assert idle.wait(10) == -signal.SIGKILL
    idle.stdout.close()


def test_a_process_that_cleared_its_environment_is_ended_with_its_parent() -> None:
    mark = Mark()
    shell = subprocess.Popen(
        ["sh", "-c", "env -i sleep 1000 & echo $!; wait"],
        env=with_mark(mark.value),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert shell.stdout is not None
    child = int(shell.stdout.readline())
    end_marked(mark)
    shell.wait(10)
    shell.stdout.close()
    assert not Path(f"/proc/{child}").exists() or "Z" in Path(f"/proc/{child}/stat").read_text()


def segments() -> dict[int, int]:
    """Of System V shared memory, on this machine: the process that made each."""
    rows = [line.split() for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]]
    return {int(row[1]): int(row[4]) for row in rows}


def files_of(pids: list[int]) -> set[Path]:
    """PostgreSQL's files in /dev/shm that these processes have mapped."""
    maps = "".join(text_of(pid, "maps") for pid in pids)
    return {Path(name) for name in re.findall(r"/dev/shm/PostgreSQL\.\d+", maps)}


def memory_of(pids: list[int]) -> set[Path | int]:
    """Shared memory that these processes have mapped or made."""
    return {*files_of(pids), *(segment for segment, maker in segments().items() if maker in pids)}


def left_of(memory: set[Path | int]) -> set[Path | int]:
    return {part for part in memory if (part.exists() if isinstance(part, Path) else part in segments())}


_MAKES_A_SEGMENT = """
import ctypes, time
libc = ctypes.CDLL(None)
print(libc.shmget(0, 4096, 0o600), flush=True)
time.sleep(1000)
"""


def test_shared_memory_of_a_killed_process_is_removed() -> None:
    mark = Mark()
    maker = subprocess.Popen(
        [sys.executable, "-c", _MAKES_A_SEGMENT], env=with_mark(mark.value), stdout=subprocess.PIPE, text=True
    )
    assert maker.stdout is not None
    segment = int(maker.stdout.readline())
    try:
        assert segment in segments()
        end_marked(mark)
        assert segment not in segments()
    finally:
        maker.wait()
        maker.stdout.close()
        ctypes.CDLL(None).shmctl(segment, 0, None)


# the programs of the tests may be in a folder that only root reads
_ORDINARY = (
    "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
    "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search",
)  # fmt: skip
USERS = [(), pytest.param(_ORDINARY, marks=pytest.mark.skipif(os.geteuid() != 0, reason="needs root"))]


@pytest.mark.parametrize("prefix", USERS, ids=["the caller", "an ordinary user"])
def test_shared_memory_of_a_server_killed_from_outside_is_removed(lab: Lab, prefix: tuple[str, ...]) -> None:
    study = small_study(lab.folder, subject="postgres", measure_s=60)
    if prefix:
        lab.prefix = prefix
        os.chown(lab.folder, NOBODY, NOBODY)
    process = lab.start("run", study, "--bundle", lab.bundle, HOME=str(lab.folder))
    lab.wait_for(lambda: under_load(lab) or process.poll() is not None, "a run under load")
    assert process.poll() is None, process.communicate()
    server = next(pid for pid in lab.ours("postgres -D") if parent_is_not_postgres(pid))
    memory = memory_of(family(server))
    assert {type(part) for part in memory} > {int}
    os.kill(server, signal.SIGKILL)
    lab.wait_for(lambda: lab.runs() >= 1, "the end of the void run")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert not left_of(memory)


def test_the_end_of_a_server_leaves_memory_that_another_uses_without_a_process_that_has_it_mapped(
    lab: Lab,
) -> None:
    """The other server has the same user. Statistics of its tables outlive the session that made them."""
    server = start_server(bindirs()[0])
    try:
        before = files_of(family(server.pid))
        with server.connect() as connection:
            with connection.pipeline():
                for number in range(4000):
                    connection.execute(f"create table t{number} ()".encode())
                    connection.execute(f"select from t{number}".encode())
            made = files_of([connection.info.backend_pid]) - before
        assert made
        study = small_study(lab.folder, subject="postgres", blocks=1)
        done = lab.run("run", study, "--bundle", lab.bundle)
        assert done.returncode == 0, done.stderr
        assert left_of({*made}) == made
    finally:
        stop_server(server)


@pytest.mark.parametrize(
    ("number", "delay_s"), [(signal.SIGKILL, 0.0), (signal.SIGINT, 0.15), (signal.SIGKILL, 0.4)]
)
def test_a_lab_that_ends_during_initdb_leaves_nothing(
    lab: Lab, number: signal.Signals, delay_s: float
) -> None:
    # a cache of its own has no template
    cache = {"XDG_CACHE_HOME": str(lab.folder)}
    study = small_study(lab.folder, subject="postgres")
    process = lab.start("run", study, "--bundle", lab.bundle, **cache)
    lab.wait_for(lambda: lab.ours("initdb"), "initdb")
    time.sleep(delay_s)
    ours = [*lab.ours("initdb"), *lab.ours("postgres")]
    memory = memory_of(ours)
    assert process.poll() is None
    process.send_signal(number)
    process.communicate(timeout=60)
    lab.wait_for(lambda: nothing_left(lab), f"the end of {lab.ours()} {lab.traces()}")
    assert not left_of(memory)
