"""The input of the analysis: the facts of a study, and its measurements as views in SQL."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import duckdb
import numpy as np

from steelyard.bundle.evidence.published import Published
from steelyard.declared_metrics import Declared
from steelyard.study.study import Option, Study
from steelyard.study.workloads.workload import Workload

Columns = Mapping[str, np.ndarray[Any, Any]]
Facts = Mapping[str, Any]
_K = TypeVar("_K")
_V = TypeVar("_V")


@dataclass(frozen=True)
class Topology:
    """The CPUs of the server; None where unknown. cpus: hardware threads of the cores."""

    cores: int | None = None
    cpus: int | None = None

    @classmethod
    def of(cls, environment: Facts) -> "Topology":
        """Cores and CPUs that the server may use: those it is pinned to, else all usable ones."""
        if simulated := environment.get("server", {}).get("simulated_cpus"):
            return cls(simulated, simulated)
        cpu: Facts = environment.get("cpu", {})
        places: list[Facts] = cpu.get("topology", [])
        placement: Facts = environment.get("placement", {})
        if not placement.get("apart"):
            return cls(cpu.get("cores") or cpu.get("cpus_usable"), cpu.get("cpus_usable"))
        server = set(placement["server_cpus"])
        cores = {(p["package"], p["core"]) for p in places if p["cpu"] in server}
        return cls(len(cores) or len(server), len(server))


@dataclass(frozen=True)
class Evidence:
    """Only runs whose status is done. Values that are not available are NULL in rows, NaN in columns.

    tables: finds the views (queries.py). options: in the order of the study, the baseline among them.
    declared: metrics that the monitors declare, by monitor. probed_cpus: of the whole machine, which the
        probes of the kernel cover; 0: unknown.
    topology: the CPUs of the server. calibration: costs of this machine, by name with unit
        (hand_over_ns, wake_up_ns, spin_turn_ns; wakes: rows of asleep_ns, wake_ns, post_ns, slept; pauses:
        pause_ns, common; cpus and cpus_share: the two CPUs, and what they share); empty where not
        measured.
    storage: where the data folder is (data_dir, filesystem, device ...); empty where not known.
    versions: of the server, by option.
    fixed: by option, what the data directory was made with, by name of the setting that shows it.
    schemas: by option, tables_bytes, indexes_bytes and sql_s; empty unless a factor has scope `schema`.
    placement: CPUs of "server" and "engine"; empty where not known, or where the server is at an address.
    data: what identifies the study's own data, by key of the workload: a file by its checksum.
    instruction_time: the clock counts instructions (of an emulated guest).
    published: what a recording says that its tables answer.
    """

    tables: duckdb.DuckDBPyConnection
    study: Study
    options: tuple[Option, ...]
    baseline: str
    declared: Declared
    probed_cpus: int
    topology: Topology
    calibration: Facts
    storage: Facts
    versions: Mapping[str, str]
    fixed: Mapping[str, Mapping[str, str]]
    schemas: Mapping[str, Mapping[str, float]]
    placement: Mapping[str, frozenset[int]]
    data: Mapping[str, str]
    instruction_time: bool
    published: Published | None = None

    def rows(self, query: str, **given: Any) -> list[tuple[Any, ...]]:
        """The result of a query over the views. given: its parameters by name."""
        return self.tables.execute(query, given or None).fetchall()

    def column(self, query: str, **given: Any) -> list[Any]:
        """The values of a query that has one column."""
        return [value for (value,) in self.rows(query, **given)]

    def in_order(self, query: str, **given: Any) -> list[tuple[Any, ...]]:
        """The rows, whose first column is an option, in the order of the options."""
        return sorted(self.rows(query, **given), key=lambda row: self.labels.index(row[0]))

    def records(self, query: str, **given: Any) -> list[dict[str, Any]]:
        """The rows by column, in the order of the options."""
        found = self.in_order(query, **given)
        names = [name for name, *_ in self.tables.description or ()]
        return [dict(zip(names, row, strict=True)) for row in found]

    def view(self, name: str) -> Columns:
        """All rows of a view, as numpy arrays by column; NULL is masked."""
        found: Any = self.tables.execute(f"from {name}")
        return found.fetchnumpy()

    @property
    def labels(self) -> list[str]:
        """Of the options, in their order."""
        return [option.label for option in self.options]

    @property
    def workload(self) -> Workload:
        """Of the study; an option may have another."""
        return self.study.workload

    @property
    def margin(self) -> float:
        """The smallest effect that matters to the study, as a fraction."""
        return self.study.plan.smallest_effect_percent / 100

    @property
    def recorded(self) -> bool:
        """Whether it was measured elsewhere."""
        return self.study.subject.kind == "recording"

    def option(self, label: str) -> Option:
        """The option of this label. Raises StopIteration."""
        return next(option for option in self.options if option.label == label)


def grouped(pairs: Iterable[tuple[_K, _V]]) -> dict[_K, list[_V]]:
    """The values of each key, both in the order in which they come."""
    found: dict[_K, list[_V]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found


def placement_of(environment: Facts) -> dict[str, frozenset[int]]:
    """CPUs of server and engine, as the lab placed them."""
    placement: Facts = environment.get("placement", {})
    known = {role: placement.get(f"{role}_cpus") for role in ("server", "engine")}
    return {role: frozenset(cpus) for role, cpus in known.items() if cpus} if all(known.values()) else {}


def counts_instructions(environment: Facts) -> bool:
    """Whether the clock of a bundle counts instructions, as in emulated guests."""
    return environment.get("server", {}).get("clock") == "instructions"
