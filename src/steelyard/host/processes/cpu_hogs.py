"""CPU hogs beside the load: processes that only use CPU time.

A hog's loop fits into the smallest cache: it takes CPU time from the server, not cache or memory.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterable

from steelyard.host.cpus.scheduling import impose, pin
from steelyard.host.processes.guard import Guard
from steelyard.host.processes.limits import within
from steelyard.host.processes.process_mark import Mark, with_mark
from steelyard.host.processes.signals import end_with
from steelyard.study.host_settings import Schedule

_READY_S = 30.0


class Hogs:
    """Running hogs, children of one process. They end with stop(), and with the lab."""

    def __init__(self, count: int, cpus: Iterable[int], schedule: Schedule, guard: Guard) -> None:
        """Starts the hogs. Raises NotTaken when the kernel refuses the schedule."""
        self._guard = guard
        mark = Mark()
        self._promise = guard.stop_marked(mark)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "steelyard.host.processes.cpu_hogs", str(count), str(os.getpid())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            start_new_session=True,
            env=with_mark(mark.value),
        )
        self.pid = self._process.pid
        try:
            pin(self.pid, cpus)
            assert self._process.stdout is not None
            within(_READY_S, "starting the hogs", self._process.stdout.readline)
            impose(self.pid, schedule)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Ends all hogs."""
        self._guard.undo(self._promise)
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


def main(count: int, parent: int) -> None:
    """The parent process of the hogs: starts them, then waits until it is ended."""
    if not end_with(parent):
        return
    holder = os.getpid()
    for _ in range(count):
        if os.fork() == 0:
            if not end_with(holder):
                return
            while True:
                pass
    print("ready", flush=True)
    while True:
        signal.pause()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
