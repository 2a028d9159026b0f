"""Workloads: data and statements that any server's dialect renders.

A workload is one file with one function and its line in WORKLOADS.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from steelyard.study.errors import InputError, nearest
from steelyard.study.workloads.statements import Statement, Transaction
from steelyard.study.workloads.workload import Workload


@dataclass(frozen=True)
class Column:
    """A column and how it is filled. value: an SQL expression of `n`, the number of the row from 1."""

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
    """A table that comes from a program. columns: SQL that every server takes, with types; key: primary.

    write: writes the rows into a folder as a CSV file with a header line, and says where.
    """

    name: str
    columns: str
    key: tuple[str, ...]
    indexes: tuple[tuple[str, ...], ...]
    write: Callable[[Path], Path]


@dataclass(frozen=True)
class Work:
    """What is loaded before and executed during a run. script: SQL run once after the tables.

    read_only: nothing changes the data, so runs can share them. remarks: what a reader of the results
    must know of the data on this machine.
    """

    statements: Mapping[str, Statement]
    transactions: Mapping[str, Transaction] = field(default_factory=dict[str, Transaction])
    tables: tuple[DataTable, ...] = ()
    files: tuple[FileTable, ...] = ()
    script: str = ""
    read_only: bool = False
    remarks: tuple[str, ...] = ()


WORKLOADS: dict[str, str] = {
    "lookup": "steelyard.workloads.lookup:lookup",
    "orders": "steelyard.workloads.orders:orders",
    "storm": "steelyard.workloads.storm:storm",
    "sql": "steelyard.workloads.sql:sql",
    "key-value": "steelyard.workloads.key_value:key_value",
    "queries": "steelyard.workloads.decision_support:decision_support",
}


def work_of(workload: Workload) -> Work:
    """The work that a study's workload asks for; none where another engine does it. Raises InputError."""
    if workload.load_keys() is None:
        return Work({})
    # a field of every workload, but of another type in each
    kind: str = workload.model_dump(include={"kind"})["kind"]
    if kind not in WORKLOADS:
        raise InputError(
            f'no workload "{kind}"{nearest(kind, WORKLOADS)}',
            at=("workload", "kind"),
        )
    module, _, name = WORKLOADS[kind].partition(":")
    make: Callable[[Any], Work] = getattr(import_module(module), name)
    return make(workload)
