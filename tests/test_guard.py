"""The guard undoes what was promised, however the process that promised it ended."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from laboratory import Lab, small_study, text_of
from processes import family
from small import shared_memory
from steelyard.host.processes.guard import Guard
from steelyard.host.processes.process_mark import Mark, end_marked, marked, with_mark
from test_hardness import ENGINE, nothing_left, parent_is_not_postgres, under_load

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


def segments() -> set[int]:
    """Of System V shared memory, on this machine."""
    return {int(line.split()[1]) for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]}


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


def test_shared_memory_of_a_server_killed_from_outside_is_removed(lab: Lab) -> None:
    before = shared_memory()
    study = small_study(lab.folder, subject="postgres", measure_s=60)
    process = lab.start("run", study, "--bundle", lab.bundle)
    lab.wait_for(lambda: under_load(lab), "a run under load")
    server = next(pid for pid in lab.ours("postgres -D") if parent_is_not_postgres(pid))
    os.kill(server, signal.SIGKILL)
    lab.wait_for(lambda: lab.runs() >= 1, "the end of the void run")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    lab.wait_for(lambda: shared_memory() <= before, f"the removal of {shared_memory() - before}")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("delay_s", [0.0, 0.15, 0.4])
def test_a_lab_that_ends_during_initdb_leaves_nothing(
    lab: Lab, number: signal.Signals, delay_s: float
) -> None:
    before = shared_memory()
    process = lab.start("run", small_study(lab.folder, subject="postgres"), "--bundle", lab.bundle)
    lab.wait_for(lambda: lab.ours("initdb"), "initdb")
    time.sleep(delay_s)
    ours = [*lab.ours("initdb"), *lab.ours("postgres")]
    process.send_signal(number)
    process.communicate(timeout=60)
    lab.wait_for(lambda: nothing_left(lab), f"the end of {lab.ours()} {lab.traces()}")
    assert ours
    # other tests have servers too: what they leave for a moment they remove as well
    lab.wait_for(lambda: shared_memory() <= before, f"the removal of {shared_memory() - before}")
