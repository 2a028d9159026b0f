"""A run of one option by itself, in phases: set-up (server, data), connect, warm-up, measure,
scheduling-trace and latch-count (once per load point), cool-down, disconnect, after.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

from steelyard.host.cpus.scheduling import NotTaken
from steelyard.host.processes.limits import TimedOut, within
from steelyard.lab import run_parts
from steelyard.lab.engines.plan import engine_limit_s, engine_plan
from steelyard.lab.engines.result import (
    EngineResult,
    Json,
    LoadFailed,
    Notice,
    OnEvent,
    Tables,
    joined,
    noticed,
    samples_of,
)
from steelyard.lab.engines.result_tables import backlog_notices, run_tables
from steelyard.lab.environment.redaction import redacted_run
from steelyard.lab.laboratory import Laboratory, Times
from steelyard.lab.machine.host_settings import Host
from steelyard.lab.observe.latch_rows_postgres import Tranches
from steelyard.lab.observe.probes import Probing
from steelyard.study.host_settings import SESSIONS, host_settings
from steelyard.study.study import Option, Slot, Study
from steelyard.subjects import Load, SubjectFailed, started
from steelyard.workloads import Scripted, Work

_AFTER_S = 0.3

_FOUND_S = 5.0
_LOOK_S = 0.02
_ANSWER_S = 30.0


@dataclass
class _Listener:
    """Marks phases' edges, reports the last second's rate. last: transactions, time (ns) of the last tick."""

    mark: Callable[[], None]
    phase: OnEvent
    tick: Callable[[float], None]
    last: tuple[int, int] = (0, 0)

    def __call__(self, event: Json) -> None:
        """Handles one event."""
        if event["event"] == "phase":
            self.phase(event)
            self.mark()
        elif event["event"] == "tick":
            count, t_ns = int(event["transactions"]), int(event["t_ns"])
            before, then_ns = self.last
            self.last = (count, t_ns)
            if then_ns and count >= before and t_ns > then_ns:
                self.tick((count - before) / ((t_ns - then_ns) / 1e9))


def run_alone(laboratory: Laboratory, slot: Slot, attempt: int) -> run_parts.Run:
    """One run of one option, by itself."""
    subject = laboratory.subjects[0]
    times = Times()
    run = run_parts.Run(slot, attempt, "void", "", times.began_at, 0.0)
    try:
        load = laboratory.begun(slot, partial(started, subject))
        tables, result = _load(laboratory, slot, load, times)
        run = laboratory.finished(slot, attempt, load, times, result, tables)
    except (LoadFailed, TimedOut, *laboratory.kind.driver_errors) as error:
        run = replace(run, cause=str(error).strip())
    finally:
        log = subject.stop()
        laboratory.host.restore()
    run = replace(run, server_log="" if run.status == "done" else log, seconds=times.now_ns() / 1e9)
    return redacted_run(run, laboratory.study)


def _load(laboratory: Laboratory, slot: Slot, load: Load, times: Times) -> tuple[Tables, EngineResult]:
    """The tables of a run, and what its engine reported."""
    work = laboratory.works[slot.option.label]
    plan = engine_plan(laboratory.study, slot, work, load, laboratory.numbers.of(0, 1))
    times.set_up_ns = times.now_ns()
    engine = laboratory.engine(load, plan)
    try:
        pids, target, monitoring = laboratory.observed(slot, load, engine, times.origin_ns)
        # after the monitors: the server has one process for each of their connections
        tranches = _tranches(laboratory, load)
        probes = {} if load.own_clock else laboratory.study.probes.of_the_kernel
        probing = Probing(probes, target, laboratory.placement.engine, tranches)
        monitoring.start(laboratory.placement.engine)
    except BaseException:
        engine.stop()
        raise
    try:
        background = BackgroundSessions(laboratory.host, slot.option, work, load)

        def phase(event: Json) -> None:
            probing.phase(event)
            background.phase(event)
            if event["phase"] == "cool-down":
                laboratory.host.confirm(slot.option, pids)

        listener = _Listener(monitoring.mark, phase, laboratory.progress.tick)
        with run_parts.Pulse():
            result = engine.result(listener, engine_limit_s(laboratory.study, slot, load))
        engine.stop()
        laboratory.numbers.add(result.facts.numbered)
        run_parts.refuse_interrupted(load, result)
        run_parts.refuse_inconsistent(laboratory.study, work, load)
        times.after_ns = times.now_ns()
        time.sleep(_AFTER_S)
    finally:
        engine.stop()
        monitoring.stop()
        probing.stop()
    unavailable = tuple(_unavailable(laboratory.study, load, tranches))
    if load.own_clock:
        remarks = tuple(("data", text) for text in work.remarks)
        return noticed(run_tables(result, 0), (*remarks, *unavailable), True), result
    times.end_ns = times.now_ns()
    if tranches is not None:
        tranches.compare(monitoring.columns())
        tranches.relate(result.tables)
    samples = (monitoring.columns(), samples_of(probing.samples(times.origin_ns)))
    notices = (*monitoring.notices, *probing.notices(), *backlog_notices(result), *unavailable)
    tables, probed = laboratory.tables_of(slot, load, result, times, samples, notices), probing.tables()
    if "latches" in tables and "latches" in probed:
        probed["latches"] = joined("latches", tables["latches"], probed["latches"])
    return tables | probed, result


def _tranches(laboratory: Laboratory, load: Load) -> Tranches | None:
    probes, server = laboratory.study.probes, load.server
    if server is None or server.latch_names is None or not (probes.latches or probes.latch_count_s):
        return None
    group = laboratory.host.name_for_probes()
    # no breakpoints in the sessions of others
    pid = None if laboratory.study.subject.dsn else server.pid
    return Tranches(pid, group, server.latch_names, sleeps=probes.latches, gets=probes.latch_count_s > 0)


def _unavailable(study: Study, load: Load, tranches: Tranches | None) -> Iterator[Notice]:
    """Notices on probes that the study asks for and this subject has not."""
    # a guest has probes in its own kernel
    if load.own_clock and load.server is None and study.probes.sources:
        yield (
            "probe-unavailable",
            "this subject has its own clock: records of this machine's kernel probes cannot be related to it",
        )
    elif not load.own_clock and tranches is None and study.probes.latch_count_s:
        yield (
            "probe-unavailable",
            "gets: not supported for this subject, because its latches are not known"
            " (leave probes.latch_count_s out)",
        )


@dataclass
class BackgroundSessions:
    """phase() with each event of the engine. Raises SubjectFailed for a refused setting, LoadFailed."""

    host: Host
    option: Option
    work: Work
    load: Load
    threads: set[int] = field(default_factory=set[int])

    def phase(self, event: Json) -> None:
        """Schedules the sessions before the measure phase."""
        requested = host_settings(self.option.host).schedules.get(SESSIONS)
        if not requested or event["phase"] not in ("warm-up", "measure") or self.threads:
            return
        server = self.load.server
        if server is None or server.sessions is None:
            raise SubjectFailed(
                f"option {self.option.label}: {SESSIONS}. settings need a server of this machine whose"
                " sessions are threads or processes of their own"
            )
        limit_s = time.monotonic() + _FOUND_S
        sessions, (text, count) = server.sessions, _background(self.work)
        while len(self.threads) < count and time.monotonic() < limit_s:
            self.threads |= set(within(_ANSWER_S, "reading the sessions", lambda: sessions(text)))
            time.sleep(_LOOK_S)
        if len(self.threads) != count:
            raise LoadFailed(f"{len(self.threads)} of {count} reporting sessions were found")
        try:
            for thread in self.threads:
                self.host.schedule(SESSIONS, thread, requested)
        except NotTaken as misfit:
            raise SubjectFailed(
                f"option {self.option.label}: the host did not take {SESSIONS}.{misfit}"
            ) from None


def _background(work: Work) -> tuple[str, int]:
    """The text that the sessions execute, and how many there are."""
    for name, one in work.transactions.items():
        if isinstance(one, Scripted) and one.clients and not one.takes:
            text = next(s.sql for key, s in work.statements.items() if key.startswith(f"{name}: "))
            return text, one.clients
    return "", 0
