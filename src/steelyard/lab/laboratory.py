"""What all runs of a study share: the study, its subjects, the machine, and who follows the progress."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Protocol

from steelyard.declared_metrics import Declared
from steelyard.host.cpus.scheduling import Placement
from steelyard.lab.engines.process import Place, RunningEngine
from steelyard.lab.engines.result import EngineResult, Json, Notice, Tables, joined, noticed, samples_of
from steelyard.lab.engines.result_tables import engine_samples, error_notices, outcome, run_tables
from steelyard.lab.environment.redaction import redact
from steelyard.lab.machine.host_settings import Host
from steelyard.lab.observe.monitoring import Monitoring
from steelyard.lab.run_parts import Run, growth_samples, root_processes, target_of
from steelyard.monitors import Reader, Target, declared, made
from steelyard.monitors.sql.monitor import QueryMonitor
from steelyard.monitors.sql.queries import declared_of, queries_of
from steelyard.run_tables.questions import asked
from steelyard.run_tables.rows import Columns, Rows, each
from steelyard.study.study import Option, Slot, Study
from steelyard.subjects import Kind, Load, Subject
from steelyard.workloads import Work

# of a server's hundreds of latches, those with the longest total time of gets, else of waits
_LATCHES_PER_POINT_MAX = 12
# growth over the measure phase; monitors read at the edges of phases: the first sample at or after an edge
# belongs to the edge, a counter first seen in between starts at 0; NULL without samples: not available
_LATCHES = """
with grown as (
    select point, entity, latch,
        round(coalesce(arg_min(value, t_ns) filter (t_ns >= end_ns), arg_max(value, t_ns))
            - coalesce(arg_min(value, t_ns) filter (t_ns >= start_ns and t_ns < end_ns), 0))::bigint as n
    from samples join supplied using (monitor, metric), phases
    where phase = 'measure' group by all
), wide as (
    select point, entity as latch,
        max(n) filter (latch = 'gets') as gets, max(n) filter (latch = 'misses') as misses,
        max(n) filter (latch = 'spin_gets') as spin_gets, max(n) filter (latch = 'sleeps') as sleeps,
        max(n) filter (latch = 'wait_ns') as wait_ns, max(n) filter (latch = 'get_ns') as get_ns,
        max(n) filter (latch = 'hand_overs') as hand_overs
    from grown group by point, entity having bool_or(n <> 0)
), ranked as (
    select *, row_number() over (partition by point order by
        coalesce(get_ns, 0) desc, coalesce(wait_ns, 0) desc, coalesce(sleeps, 0) desc, coalesce(gets, 0) desc
    ) as place
    from wide
)
select * exclude place from ranked where place <= $1 order by point, place
"""


def _monitored_latches(tables: Tables, declared: Declared) -> dict[str, Columns]:
    """One row per load point and latch; none where no monitor read latches."""
    counters = {
        (monitor, metric.name, metric.latch)
        for monitor, metrics in declared.items()
        for metric in metrics
        if metric.latch
    }
    read = set(each(tables["samples"], "monitor", "metric"))
    if not any(one[:2] in read for one in counters):
        return {}
    monitors, metrics, latches = zip(*counters, strict=True)
    supplied = {"monitor": monitors, "metric": metrics, "latch": latches}
    return {"latches": asked(_LATCHES, {**tables, "supplied": supplied}, _LATCHES_PER_POINT_MAX)}


class Progress(Protocol):
    """Shows the progress of a study."""

    def run_started(self, label: str, block: int, slot: int) -> None:
        """A run begins, or one of its turns."""

    def tick(self, tps: float) -> None:
        """A second has passed under load, or a turn."""

    def turned(self, share: float) -> None:
        """A turn, or a warm-up before turns, is over; share: of the block's load that is done, 0 to 1."""


@dataclass
class Times:
    """Ends of the lab's own phases of a run: ns since origin_ns, which is a time of CLOCK_MONOTONIC.

    began_at: the origin as date and time.
    """

    origin_ns: int = field(default_factory=time.monotonic_ns)
    began_at: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="milliseconds"))
    set_up_ns: int = 0
    after_ns: int = 0
    end_ns: int = 0

    def now_ns(self) -> int:
        """Since the origin."""
        return time.monotonic_ns() - self.origin_ns


@dataclass
class Numbers:
    """How many numbers of each sequence earlier runs have drawn; None: each run has fresh data."""

    taken: int | None

    def of(self, option: int, options: int) -> tuple[int, int]:
        """First number and step of one of the options that run at the same time."""
        return (0, 1) if self.taken is None else (self.taken * options + option, options)

    def add(self, numbered: int | None) -> None:
        """Adds the most that a run, or one of several at the same time, has drawn."""
        if self.taken is not None:
            self.taken += numbered or 0


@dataclass(frozen=True)
class Laboratory:
    """State that all runs of a study share.

    works: by option. subjects: one for each server that is up at the same time; servers: their numbers, by
    option. in_turns: whether the options of a block take turns. admit: called before the load with an
    option's label and the facts of its server; raises InputError when the study cannot include that server.
    place: where the engines run. numbers: of sequences on data that stay as they are.
    """

    study: Study
    works: Mapping[str, Work]
    kind: Kind
    subjects: Sequence[Subject]
    servers: Mapping[str, int]
    in_turns: bool
    placement: Placement
    host: Host
    progress: Progress
    admit: Callable[[str, Json], None]
    place: Place
    numbers: Numbers

    def begun(self, slot: Slot, start: Callable[[Option], Load]) -> Load:
        """Gives the machine an option's settings and starts its load; removes secrets from its facts."""
        self.progress.run_started(slot.option.label, slot.block, slot.slot)
        self.host.change(slot.option)
        load = start(slot.option)
        load = replace(load, facts=redact(load.facts, self.study))
        self.admit(slot.option.label, load.facts)
        return load

    def finished(
        self,
        slot: Slot,
        attempt: int,
        load: Load,
        times: Times,
        result: EngineResult,
        tables: Tables,
    ) -> Run:
        """A run whose load ran to its end; void where it is no result all the same."""
        tps, cause = outcome(slot.option.workload, result, tables)
        status = "void" if cause else "done"
        # whoever ran it says how long it took in all
        return Run(slot, attempt, status, cause, times.began_at, 0.0, tps, tables, server_facts=load.facts)

    def engine(self, load: Load, plan: Json) -> RunningEngine:
        """The load engine of a run, which waits for its events to be read."""
        # measured work in process may use the server's CPUs too
        more = self.placement.server if load.in_process else frozenset[int]()
        return self.place.start(load.engine, plan, self.placement.engine | more)

    def observed(
        self, slot: Slot, load: Load, engine: RunningEngine, origin_ns: int
    ) -> tuple[Mapping[str, int], Target, Monitoring]:
        """The processes of a run by role, scheduled as its option wants them; its monitors, opened."""
        pids = self.host.settle(slot.option, root_processes(load, engine.pid))
        target = target_of(load, pids, self.placement.engine)
        return pids, target, Monitoring(readers_of(self.study, self.kind), target, origin_ns)

    def tables_of(
        self,
        slot: Slot,
        load: Load,
        result: EngineResult,
        times: Times,
        samples: Sequence[Columns],
        notices: Iterable[Notice],
    ) -> dict[str, Columns]:
        """The tables of a run with a server or in process. samples, notices: what was observed beside it."""
        work = self.works[slot.option.label]
        tables = run_tables(result, times.origin_ns)
        phases = Rows("phases")
        phases.extend(tables["phases"])
        for phase, start_ns, end_ns in (
            ("set-up", 0, times.set_up_ns),
            ("after", times.after_ns, times.end_ns),
        ):
            phases.add(point=0, clients=0, phase=phase, start_ns=start_ns, end_ns=end_ns)
        grown = growth_samples(self.study, work, load, times.after_ns)
        own = samples_of((*engine_samples(result, times.after_ns), *grown))
        found = joined("samples", *samples, own, tables.get("samples"))
        tables |= {"phases": phases.columns(), "samples": found}
        of_data = [("data", text) for text in work.remarks]
        of_server = error_notices(tables, self.kind.error_meanings)
        tables = noticed(tables, (*of_data, *notices, *of_server), True)
        return tables | _monitored_latches(tables, declared_of(self.study))


def readers_of(study: Study, kind: Kind) -> dict[str, tuple[Reader, float]]:
    """New monitors of a study with their rates in Hz, by name."""
    rates_hz = study.rates_hz or {name: declared(name).default_hz for name in kind.monitors}
    by_sql = {name: (QueryMonitor(name, q), 1 / q.every_s) for name, q in queries_of(study).items()}
    return {**made(rates_hz), **by_sql}
