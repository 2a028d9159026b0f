"""Runs a study: blocks of options, each run in its phases; yields every run as it ends.

Phases: set-up (server, data), connect, warm-up, measure (once a point), cool-down, disconnect,
after. The lab keeps nothing: who asked for the runs writes them down.
"""

from __future__ import annotations

import base64
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Protocol

import psycopg

from steelyard.host.placement import Placement
from steelyard.lab.engine_plan import engine_plan
from steelyard.lab.engines import LoadFailed
from steelyard.lab.environment import redact, server_environment
from steelyard.lab.host import Host
from steelyard.lab.load import LoadProcess
from steelyard.lab.watch import Watch
from steelyard.monitors import Target
from steelyard.study.plan import Slot
from steelyard.study.spec import Study
from steelyard.subjects import Endpoint, Inside, Subject
from steelyard.workloads import Work

_AFTER_S = 0.3

Columns = Mapping[str, Sequence[Any]]


class Progress(Protocol):
    """Who watches the study go on."""

    def run_started(self, label: str, block: int, slot: int) -> None:
        """A run begins."""
        ...

    def tick(self, tps: float) -> None:
        """A second has passed under load."""
        ...

    def run_ended(self, label: str, tps: float, status: str) -> None:
        """The run is over; tps over its measure phases."""
        ...


class StudyFailed(Exception):
    """The study cannot go on; runs finished so far are kept."""


@dataclass(frozen=True)
class Run:
    """One run as measured: its place, what became of it, and its tables as columns.

    A void run has tables only when its load went on to the end and nothing succeeded.
    """

    slot: Slot
    attempt: int
    status: str
    cause: str
    started_at: str
    seconds: float
    tables: Mapping[str, Columns] = field(default_factory=dict[str, Columns])
    server_log: str = ""
    server_facts: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Laboratory:
    """What all runs of a study share.

    admit: told an option's label and what its server says of itself, before the load; raises
    InputError when that server must not go into the study.
    """

    study: Study
    work: Work
    subject: Subject
    placement: Placement
    host: Host
    progress: Progress
    admit: Callable[[str, Mapping[str, Any]], None]

    def block(self, slots: Sequence[Slot], attempt: int = 1) -> Iterator[Run]:
        """The runs of one block. After a void run the whole block is redone, once.

        attempt: number of the first attempt. Raises StudyFailed when a run of the second is void,
        and at once when nothing succeeded in a run: the same work would fail again.
        """
        for number in (attempt, attempt + 1):
            for slot in slots:
                run = self._run(slot, number)
                yield run
                if run.status == "void" and run.tables:
                    raise StudyFailed(f"option {slot.option.label}: {run.cause}")
                if run.status == "void":
                    break
            else:
                return
        raise StudyFailed(f"block {slots[0].block} failed twice: {run.slot.option.label}: {run.cause}")

    def _run(self, slot: Slot, attempt: int) -> Run:
        origin_ns = time.monotonic_ns()
        started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        self.progress.run_started(slot.option.label, slot.block, slot.slot)
        run = Run(slot, attempt, "void", "", started_at, 0.0)
        tps = 0.0
        try:
            self.host.change(slot.option)
            endpoint = self.subject.start(slot.option)
            self.subject.reset()
            facts = _facts(endpoint)
            self.admit(slot.option.label, facts)
            tables = self._load(slot, endpoint, origin_ns)
            tps = _throughput(tables)
            cause = "" if tps else _why_nothing(tables)
            status = "void" if cause else "done"
            run = replace(run, status=status, cause=cause, tables=tables, server_facts=facts)
        except (LoadFailed, psycopg.Error) as error:
            run = replace(run, cause=str(error).strip())
        finally:
            log = self.subject.stop()
            self.host.restore()
        run = replace(
            run,
            server_log="" if run.status == "done" else log,
            seconds=(time.monotonic_ns() - origin_ns) / 1e9,
        )
        self.progress.run_ended(slot.option.label, tps, run.status)
        return run

    def _load(self, slot: Slot, subject: Endpoint | Inside, origin_ns: int) -> dict[str, Columns]:
        plan = engine_plan(self.study, slot.option, self.work, subject)
        set_up_end_ns = time.monotonic_ns() - origin_ns
        if isinstance(subject, Inside):
            # what is weighed works in the engine's process: it may use all CPUs, and counts as server
            engine = LoadProcess(subject.engine, plan, self.placement.server | self.placement.engine)
            pids = {"server": engine.pid}
        else:
            engine = LoadProcess("load", plan, self.placement.engine)
            pids = {"engine": engine.pid} | ({"server": subject.pid} if subject.pid is not None else {})
        try:
            pids = self.host.settle(slot.option, pids)
            target = Target(pids={**pids, "monitors": os.getpid()}, dsn=subject.dsn)
            watch = Watch(self._rates(), target, origin_ns)
            watch.start(self.placement.engine)
        except BaseException:
            engine.stop()
            raise
        try:
            result = engine.results(_Listener(watch.mark, self.progress.tick))
            engine.stop()
            after_ns = time.monotonic_ns() - origin_ns
            time.sleep(_AFTER_S)
        finally:
            engine.stop()
            watch.stop()
        if isinstance(subject, Inside) and subject.simulated:
            return _tables(result, 0)
        tables = _tables(result, origin_ns)
        phases = {name: list(values) for name, values in tables["phases"].items()}
        for phase, start_ns, end_ns in (
            ("set-up", 0, set_up_end_ns),
            ("after", after_ns, time.monotonic_ns() - origin_ns),
        ):
            row = {"point": 0, "clients": 0, "phase": phase, "start_ns": start_ns, "end_ns": end_ns}
            for name, value in row.items():
                phases[name].append(value)
        samples = watch.columns()
        for name, values in tables["samples"].items():
            samples[name] += values
        for row in _engine_samples(result, after_ns):
            for name, value in zip(samples, row, strict=True):
                samples[name].append(value)
        told = [*watch.notices, *_backlog(result)]
        notices = {
            "code": [code for code, _ in told] + list(tables["notices"]["code"]),
            "text": [text for _, text in told] + list(tables["notices"]["text"]),
        }
        return {**tables, "phases": phases, "samples": samples, "notices": notices}

    def _rates(self) -> Mapping[str, float]:
        if self.study.monitors is not None:
            return self.study.monitors
        return {name: _DEFAULT_HZ.get(name, 1.0) for name in self.subject.monitors}


def _facts(subject: Endpoint | Inside) -> dict[str, Any]:
    """What is known of the server: what the subject tells, and what PostgreSQL itself tells anybody."""
    told = redact(subject.facts)
    if isinstance(subject, Endpoint) and subject.protocol == "postgres" and subject.dsn:
        return {**told, **server_environment(subject.dsn)}
    return told


# waits are short: they are sampled, not counted, and need more readings than a counter
_DEFAULT_HZ = {"postgres-waits": 10.0}


@dataclass
class _Listener:
    """Hears the engine: marks the edges of phases, and tells the rate of the last second."""

    mark: Callable[[], None]
    tick: Callable[[float], None]
    last: tuple[int, int] = (0, 0)

    def __call__(self, event: Mapping[str, Any]) -> None:
        if event["event"] == "phase":
            self.mark()
        elif event["event"] == "tick":
            count, t_ns = int(event["transactions"]), int(event["t_ns"])
            before, then_ns = self.last
            self.last = (count, t_ns)
            if then_ns and count >= before and t_ns > then_ns:
                self.tick((count - before) / ((t_ns - then_ns) / 1e9))


def _engine_samples(result: Mapping[str, Any], t_ns: int) -> Iterator[tuple[int, str, str, str, float]]:
    """What the engine tells of itself, and what its sessions told of themselves, summed over clients."""
    engine = result["engine"]
    for metric in ("threads", "connections_made", "reconnections", "connect_ns_mean"):
        if metric in engine:
            yield t_ns, "engine", "engine", metric, float(engine[metric])
    for point, waiting in enumerate(engine.get("backlog", ())):
        yield t_ns, "engine", f"point{point}", "backlog", float(waiting)
    told: dict[tuple[str, str], float] = {}
    inspected = result["inspect"]
    for name, metric, value in zip(inspected["name"], inspected["metric"], inspected["value"], strict=True):
        told[name, metric] = told.get((name, metric), 0.0) + value
    for (name, metric), value in told.items():
        yield t_ns, "inspect", name, metric, value


def _backlog(result: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Arrivals of an open loop that never got a client: their latency is known from below alone."""
    for point, waiting in enumerate(result["engine"].get("backlog", ())):
        if waiting:
            yield (
                "backlog",
                f"point {point}: {waiting} arrivals still waited for a client at the end:"
                " the rate is more than the server takes, and latencies are lower bounds,"
                " as they count these arrivals with what they had waited by then",
            )


def _tables(result: Mapping[str, Any], origin_ns: int) -> dict[str, Columns]:
    phases = result["phases"]
    latency = dict(result["latency"])
    latency["histogram"] = [base64.b64decode(text) for text in latency.pop("histogram_base64")]
    samples = result.get("samples", {"t_ns": [], "entity": [], "metric": [], "value": []})
    return {
        "phases": {
            **phases,
            "start_ns": [t - origin_ns for t in phases["start_ns"]],
            "end_ns": [t - origin_ns for t in phases["end_ns"]],
        },
        "throughput": result["throughput"],
        "latency": latency,
        "clients": result["clients"],
        "errors": result["errors"],
        "samples": {
            **samples,
            "t_ns": [t - origin_ns for t in samples["t_ns"]],
            "monitor": ["engine"] * len(samples["t_ns"]),
        },
        "notices": result.get("notices", {"code": [], "text": []}),
        **{name: result[name] for name in ("latches", "scores") if name in result},
    }


def _why_nothing(tables: Mapping[str, Columns]) -> str:
    """Why a run has no transaction: its most frequent error."""
    errors = tables["errors"]
    kinds = sorted(zip(errors["count"], errors["code"], errors["message"], strict=True), reverse=True)
    if not kinds:
        return "no transaction ended while measuring: measure for longer, or raise workload.deadline_ms"
    count, code, message = kinds[0]
    return f"no transaction succeeded; {count} failed with {code}: {message}"


def _throughput(tables: Mapping[str, Columns]) -> float:
    """Transactions a second, or the highest total score of a point."""
    if "scores" in tables:
        totals: dict[int, float] = {}
        for point, score in zip(tables["scores"]["point"], tables["scores"]["score"], strict=True):
            totals[point] = totals.get(point, 0.0) + score
        return max(totals.values(), default=0.0)
    phases, rows = tables["phases"], tables["throughput"]
    seconds = sum(
        (end - start) / 1e9
        for phase, start, end in zip(phases["phase"], phases["start_ns"], phases["end_ns"], strict=True)
        if phase == "measure"
    )
    count = sum(
        count
        for statement, second, count in zip(rows["statement"], rows["second"], rows["count"], strict=True)
        if statement == "transaction" and second >= 0
    )
    return count / seconds if seconds else 0.0
