"""Runs a study: blocks of options, each run in its phases; yields every run as it ends.

Phases: set-up (server, data), connect, warm-up, measure, scheduling-trace and latch-count
(once per load point), cool-down, disconnect, after. The lab stores nothing: the caller writes the runs.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Protocol

from steelyard.host.cpus.placement import Placement
from steelyard.host.processes.limits import TimedOut
from steelyard.lab.engines.listener import Listener
from steelyard.lab.engines.plan import engine_limit_s, engine_plan
from steelyard.lab.engines.process import LoadProcess
from steelyard.lab.engines.registry import LoadFailed
from steelyard.lab.engines.result import EngineResult
from steelyard.lab.engines.result_tables import (
    backlog_notices,
    engine_samples,
    error_notices,
    never_succeeded,
    noticed,
    run_tables,
    why_nothing,
    work_done,
)
from steelyard.lab.environment.redaction import redact, redacted_run
from steelyard.lab.finished_run import Run
from steelyard.lab.machine.host_settings import Host
from steelyard.lab.observe.disturbance import disturbance_of
from steelyard.lab.observe.latch_rows_mariadb import monitored_latches
from steelyard.lab.observe.latch_rows_postgres import Tranches
from steelyard.lab.observe.monitoring import Monitoring
from steelyard.lab.observe.probes import Probing
from steelyard.monitors import Target, declared
from steelyard.run_tables.rows import Columns, Rows
from steelyard.study.host_settings import cpus_by_role
from steelyard.study.plan import Slot
from steelyard.study.study import Study
from steelyard.subjects import Kind, Load, Subject, started
from steelyard.workloads import Work

_AFTER_S = 0.3


class Progress(Protocol):
    """Shows the progress of a study."""

    def run_started(self, label: str, block: int, slot: int) -> None:
        """A run begins."""
        ...

    def tick(self, tps: float) -> None:
        """A second has passed under load."""
        ...


class StudyFailed(Exception):
    """The study cannot continue; finished runs are kept."""


@dataclass(frozen=True)
class Laboratory:
    """State that all runs of a study share.

    admit: called before the load with an option's label and the facts of its server; raises
    InputError when the study cannot include that server.
    """

    study: Study
    work: Work
    kind: Kind
    subject: Subject
    placement: Placement
    host: Host
    progress: Progress
    admit: Callable[[str, Mapping[str, Any]], None]

    def block(
        self, slots: Sequence[Slot], attempt: int = 1, done: Container[str] = (), void: int = 0, redo: int = 0
    ) -> Iterator[Run]:
        """The runs of one block, which is repeated after a void run, once, and after disturbed ones.

        attempt: number of the first attempt; done: options that it has already run; void: number of
        earlier attempts, 0 or 1, that ended with a void run; redo: how often it may be repeated as disturbed,
        after that its runs are kept. Raises StudyFailed after the second void run, and at once when no
        transaction of a run, or of a kind, succeeded: a repetition would fail too; BootNeeded.
        """
        for number in itertools.count(attempt):
            for slot in slots:
                if number == attempt and slot.option.label in done:
                    continue
                run = self._judged(self._run(slot, number), redo)
                yield run
                if run.status == "void" and run.tables:
                    raise StudyFailed(f"option {slot.option.label}: {run.cause}")
                if run.status == "void" and void:
                    raise StudyFailed(f"block {slot.block} failed twice: {slot.option.label}: {run.cause}")
                if run.status == "disturbed" and not redo:
                    raise StudyFailed(f"stopped (plan.disturbed): {run.cause}")
                if run.status in ("void", "disturbed"):
                    void += run.status == "void"
                    redo -= run.status == "disturbed"
                    break
            else:
                return

    def _judged(self, run: Run, redo: int) -> Run:
        """The run; as `disturbed` where others took the CPU and the study does not keep such runs."""
        if run.status != "done" or not (redo or self.study.plan.disturbed == "stop"):
            return run
        placement = self.placement
        cpus = cpus_by_role(run.slot.option.host, placement.server, placement.engine)
        found = disturbance_of(run.tables, cpus)
        if found is None:
            return run
        cause = found.sentence(f"under option {run.slot.option.label}")
        return replace(run, status="disturbed", cause=cause)

    def _run(self, slot: Slot, attempt: int) -> Run:
        origin_ns = time.monotonic_ns()
        started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        self.progress.run_started(slot.option.label, slot.block, slot.slot)
        run = Run(slot, attempt, "void", "", started_at, 0.0)
        try:
            self.host.change(slot.option)
            load = started(self.subject, slot.option)
            facts = redact(load.facts)
            self.admit(slot.option.label, facts)
            tables, cause = self._load(slot, load, origin_ns)
            tps = work_done(tables, slot.option.workload.lower_is_better)
            cause = cause if tps else why_nothing(tables)
            status = "void" if cause else "done"
            run = replace(run, status=status, cause=cause, tps=tps, tables=tables, server_facts=facts)
        except (LoadFailed, TimedOut, *self.kind.driver_errors) as error:
            run = replace(run, cause=str(error).strip())
        finally:
            log = self.subject.stop()
            self.host.restore()
        run = replace(
            run,
            server_log="" if run.status == "done" else log,
            seconds=(time.monotonic_ns() - origin_ns) / 1e9,
        )
        return redacted_run(run, self.study)

    def _load(self, slot: Slot, load: Load, origin_ns: int) -> tuple[dict[str, Columns], str]:
        """The tables of a run, and why they are no result all the same ('': they are one)."""
        plan = engine_plan(self.study, slot, self.work, load)
        set_up_end_ns = time.monotonic_ns() - origin_ns
        engine = LoadProcess(load.engine, plan, _cpus(load, self.placement))
        try:
            pids = self.host.settle(slot.option, _roles(load, engine.pid))
            dsn = load.server.dsn if load.server is not None else ""
            target = Target(pids={**pids, "monitors": os.getpid()}, dsn=dsn)
            monitoring = Monitoring(self._rates(), target, origin_ns)
            # after the monitors: the server has one process for each of their connections
            tranches = self._tranches(load)
            probing = Probing(self._probes(load), target, self.placement.engine, tranches)
            monitoring.start(self.placement.engine)
        except BaseException:
            engine.stop()
            raise
        try:
            listener = Listener(monitoring.mark, probing.phase, self.progress.tick)
            result = engine.result(listener, engine_limit_s(self.study, slot, load))
            engine.stop()
            _refuse_interrupted(load, result)
            after_ns = time.monotonic_ns() - origin_ns
            time.sleep(_AFTER_S)
        finally:
            engine.stop()
            monitoring.stop()
            probing.stop()
        cause = never_succeeded(result) if slot.option.workload.steady else ""
        data_notices = tuple(("data", text) for text in self.work.remarks)
        if load.own_clock:
            return noticed(run_tables(result, 0), (*data_notices, *_no_probes(self.study, load))), cause
        phases = (("set-up", 0, set_up_end_ns), ("after", after_ns, time.monotonic_ns() - origin_ns))
        tables = _with_phases(run_tables(result, origin_ns), phases)
        parts = (monitoring.columns(), engine_samples(result, after_ns), probing.samples(origin_ns))
        tables = _with_samples(tables, parts)
        if tranches is not None:
            tranches.compare(tables["samples"])
            tranches.relate(result.tables)
        notices = [*data_notices, *monitoring.notices, *probing.notices(), *backlog_notices(result)]
        notices += _no_gets(self.study, tranches)
        tables = noticed(tables, (*notices, *error_notices(tables, self.kind.error_meanings)))
        if latches := monitored_latches(tables["samples"], tables["phases"]):
            tables["latches"] = latches
        return tables | probing.tables(), cause

    def _probes(self, load: Load) -> Mapping[str, Any]:
        return {} if load.own_clock else self.study.probes.of_the_kernel

    def _tranches(self, load: Load) -> Tranches | None:
        probes, server = self.study.probes, load.server
        if server is None or server.latch_names is None or not (probes.latches or probes.latch_count_s):
            return None
        group = self.host.name_for_probes()
        return Tranches(
            server.pid, group, server.latch_names, sleeps=probes.latches, gets=probes.latch_count_s > 0
        )

    def _rates(self) -> Mapping[str, float]:
        if self.study.monitors is not None:
            return self.study.monitors
        return {name: declared(name).default_hz for name in self.kind.monitors}


def _cpus(load: Load, placement: Placement) -> frozenset[int]:
    """Measured work in process may use the server's CPUs too."""
    return placement.server | placement.engine if load.in_process else placement.engine


def _roles(load: Load, engine: int) -> dict[str, int]:
    """Root processes by role: an engine that does the measured work itself counts as the server."""
    server = load.server
    if server is None or load.own_clock:
        return {"server": engine}
    own = {} if server.pid is None else {"server": server.pid}
    return {"engine": engine, **server.roles, **own}


def _with_phases(tables: Mapping[str, Columns], phases: Sequence[tuple[str, int, int]]) -> dict[str, Columns]:
    """The tables with further phases: name, start and end (ns)."""
    rows = Rows("phases")
    rows.extend(tables["phases"])
    for phase, start_ns, end_ns in phases:
        rows.add(point=0, clients=0, phase=phase, start_ns=start_ns, end_ns=end_ns)
    return {**tables, "phases": rows.columns()}


def _with_samples(tables: Mapping[str, Columns], parts: Sequence[Columns]) -> dict[str, Columns]:
    """The tables with further samples."""
    rows = Rows("samples")
    for part in (*parts, *([tables["samples"]] if "samples" in tables else [])):
        rows.extend(part)
    return {**tables, "samples": rows.columns()}


def _refuse_interrupted(load: Load, result: EngineResult) -> None:
    """Raises LoadFailed when the server was interrupted: the measurement is then invalid."""
    cause = load.server.interruption() if load.server is not None else ""
    if not cause and (lost := result.facts.connections_lost):
        why = result.facts.connections_lost_cause
        cause = f"{lost} connections were lost under load" + (f": {why}" if why else "")
    if cause:
        raise LoadFailed(cause)


def _no_gets(study: Study, tranches: Tranches | None) -> Sequence[tuple[str, str]]:
    if tranches is not None or not study.probes.latch_count_s:
        return ()
    text = "gets: not supported for this subject, because its latches are not known"
    text += " (leave probes.latch_count_s out)"
    return (("probe-unavailable", text),)


def _no_probes(study: Study, load: Load) -> Sequence[tuple[str, str]]:
    # a guest has probes in its own kernel
    if load.server is not None or not study.probes.any:
        return ()
    return (
        (
            "probe-unavailable",
            "this subject has its own clock: records of this machine's kernel probes cannot be related to it",
        ),
    )
