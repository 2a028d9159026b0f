"""What a report is given beside the judgement: series ready to draw, and how they were measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from steelyard.analysis.judgement.results import Notice

if TYPE_CHECKING:
    import numpy as np

    Columns = Mapping[str, Sequence[Any] | np.ndarray[Any, Any]]
else:
    Columns = Mapping


@dataclass(frozen=True)
class Series:
    """Small tables for drawing, as columns of equal length (lists or numpy arrays); all optional.

    Already reduced by the reader: a few thousand rows each, whatever the size of the bundle.

    throughput: option, t_s, run, tps. t_s: seconds of execution over all runs, one after another.
    cpu: run, option, t_s (as above), role (server, engine, monitors, idle ...), percent (of one core).
    gauges: option, t_s (since the start of measure), monitor, entity, metric, value, limit (NaN or
        absent: none), unit ('': a number of things): median over runs.
    statements: option, statement, per_s: geometric mean over runs and points, as estimates are.
    clients: option, clients, client, transactions: geometric mean over runs; of copies of a
        program, their scores stand as transactions.
    priorities: option, clients, priority, seconds: of simulated threads that are weighed, running or
        waiting for a CPU, mean over runs. trace: option, thread, reason (`ran`, or why its priority
        changed), cpu, start_s, end_s (from the first), priority.
    latency: option, clients, quantile (0 to 1), ns: geometric mean over runs, as estimates are.
    latch_times: option, clients, kind (hold, wait), quantile, ns: geometric mean over runs.
    stacks: option, role, stack (folded, outermost first), us_per_txn: CPU time, of profiled runs.
    overlays: source (bundle and option), clients, tps, linear (1: in proportion): curves of other
        bundles, drawn behind those of this one.
    """

    throughput: Columns = field(default_factory=dict[str, Any])
    cpu: Columns = field(default_factory=dict[str, Any])
    gauges: Columns = field(default_factory=dict[str, Any])
    statements: Columns = field(default_factory=dict[str, Any])
    clients: Columns = field(default_factory=dict[str, Any])
    latency: Columns = field(default_factory=dict[str, Any])
    latch_times: Columns = field(default_factory=dict[str, Any])
    overlays: Columns = field(default_factory=dict[str, Any])
    priorities: Columns = field(default_factory=dict[str, Any])
    trace: Columns = field(default_factory=dict[str, Any])
    stacks: Columns = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class FactorFacts:
    """A factor as the study gives it. levels: what each code stands for."""

    name: str
    scope: str
    levels: Mapping[str, str]


@dataclass(frozen=True)
class Phases:
    """The plan in numbers. transactions: that end the measure phase; None: measure_s does."""

    clients: tuple[int, ...]
    warm_up_s: float
    measure_s: float
    cool_down_s: float
    blocks: int
    seed: int
    transactions: int | None = None


@dataclass(frozen=True)
class MonitorCost:
    """A monitor's own cost. cpu_percent: of one core while measuring; None: not known.

    interval_s: between readings; None: not at a rate.
    """

    name: str
    interval_s: float | None
    cpu_percent: float | None


@dataclass(frozen=True)
class About:
    """How it was measured: everything a reader needs to judge, or to repeat it.

    when: start of the study, UTC, ISO 8601. machine, server_settings, engine: facts by name, in the
    order to be shown (CPU, cores, memory, kernel, virtualisation, mitigations ...). option_levels:
    code by factor, for each option. bundle, report: names as the user would type them; report
    is '' where none was written. point_is, points_are: what the plan's numbers of clients count, one
    and many; work_is: one of what they do; who_works: whose CPU counts. kernels: what each says of
    itself, where several were booted. next_command: what to type next. notices: of the lab.
    """

    name: str
    question: str
    when: str
    bundle: str
    steelyard_version: str
    phases: Phases
    runs_done: int
    runs_void: int
    subject: str = ""
    point_is: str = "client"
    points_are: str = "clients"
    work_is: str = "transaction"
    who_works: str = "server"
    server_version: str = ""
    report: str = ""
    next_command: str = ""
    machine: Mapping[str, str] = field(default_factory=dict[str, str])
    kernels: Mapping[str, str] = field(default_factory=dict[str, str])
    server_settings: Mapping[str, str] = field(default_factory=dict[str, str])
    engine: Mapping[str, str] = field(default_factory=dict[str, str])
    monitors: tuple[MonitorCost, ...] = ()
    factors: tuple[FactorFacts, ...] = ()
    option_levels: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    notices: tuple[Notice, ...] = ()


def rows(columns: Columns) -> list[dict[str, Any]]:
    """Columns as rows of plain Python values; NaN and infinities become None."""
    names = list(columns)
    plain = [[_plain(value) for value in columns[name]] for name in names]
    return [dict(zip(names, values, strict=True)) for values in zip(*plain, strict=True)]


def _plain(value: Any) -> Any:
    item = getattr(value, "item", None)
    plain = item() if callable(item) else value
    return None if isinstance(plain, float) and not math.isfinite(plain) else plain
