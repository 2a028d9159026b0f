"""Workloads: data and statements that any server's dialect renders.

A workload is one file with one function and its line in WORKLOADS.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Literal

from steelyard.study.errors import InputError, nearest
from steelyard.study.statements import Statement, StatementWorkload, Transaction
from steelyard.study.workload import Workload


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
class Work:
    """What is loaded before and executed during a run. script: SQL run once after the tables."""

    statements: Mapping[str, Statement]
    transactions: Mapping[str, Transaction] = field(default_factory=dict[str, Transaction])
    tables: tuple[DataTable, ...] = ()
    script: str = ""


WORKLOADS: dict[str, str] = {
    "lookup": "steelyard.workloads.lookup:lookup",
    "orders": "steelyard.workloads.orders:orders",
    "storm": "steelyard.workloads.storm:storm",
    "sql": "steelyard.workloads.sql:sql",
}


def work_of(workload: Workload) -> Work:
    """The work that a study's workload asks for: none but of statements. Raises InputError."""
    if not isinstance(workload, StatementWorkload):
        return Work({})
    if workload.kind not in WORKLOADS:
        raise InputError(
            f'no workload "{workload.kind}"{nearest(workload.kind, WORKLOADS)}',
            at=("workload", "kind"),
        )
    module, _, name = WORKLOADS[workload.kind].partition(":")
    make: Callable[[StatementWorkload], Work] = getattr(import_module(module), name)
    return make(workload)
