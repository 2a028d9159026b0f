"""The input of the analysis: the tables of a bundle, reduced to one row per run, point and series."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from steelyard.declared_metrics import Declared
from steelyard.study.plan import Option
from steelyard.study.study import Study

Columns = Mapping[str, np.ndarray[Any, Any]]


def _none(*names: str) -> Columns:
    return {name: np.empty(0) for name in names}


@dataclass(frozen=True)
class Probed:
    """Records of the kernel's probes; empty where none was on.

    functions: run, role, function (where CPU time was spent; `_[k]`: kernel), samples.
    locks: run, role, lock, type, call_site, distinct_locks, acquisitions, contended, wait_total_ns,
        wait_max_ns, wait_cpu_percent, utilisation_percent, hold_mean_ns, hold_max_ns; NaN where not
        available.
    scheduling: option, role, kind (run queue, slice, off CPU), seconds, voluntary, involuntary,
        migrations, quantile, ns, count: of all its runs together.
    cpus: of the whole machine, which the probes cover; 0: unknown.
    """

    functions: Columns = field(default_factory=lambda: _none("run", "role", "function", "samples"))
    locks: Columns = field(default_factory=lambda: _none("run"))
    scheduling: Columns = field(default_factory=lambda: _none("option"))
    cpus: int = 0


@dataclass(frozen=True)
class Topology:
    """The CPUs of the server; None where unknown. cpus: hardware threads of the cores."""

    cores: int | None = None
    cpus: int | None = None

    @classmethod
    def of(cls, environment: Mapping[str, Any]) -> Topology:
        """Cores and CPUs that the server may use: those it is pinned to, else all usable ones."""
        if simulated := environment.get("server", {}).get("simulated_cpus"):
            return cls(simulated, simulated)
        cpu: Mapping[str, Any] = environment.get("cpu", {})
        places: list[Mapping[str, Any]] = cpu.get("topology", [])
        placement: Mapping[str, Any] = environment.get("placement", {})
        if not placement.get("apart"):
            return cls(cpu.get("cores") or cpu.get("cpus_usable"), cpu.get("cpus_usable"))
        server = set(placement["server_cpus"])
        cores = {(p["package"], p["core"]) for p in places if p["cpu"] in server}
        return cls(len(cores) or len(server), len(server))


@dataclass(frozen=True)
class Evidence:
    """Tables as columns (equal lengths within a table); only runs whose status is done.

    options: in the order of the study, the baseline among them.
    runs: run, option, block, slot, seconds (its share of the study's time).
    points: run, point, clients, seconds (of measure), transactions, errors.
    seconds: run, point, second, count (whole transactions, measure phase only).
    latency: run, point, statement, count, mean_ns, p50_ns, p95_ns, p99_ns, p999_ns, max_ns.
    clients: run, point, client, transactions, errors, mean_ns, p99_ns.
    rates: run, point, monitor, entity, metric, rate_per_s: growth of each counter in measure.
    gauges: run, monitor, entity, metric, start (first sample in the first measure phase),
        end (last in the last measure phase), cooled (last in cool-down), gone (last after the
        clients disconnected), lowest, highest, mean (over all measure phases), `limit` (last value
        of the companion x_limit, NaN without one). NaN where a phase has no sample.
    peaks: run, point, monitor, entity, metric, highest: gauges that an engine reports.
    silence: run, monitor, last_ns (its last sample), measure_end_ns, interval_ns (median gap).
    notices: run (0: of the whole study), code, text.
    latches: run, point, latch, gets, misses, spin_gets, sleeps, wait_ns, get_ns, hand_overs, children
        (latches of the family), spin (turns before a miss sleeps); NaN where not available.
    latch_gets: run, point, latch, gets_per_txn: counted in the phase latch-count, which is not measured.
    holds: run, point, latch, ns, share: hold times, each with its share of all holds.
    claims: run, point, figure, value, decimals: published figures of a recording.
    probed: records of the kernel's probes.
    topology: the CPUs of the server. calibration: costs of this machine, by name with unit
        (hand_over_ns, wake_up_ns, spin_turn_ns; wakes: rows of asleep_ns, wake_ns, post_ns, slept; pauses:
        pause_ns, common; cpus and cpus_share: the two CPUs, and what they share); empty where not
        measured.
    storage: where the data folder is (data_dir, filesystem, device ...); empty where not known.
    versions: of the server, by option.
    fixed: by option, what the data directory was made with, by name of the setting that shows it.
    schemas: by option, tables_bytes, indexes_bytes and sql_s; empty unless a factor has scope `schema`.
    scores: run, point, instance, score, seconds, cpu_ns: instances of a program, where one was run.
    further_scores: run, point, instance, name, value.
    declared: metrics that the monitors declare, by monitor.
    placement: CPUs of "server" and "engine"; empty where not known, or where the server is at an address.
    kinds: run, point, transaction, count, retries: of each kind of transaction, where there are kinds.
    turns: run, point, deal, round, position, start_ns, transactions, first_half: of a block in turns.
    redone: run, block, status, cause, used, studies (others, the most at a time): void and disturbed runs
        whose block was repeated; used: they count nevertheless, as the repetition was disturbed more.
    data: what identifies the study's own data, by key of the workload: a file by its checksum.
    instruction_time: the clock counts instructions (of an emulated guest).
    rehearsal: option, step, statement, answer, rows, draws, plan.
    marks: run, statement, execution, clients, rows, empty: sums at each client's n-th execution.
    host_load: run, host, point, clients, transactions, errors, p50_ns, p99_ns: of each load host of a fleet.
    """

    study: Study
    options: tuple[Option, ...]
    baseline: str
    runs: Columns
    points: Columns
    seconds: Columns
    latency: Columns
    clients: Columns
    rates: Columns
    gauges: Columns
    silence: Columns
    notices: Columns
    declared: Declared
    latches: Columns = field(
        default_factory=lambda: _none(
            "run",
            "point",
            "latch",
            "gets",
            "misses",
            "spin_gets",
            "sleeps",
            "wait_ns",
            "get_ns",
            "hand_overs",
            "children",
            "spin",
        )
    )
    latch_gets: Columns = field(default_factory=lambda: _none("run", "point", "latch", "gets_per_txn"))
    holds: Columns = field(default_factory=lambda: _none("run", "point", "latch", "ns", "share"))
    claims: Columns = field(default_factory=lambda: _none("run", "point", "figure", "value", "decimals"))
    scores: Columns = field(
        default_factory=lambda: _none("run", "point", "instance", "score", "seconds", "cpu_ns")
    )
    further_scores: Columns = field(
        default_factory=lambda: _none("run", "point", "instance", "name", "value")
    )
    peaks: Columns = field(
        default_factory=lambda: _none("run", "point", "monitor", "entity", "metric", "highest")
    )
    probed: Probed = field(default_factory=Probed)
    topology: Topology = Topology()
    calibration: Mapping[str, Any] = field(default_factory=dict[str, Any])
    storage: Mapping[str, Any] = field(default_factory=dict[str, Any])
    versions: Mapping[str, str] = field(default_factory=dict[str, str])
    fixed: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    schemas: Mapping[str, Mapping[str, float]] = field(default_factory=dict[str, Mapping[str, float]])
    placement: Mapping[str, frozenset[int]] = field(default_factory=dict[str, frozenset[int]])
    kinds: Columns = field(default_factory=lambda: _none("run", "point", "transaction", "count", "retries"))
    turns: Columns = field(
        default_factory=lambda: _none(
            "run", "point", "deal", "round", "position", "start_ns", "transactions", "first_half"
        )
    )
    redone: Columns = field(
        default_factory=lambda: _none("run", "block", "status", "cause", "used", "studies")
    )
    data: Mapping[str, str] = field(default_factory=dict[str, str])
    instruction_time: bool = False
    rehearsal: Columns = field(
        default_factory=lambda: _none("option", "step", "statement", "answer", "rows", "draws", "plan")
    )
    marks: Columns = field(
        default_factory=lambda: _none("run", "statement", "execution", "clients", "rows", "empty")
    )
    host_load: Columns = field(default_factory=lambda: _none("run", "host", "point"))

    def option(self, label: str) -> Option:
        """The option of this label. Raises StopIteration."""
        return next(option for option in self.options if option.label == label)


def placement_of(environment: Mapping[str, Any]) -> dict[str, frozenset[int]]:
    """CPUs of server and engine, as the lab placed them."""
    placement: Mapping[str, Any] = environment.get("placement", {})
    known = {role: placement.get(f"{role}_cpus") for role in ("server", "engine")}
    return {role: frozenset(cpus) for role, cpus in known.items() if cpus} if all(known.values()) else {}


def counts_instructions(environment: Mapping[str, Any]) -> bool:
    """Whether the clock of a bundle counts instructions, as in emulated guests."""
    return environment.get("server", {}).get("clock") == "instructions"
