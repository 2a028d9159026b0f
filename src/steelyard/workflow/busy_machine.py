"""What makes this machine busy before a study begins, in a sentence: others would slow what is measured."""

from __future__ import annotations

import os
from pathlib import Path

from steelyard.host.processes.other_studies import other_studies
from steelyard.quantities import listed

# of the CPUs that we may use
_LOAD_SHARE = 0.5


def busy_machine(proc: Path = Path("/proc")) -> str:
    """`load average 3.3 on 2 CPUs and another study (process 4711)`; '' for a quiet machine.

    The load average still holds what ended a minute ago, our own last study for one: it counts only while
    other threads run now.
    """
    parts = [*_load(proc)]
    if labs := other_studies(proc):
        numbers = listed([str(pid) for pid in labs], most=3)
        parts.append(
            f"another study (process {numbers})" if len(labs) == 1 else f"other studies (processes {numbers})"
        )
    return listed(parts) if parts else ""


def _load(proc: Path) -> list[str]:
    try:
        average, _, _, threads, _ = (proc / "loadavg").read_text().split()
        running = int(threads.partition("/")[0]) - 1
    except (OSError, ValueError):
        return []
    cpus = len(os.sched_getaffinity(0))
    busy = float(average) >= _LOAD_SHARE * cpus and running > 0
    return [f"load average {float(average):.1f} on {cpus} CPU{'s' * (cpus > 1)}"] if busy else []
