"""What the lab inherits from whoever starts it, and passes on to servers and load engines."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from steelyard.host.cpus.scheduling import schedule_of, shown
from steelyard.lab.environment.machine import virtualization_facts
from steelyard.lab.machine.refused_settings import autogroup


def limits(proc: Path = Path("/proc"), sys: Path = Path("/sys")) -> Iterator[str]:
    """What slows all that is measured: `nice 19`, `CPUs 0 of 2`, `a CPU limit of 0.6 CPUs ...`."""
    own = schedule_of(os.getpid())
    if own.policy != "other":
        yield f"the scheduling policy {own.policy}"
    if own.nice:
        yield f"nice {own.nice}"
    if len(own.cpus or ()) < (cpus := os.cpu_count() or 1):
        yield f"CPUs {shown(own.cpus)} of {cpus}"
    groups = virtualization_facts(proc, sys)
    if (limit := groups["cgroup_cpus_limit"]) is not None:
        yield f"a CPU limit of {limit:g} CPUs (control group)"
    if (limit := groups["cgroup_memory_limit_bytes"]) is not None:
        yield f"a memory limit of {limit / 1024**3:.3g} GiB (control group)"


def inherited() -> list[str]:
    """The limits, and that sessions are scheduled as groups."""
    return [*limits(), *["autogroups: nice counts only within a session"] * autogroup()]
