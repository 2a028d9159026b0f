"""What all runs of a study share: the study, its subjects, the machine, and who follows the progress."""

import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from steelyard.declared_metrics import Declared
from steelyard.host.cpus.scheduling import Placement
from steelyard.lab.engines.process import Place, ThisMachine
from steelyard.lab.engines.result import EngineResult
from steelyard.lab.engines.result_tables import engine_samples, error_notices, noticed, run_tables
from steelyard.lab.machine.host_settings import Host
from steelyard.lab.run_parts import growth_samples, joined, series_of
from steelyard.monitors import Reader, declared, made
from steelyard.monitors.sql.monitor import QueryMonitor
from steelyard.monitors.sql.queries import declared_of, queries_of
from steelyard.run_tables.rows import Columns, Rows, each
from steelyard.study.study import Slot, Study
from steelyard.subjects import Kind, Load, Subject
from steelyard.workloads import Work

# of a server's hundreds of latches, those with the longest total time of gets, else of waits
_LATCHES_PER_POINT_MAX = 12
_RANKED_BY = ("get_ns", "wait_ns", "sleeps", "gets")


def _monitored_latches(samples: Columns, phases: Columns, declared: Declared) -> Columns | None:
    """One row per load point and latch, growth over the measure phase; None where no monitor read latches.

    Monitors read at the edges of phases: the first sample at or after an edge belongs to the edge.
    """
    supplied = {
        (monitor, metric.name): metric.latch
        for monitor, metrics in declared.items()
        for metric in metrics
        if metric.latch
    }
    read = {
        (entity, supplied[monitor, metric]): readings
        for (monitor, entity, metric), readings in series_of(samples).items()
        if (monitor, metric) in supplied
    }
    if not read:
        return None
    counters = dict.fromkeys(counter for _, counter in read)
    rows = Rows("latches")
    for phase, point, start_ns, end_ns in each(phases, "phase", "point", "start_ns", "end_ns"):
        if phase != "measure":
            continue
        grown = {
            latch: {name: _growth(read.get((latch, name), []), start_ns, end_ns) for name in counters}
            for latch in dict.fromkeys(entity for entity, _ in read)
        }
        ranked = sorted(grown, key=lambda latch: _rank(grown[latch]), reverse=True)[:_LATCHES_PER_POINT_MAX]
        for latch in (name for name in ranked if any(grown[name].values())):
            rows.add(point=point, latch=latch, **grown[latch])
    return rows.columns()


def _rank(grown: Mapping[str, int | None]) -> list[int]:
    return [grown.get(name) or 0 for name in _RANKED_BY]


def _growth(samples: Sequence[tuple[int, float]], start_ns: int, end_ns: int) -> int | None:
    """Growth between the samples at two edges; a counter first seen in between starts at 0.

    None without samples: not available.
    """
    if not samples:
        return None
    first, last = (bisect_left(samples, (edge, -1.0)) for edge in (start_ns, end_ns))
    before = samples[first][1] if first < len(samples) and samples[first][0] < end_ns else 0.0
    return round(samples[min(last, len(samples) - 1)][1] - before)


class Progress(Protocol):
    """Shows the progress of a study."""

    def run_started(self, label: str, block: int, slot: int) -> None:
        """A run begins, or one of its turns."""
        ...

    def tick(self, tps: float) -> None:
        """A second has passed under load, or a turn."""
        ...

    def turned(self, share: float) -> None:
        """A turn, or a warm-up before turns, is over; share: of the block's load that is done, 0 to 1."""
        ...


@dataclass
class Times:
    """Ends of the lab's own phases of a run: ns since origin_ns, which is a time of CLOCK_MONOTONIC."""

    origin_ns: int
    set_up_ns: int = 0
    after_ns: int = 0
    end_ns: int = 0

    def now_ns(self) -> int:
        """Since the origin."""
        return time.monotonic_ns() - self.origin_ns


@dataclass
class Numbers:
    """How many numbers of each sequence earlier runs have drawn; None: each run has fresh data."""

    taken: int | None = None

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
    admit: Callable[[str, Mapping[str, Any]], None]
    place: Place = field(default_factory=ThisMachine)
    numbers: Numbers = field(default_factory=Numbers)

    def readers(self) -> dict[str, tuple[Reader, float]]:
        """The monitors of one run with their rates, by name."""
        return readers_of(self.study, self.kind)

    def tables_of(
        self,
        slot: Slot,
        load: Load,
        result: EngineResult,
        times: Times,
        samples: Sequence[Columns],
        notices: Iterable[tuple[str, str]],
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
        of_engine = (engine_samples(result, times.after_ns), grown, tables.get("samples"))
        tables |= {"phases": phases.columns(), "samples": joined("samples", *samples, *of_engine)}
        of_data = [("data", text) for text in work.remarks]
        of_server = error_notices(tables, self.kind.error_meanings)
        tables = noticed(tables, (*of_data, *notices, *of_server))
        latches = _monitored_latches(tables["samples"], tables["phases"], declared_of(self.study))
        return tables | ({"latches": latches} if latches else {})


def readers_of(study: Study, kind: Kind) -> dict[str, tuple[Reader, float]]:
    """New monitors of a study with their rates in Hz, by name."""
    rates_hz = study.rates_hz
    if rates_hz is None:
        rates_hz = {name: declared(name).default_hz for name in kind.monitors}
    by_sql = {name: (QueryMonitor(name, q), 1 / q.every_s) for name, q in queries_of(study).items()}
    return {**made(rates_hz), **by_sql}
