"""What to expect of a study on this machine, before its first run."""

from __future__ import annotations

import os
import time
from pathlib import Path

from steelyard.host.processes.confinement import unconfined
from steelyard.host.processes.other_studies import other_studies
from steelyard.lab.machine.inherited import inherited
from steelyard.monitors.sql.queries import queries_of
from steelyard.quantities import listed
from steelyard.report.terminal.plan import Expected
from steelyard.subjects.in_turns import distinct_servers, room_of_servers, servers_of
from steelyard.subjects.servers.by_address import written
from steelyard.subjects.servers.option_settings import folders_of
from steelyard.workflow.prepare import PreparedStudy, expected_s
from steelyard.workloads import work_of

# of the CPUs that we may use
_LOAD_SHARE = 0.5
# work that waits for a disk or a client is seen running only at times
_LOOKS_MAX = 20
_LOOK_EVERY_S = 0.02


def expectation(prepared: PreparedStudy) -> Expected:
    """Its length, its servers, and what this machine refuses or does besides."""
    study, kind = prepared.study, prepared.kind
    redone = prepared.redone_blocks_max if prepared.sees_disturbance else 0
    redo_s = redone * len(prepared.options) * (prepared.run_s or 0.0)
    busy = "" if study.workload.simulated else busy_machine()
    expected_now_s = expected_s(prepared, slowdown() if busy else 1.0)
    checksums = kind.checksums
    named = written((work_of(o.workload) for o in prepared.options), kind.protocol).values()
    return Expected(
        expected_now_s,
        redo_s,
        prepared.one_after_another,
        _servers(prepared),
        prepared.refused,
        [] if study.workload.simulated else inherited(),
        busy,
        held="" if checksums is None else checksums(study, prepared.options),
        writes=", ".join(named) if study.subject.writes else "",
        folders=folders_of(study, prepared.options),
        unconfined=unconfined() if kind.listens and not study.subject.dsn else "",
        unverified=[
            f"{name}: the set {query.shipped_as} is {query.mark}"
            for name, query in queries_of(study).items()
            if query.mark
        ],
    )


def _servers(prepared: PreparedStudy) -> str:
    number = len(set(servers_of(prepared.study, prepared.options).values()))
    if prepared.one_after_another or number < 2:
        return ""
    room = room_of_servers(prepared.study, prepared.options)
    own = number > len(set(distinct_servers(prepared.options).values()))
    need = f" that need about {room}" if room.memory_bytes else ""
    return f"{number} servers{need}" + ": one for each option, as statements write; the disk is shared" * own


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
