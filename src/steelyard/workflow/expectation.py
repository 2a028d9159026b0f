"""What to expect of a study on this machine, before its first run."""

from __future__ import annotations

from steelyard.host.processes.confinement import unconfined
from steelyard.lab.machine.inherited import inherited
from steelyard.monitors.sql.queries import queries_of
from steelyard.report.terminal.plan import Expected
from steelyard.subjects import kind_of
from steelyard.subjects.in_turns import distinct_servers, room_of_servers, servers_of
from steelyard.subjects.servers.by_address import written
from steelyard.subjects.servers.option_settings import folders_of
from steelyard.workflow.busy_machine import busy_machine, slowdown
from steelyard.workflow.prepare import PreparedStudy, expected_s
from steelyard.workloads import work_of


def expectation(prepared: PreparedStudy) -> Expected:
    """Its length, its servers, and what this machine refuses or does besides."""
    study = prepared.study
    redone = prepared.redone_blocks_max if prepared.sees_disturbance else 0
    redo_s = redone * len(prepared.options) * (prepared.run_s or 0.0)
    busy = "" if study.workload.simulated else busy_machine()
    expected_now_s = expected_s(prepared, slowdown() if busy else 1.0)
    checksums = kind_of(study).checksums
    named = written((work_of(o.workload) for o in prepared.options), kind_of(study).protocol).values()
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
        unconfined=unconfined() if kind_of(study).listens and not study.subject.dsn else "",
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
