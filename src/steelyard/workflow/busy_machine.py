"""What makes this machine busy before a study begins, in a sentence: others would slow what is measured."""

from __future__ import annotations

import os
import time
from pathlib import Path

from steelyard.host.processes.other_studies import other_studies
from steelyard.quantities import listed

# of the CPUs that we may use
_LOAD_SHARE = 0.5
# work that waits for a disk or a client is seen running only at times
_LOOKS_MAX = 20
_LOOK_EVERY_S = 0.02


def busy_machine(proc: Path = Path("/proc")) -> str:
    """`load average 3.3 on 2 CPUs and another study (process 4711)`; '' for a quiet machine.

    The load average still holds what ended a minute ago, our own last study for one: it counts only while
    other threads run now, in one of some looks.
    """
    parts = [*_load(proc)]
    if labs := other_studies(proc):
        numbers = listed([str(pid) for pid in labs], most=3)
        parts.append(
            f"another study (process {numbers})" if len(labs) == 1 else f"other studies (processes {numbers})"
        )
    return listed(parts) if parts else ""


def slowdown(proc: Path = Path("/proc")) -> float:
    """How much longer a single busy thread takes beside the load of the last minute: 1 on a quiet machine."""
    try:
        average, _ = _look(proc)
        return max(1.0, (average + 1) / len(os.sched_getaffinity(0)))
    except (OSError, ValueError):
        return 1.0


def _load(proc: Path) -> list[str]:
    try:
        average, running = _look(proc)
        cpus = len(os.sched_getaffinity(0))
        busy = average >= _LOAD_SHARE * cpus
        for _ in range(_LOOKS_MAX if busy else 0):
            if running:
                break
            time.sleep(_LOOK_EVERY_S)
            _, running = _look(proc)
    except (OSError, ValueError):
        return []
    busy = busy and running > 0
    return [f"load average {average:.1f} on {cpus} CPU{'s' * (cpus > 1)}"] if busy else []


def _look(proc: Path) -> tuple[float, int]:
    """The load average, and how many threads run now, without this one."""
    average, _, _, threads, _ = (proc / "loadavg").read_text().split()
    return float(average), int(threads.partition("/")[0]) - 1
