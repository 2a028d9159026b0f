"""Starts instances of a program at the same moment and waits for them: forked first, released together.

Each instance has its CPUs, its process group and its output files before it starts. It ends with this
process, which has no other children.
"""

import os
import select
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.host.processes.process_mark import VARIABLE, Mark, end_marked, imprint
from steelyard.host.processes.signals import end_with

_NOT_STARTED = 127
_REAP_MS = 1000.0


@dataclass(frozen=True)
class Instance:
    """One instance. command: full path and arguments; environment: added to the lab's, '' unsets a variable.

    cpus: CPUs to bind it to; empty: those of the engine.
    """

    command: Sequence[str]
    environment: Mapping[str, str]
    folder: str
    cpus: Sequence[int]
    output: Path
    error: Path


@dataclass(frozen=True)
class Ended:
    """How an instance ended. exit_code: negative for a signal; cpu_ns: including its reaped children."""

    instance: int
    exit_code: int
    end_ns: int
    cpu_ns: int


class Instances:
    """Running instances. start_ns: CLOCK_MONOTONIC when all were released."""

    def __init__(self, instances: Sequence[Instance]) -> None:
        """Starts the instances. Raises OSError, which names the instance and the step that failed."""
        held, gate = os.pipe2(os.O_CLOEXEC)
        failed, failure = os.pipe2(os.O_CLOEXEC)
        # by process, its number and its pidfd: SIGCHLD could be delivered to any thread and be lost
        self._running: dict[int, tuple[int, int]] = {}
        parent = os.getpid()
        for number, instance in enumerate(instances):
            pid = os.fork()
            if pid == 0:
                _become(number, instance, parent, held, gate, failure)
            self._running[pid] = number, os.pidfd_open(pid)
        for end in (held, failure):
            os.close(end)
        self.start_ns = time.monotonic_ns()
        os.close(gate)
        # a successful exec closes the other end: this returns once all run or one has failed
        message = os.read(failed, 4096).decode()
        os.close(failed)
        if message:
            self.kill()
            raise OSError(message)

    def next_end(self, deadline_ns: int) -> Ended | None:
        """The next instance that ends; None at the deadline."""
        while True:
            # any child: orphans that this process adopted would stay as zombies
            pid, status, usage = os.wait4(-1, os.WNOHANG)
            if pid in self._running:
                end_ns = time.monotonic_ns()
                number, end = self._running.pop(pid)
                os.close(end)
                with suppress(ProcessLookupError):
                    # processes left behind in its group would disturb the other instances
                    os.killpg(pid, signal.SIGKILL)
                cpu_ns = round((usage.ru_utime + usage.ru_stime) * 1e9)
                return Ended(number, os.waitstatus_to_exitcode(status), end_ns, cpu_ns)
            if pid:
                continue
            left_ms = (deadline_ns - time.monotonic_ns()) / 1e6
            if left_ms <= 0:
                return None
            ended = select.poll()
            for _, end in self._running.values():
                ended.register(end, select.POLLIN)
            ended.poll(min(left_ms, _REAP_MS))

    @property
    def running(self) -> list[int]:
        """Numbers of the instances that have not ended."""
        return sorted(number for number, _ in self._running.values())

    def kill(self) -> None:
        """Ends all running instances, and all processes that instances left behind."""
        end_descendants()
        for pid, (_, end) in self._running.items():
            # one that has become another user's process may still run
            os.waitpid(pid, os.WNOHANG)
            os.close(end)
        self._running.clear()


def end_descendants() -> None:
    """Ends all descendants of this process."""
    end_marked(Mark().started(os.getpid()))


def _become(number: int, instance: Instance, parent: int, held: int, gate: int, failure: int) -> Any:
    """The forked child: executes the instance once the gate opens, or reports why it cannot."""
    doing = "cannot be started"
    try:
        os.setpgid(0, 0)
        if not end_with(parent):
            os._exit(_NOT_STARTED)
        writes = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        for flags, place, number_of_file in (
            (os.O_RDONLY, "/dev/null", 0),
            (writes, instance.output, 1),
            (writes, instance.error, 2),
        ):
            os.dup2(os.open(place, flags, 0o600), number_of_file)
        doing = f"cannot enter {instance.folder}"
        os.chdir(instance.folder)
        doing = f"cannot run on CPUs {','.join(map(str, instance.cpus))}"
        if instance.cpus:
            os.sched_setaffinity(0, instance.cpus)
            if os.sched_getaffinity(0) != set(instance.cpus):
                raise OSError(0, "the kernel assigned other CPUs (limited by a cpuset?)")
        # a program expects the signal handling that a shell sets up
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        environment = {**os.environ, **instance.environment}
        imprint(environment.get(VARIABLE, "0"))
        os.close(gate)
        os.read(held, 1)
        doing = f"cannot start {instance.command[0]}"
        os.execve(
            instance.command[0],
            list(instance.command),
            {name: text for name, text in environment.items() if text},
        )
    except BaseException as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        os.write(failure, f"instance {number}: {doing}: {reason}\n".encode())
    finally:
        os._exit(_NOT_STARTED)
