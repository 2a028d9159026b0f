"""Workloads: data and statements in terms that the dialect of any server can render.

A workload is one file with one function, and its line in WORKLOADS.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from steelyard.errors import InputError, nearest
from steelyard.study.workloads.statements import Statement, Transaction
from steelyard.study.workloads.workload import Workload


@dataclass(frozen=True)
class Column:
    """A column and its content. value: an SQL expression of `n`, the number of the row from 1."""

    name: str
    type: Literal["integer", "text"]
    value: str


@dataclass(frozen=True)
class DataTable:
    """A table to make and fill; its first column is the primary key."""

    name: str
    rows: int
    columns: tuple[Column, ...]


@dataclass(frozen=True)
class FileTable:
    """A table whose rows a program generates. columns: portable SQL, with types; key: primary, '' for none.

    write: writes the rows into a folder as a CSV file with a header line, NULL as the word; returns its path.
    loaded_bytes: about its size with indexes; 0: not known.
    """

    name: str
    columns: str
    key: str
    indexes: tuple[str, ...]
    write: Callable[[Path], Path]
    loaded_bytes: int = 0


@dataclass(frozen=True)
class Scripted:
    """A transaction as steps of the load engine (crates/load/src/plan/steps.rs).

    keying_ms, think_ms: pauses of the client before and after it; think: how think_ms is distributed. takes:
    messages of other transactions that it waits for (crates/load/src/plan/transaction.rs); clients: so many
    execute it, and nothing else.
    """

    weight: float
    steps: tuple[Mapping[str, Any], ...]
    keying_ms: float = 0.0
    think_ms: float = 0.0
    think: Literal["fixed", "exponential"] = "fixed"
    takes: tuple[Mapping[str, Any], ...] = ()
    clients: int = 0


@dataclass(frozen=True)
class Condition:
    """What must hold in the data as loaded. sql: gives the number of violations, in one row.

    after_runs: it is checked after each run as well.
    """

    name: str
    sql: str
    after_runs: bool


@dataclass(frozen=True)
class Work:
    """The data of a run and its statements. script: SQL executed once after the tables are filled.

    script_file: its file, if it is not in the study. data: data file, loaded after the script. directory:
    data directory to start from; database: the one in it that is used. read_only: no statement changes the
    data, so runs can share them. remarks: on the data and this machine, for readers of the results.
    conditions: what must hold in the data; grows: tables that a run adds rows to, each with its number of
    rows as loaded. places: FILE:LINE of a statement of a script. captured: by statement,
    what an event of a capture gives it (crates/load/src/plan/replay.rs).
    """

    statements: Mapping[str, Statement]
    transactions: Mapping[str, Transaction | Scripted] = field(
        default_factory=dict[str, Transaction | Scripted]
    )
    tables: tuple[DataTable, ...] = ()
    files: tuple[FileTable, ...] = ()
    script: str = ""
    script_file: str = ""
    data: Path | None = None
    directory: Path | None = None
    database: str = ""
    read_only: bool = False
    remarks: tuple[str, ...] = ()
    captured: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    conditions: tuple[Condition, ...] = ()
    grows: Mapping[str, int] = field(default_factory=dict[str, int])
    places: Mapping[str, str] = field(default_factory=dict[str, str])

    def loading(self, create: Callable[[DataTable], Iterable[str]]) -> list[str | Path]:
        """SQL and a data file for its tables, in order, without those from programs. create: of one table."""
        tables = (text for table in self.tables for text in create(table))
        own = (self.script if self.script.strip() else "", self.data)
        return [*tables, *filter(None, own)]


WORKLOADS: dict[str, str] = {
    "lookup": "steelyard.workloads.orders:lookup",
    "orders": "steelyard.workloads.orders:orders",
    "storm": "steelyard.workloads.orders:storm",
    "sql": "steelyard.workloads.sql:sql",
    "pgbench": "steelyard.workloads.sql:pgbench",
    "replay": "steelyard.workloads.replay:replay",
    "brokerage": "steelyard.workloads.brokerage.workload:brokerage",
    "order-entry": "steelyard.workloads.order_entry.workload:order_entry",
    "key-value": "steelyard.workloads.key_value:key_value",
    "queries": "steelyard.workloads.decision_support:decision_support",
}


def work_of(workload: Workload) -> Work:
    """The work of a study's workload; empty where another engine runs it. Raises InputError."""
    if workload.load_keys() is None:
        return Work({})
    # a field of every workload, but of another type in each
    kind: str = workload.model_dump(include={"kind"})["kind"]
    if kind not in WORKLOADS:
        raise InputError(f'no workload "{kind}"{nearest(kind, WORKLOADS)}', at=("workload", "kind"))
    module, _, name = WORKLOADS[kind].partition(":")
    make: Callable[[Any], Work] = getattr(import_module(module), name)
    return make(workload)
