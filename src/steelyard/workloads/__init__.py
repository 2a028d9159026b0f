"""Workloads: data and statements in terms that the dialect of any server can render; steps of transactions.

A workload is one file with one function, and its line in WORKLOADS.
"""

import re
import shutil
import tempfile
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Literal

from steelyard.errors import InputError, nearest
from steelyard.study.expressions import Place, Tree, parse
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
    loaded_bytes: int


_Part = Mapping[str, Any]  # of the load engine's plan


@dataclass(frozen=True)
class Scripted:
    """A transaction as steps of the load engine (crates/load/src/plan/steps.rs).

    keying_ms, think_ms: pauses of the client before and after it; think: how think_ms is distributed. takes:
    messages of other transactions that it waits for (crates/load/src/plan/transaction.rs); clients: so many
    execute it, and nothing else.
    """

    weight: float
    steps: tuple[_Part, ...]
    keying_ms: float = 0.0
    think_ms: float = 0.0
    think: Literal["fixed", "exponential"] = "fixed"
    takes: tuple[_Part, ...] = ()
    clients: int = 0


@dataclass(frozen=True)
class Condition:
    """What must hold in the data. sql: gives violations, in one row. after_runs: after each run as well."""

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
    captured: Mapping[str, _Part] = field(default_factory=dict[str, _Part])
    conditions: tuple[Condition, ...] = ()
    grows: Mapping[str, int] = field(default_factory=dict[str, int])
    places: Mapping[str, str] = field(default_factory=dict[str, str])

    def loading(self, create: Callable[[DataTable], Iterable[str]]) -> list[str | Path]:
        """SQL and a data file for its tables, in order, without those from programs. create: of one table."""
        tables = (text for table in self.tables for text in create(table))
        return [*tables, *filter(None, (self.script if self.script.strip() else "", self.data))]


WORKLOADS = {
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
    make: Callable[[Any], Work] = resolve_name(WORKLOADS[kind])
    return make(workload)


# steps of transactions, as the load engine reads them, and kinds of them (crates/load/src/plan/steps.rs)
Step = dict[str, Any]
Steps = list[Step]

BEGIN = {"do": "begin"}
COMMIT = {"do": "commit"}


@cache
def tree(text: str) -> Tree:
    """An expression: `:a + 1`, in the notation of pgbench's `\\set`, with client() and elapsed_ms()."""
    return parse(text, Place("steps", 0), {"elapsed_ms": ("elapsed-ms", 0), "client": ("client", 0)})


def put(value: str, to: str | int) -> Step:
    """Gives a value what an expression makes."""
    return {"do": "set", "value": value, "to": tree(str(to))}


def pick(value: str, of: Sequence[str], number: str) -> Step:
    """Gives a value one of some texts; number: an expression, from 1."""
    return {"do": "pick", "value": value, "from": of, "number": tree(number)}


def execute(statement: str, take: Mapping[str, str] | None = None, rows: str | None = None) -> Step:
    """Executes a statement. take: columns by the value that they become; rows: becomes their number."""
    given = {"rows": rows} if rows else {}
    return {"do": "statement", "name": statement, "take": take or {}, **given}


def when(condition: str, then: Steps, otherwise: Steps | None = None) -> Step:
    """Steps under a condition, which is an expression."""
    return {"do": "if", "condition": tree(condition), "then": then, "else": otherwise or []}


def percent(share: int) -> str:
    """A condition that holds for so many of 100."""
    return f"random(1, 100) <= {share}"


def nurand(value: str, a: int, low: int, high: int, constant: int, **distinct: str) -> Step:
    """Draws a number, some much more often than others (TPC-C 2.1.6)."""
    spread = {"kind": "nurand", "a": a, "low": low, "high": high, "constant": constant}
    return {"do": "draw", "value": value, "from": spread, **distinct}


def prefixed(transaction: str, steps: Sequence[_Part]) -> Iterator[Step]:
    """The steps with the transaction's name before those of its statements."""
    for step in steps:
        found = dict(step)
        if found["do"] == "statement":
            found["name"] = f"{transaction}: {found['name']}"
        for branch in ("then", "else", "steps"):
            if branch in found:
                found[branch] = list(prefixed(transaction, found[branch]))
        yield found


@dataclass(frozen=True)
class Kind:
    """A kind of transaction. statements: texts by the names that its steps use."""

    statements: Mapping[str, str]
    scripted: Scripted


def named(kinds: Mapping[str, Kind]) -> tuple[dict[str, Statement], dict[str, Scripted]]:
    """Statements and transactions by name: the kind's stands before that of each of its statements."""
    statements: dict[str, Statement] = {}
    found: dict[str, Scripted] = {}
    for name, kind in kinds.items():
        statements |= {f"{name}: {own}": Statement(sql=sql) for own, sql in kind.statements.items()}
        found[name] = replace(kind.scripted, steps=tuple(prefixed(name, kind.scripted.steps)))
    return statements, found


@dataclass(frozen=True)
class Layout:
    """A table. key, indexes: names of columns; row_bytes: about, with its indexes.

    rows, per_unit, per_trade: how many there are as loaded, of any scale and of each unit and trade.
    """

    columns: str
    key: str
    row_bytes: int
    indexes: str = ""
    rows: float = 0
    per_unit: float = 0
    per_trade: float = 0

    @property
    def names(self) -> list[str]:
        """Names of its columns, in order."""
        # commas within brackets part digits of a decimal
        return [column.split()[0] for column in re.split(r",(?![^(]*\))", self.columns)]

    def count(self, units: int, trades: int = 0) -> int:
        """Rows as loaded."""
        return round(self.rows + self.per_unit * units + self.per_trade * trades)

    def table(self, name: str, write: Callable[[Path], Path], rows: int = 0) -> FileTable:
        """With what writes its rows, so many of them."""
        indexes = tuple(filter(None, self.indexes.split("; ")))
        return FileTable(name, self.columns, self.key, indexes, write, self.row_bytes * rows)


def file_tables(
    layouts: Mapping[str, Layout], lines: Callable[[str], Iterable[str]], units: int, trades: int = 0
) -> tuple[FileTable, ...]:
    """Tables whose rows are written as CSV files. lines: of a table, without a header."""

    def write(name: str, folder: Path) -> Path:
        path = folder / f"{name}.csv"
        with path.open("w", encoding="ascii", newline="") as file:
            file.write(",".join(layouts[name].names) + "\n")
            file.writelines(lines(name))
        return path

    return tuple(
        one.table(name, partial(write, name), one.count(units, trades)) for name, one in layouts.items()
    )


def conditions(texts: Iterable[tuple[str, str]], after_runs: Container[int]) -> tuple[Condition, ...]:
    """Each by its text and SQL, numbered from 1. after_runs: numbers of those that hold after runs too."""
    return tuple(
        Condition(f"consistency condition {number} ({text})", sql, number in after_runs)
        for number, (text, sql) in enumerate(texts, start=1)
    )


def check_disk_room(
    number: float, each_bytes: float, what: str, fitting: Callable[[float], str], at: tuple[str, ...]
) -> None:
    """Raises InputError where `number` times each_bytes do not fit into the folder for temporary files.

    what: the number with its noun; fitting: a smaller one as the study's key, '' if none fits; at: of it.
    """
    folder = tempfile.gettempdir()
    free_bytes = shutil.disk_usage(folder).free
    if number * each_bytes <= free_bytes:
        return
    smaller = fitting(free_bytes / each_bytes)
    raise InputError(
        f"{what} needs about {number * each_bytes / 1e9:.3g} GB in {folder},"
        f" where {free_bytes / 1e9:.3g} GB are free",
        f"{smaller} fits" if smaller else "set TMPDIR to a folder with more space",
        at,
    )
