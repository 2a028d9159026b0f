"""The tables of a bundle in DuckDB: a view each, of exactly the files of the runs that are read."""

from __future__ import annotations

import weakref
from itertools import zip_longest

import duckdb

from steelyard.bundle.evidence.histograms import file_of
from steelyard.bundle.storage.inventory import Inventory
from steelyard.bundle.storage.open_folder import Place
from steelyard.run_tables.schema import TABLES, Table
from steelyard.study.errors import InputError

DAMAGED = "damaged"
# values of columns as formats 1 and 2 have them, and the names since
_ROLES = {"front": "pooler"}
_RENAMED = {
    "phase": {"watch": "scheduling-trace", "count": "latch-count"},
    "role": _ROLES,
    "entity": _ROLES,
}
_TAKE = "take the file from a copy of the bundle"

# a block that was redone counts by its last attempt
# without the factors' columns, which may be called anything, and are in `runs`
_USED_RUNS = """
    create table used_runs as
    select run, option, block, slot, started_at, seconds from runs where status = 'done'
    and (block, attempt) in (select (block, max(attempt)) from runs group by block)
    and (block, attempt) not in (select (block, attempt) from lost)
"""

_MEASURES = """
    create table measures as select run, point, clients, start_ns, end_ns
    from phases join used_runs using (run) where phase = 'measure'
"""


def connect(place: Place, inventory: Inventory, older: bool) -> duckdb.DuckDBPyConnection:
    """Every table of the bundle as a view, `used_runs` and `measures`. place: its folder `runs`.

    older: phases and roles have the names that they had before format 3, and are shown by the new ones.

    The place is closed with the connection. Raises duckdb.Error, and InputError for a table with holes.
    """
    connection = duckdb.connect()
    weakref.finalize(connection, place.close)
    connection.execute("set enable_progress_bar = false")
    for table in TABLES:
        # read once, since a view opens every run's file again at each query; but samples are many
        kind = "view" if table.name == "samples" else "table"
        connection.execute(f"create {kind} {table.name} as {_source(table, place.path, inventory, older)}")
    _refuse_holes(connection)
    _refuse_others(connection, inventory)
    for identity, why in inventory.damaged:
        # a run that is known keeps its place: `resume` runs its block anew, as another attempt
        connection.execute(
            "insert into runs by name select ? as run, ? as option, ? as block, ? as attempt, ? as status,"
            " ? as cause",
            [identity.run, identity.option, identity.block, identity.attempt, DAMAGED, why],
        )
    for code, text in inventory.notices:
        connection.execute("insert into notices values (0, ?, ?)", [code, text])
    connection.execute("create table lost (block integer, attempt integer)")
    for attempt in inventory.lost:
        connection.execute("insert into lost values (?, ?)", attempt)
    for statement in (_USED_RUNS, _MEASURES, "drop table lost"):
        connection.execute(statement)
    return connection


def _refuse_holes(connection: duckdb.DuckDBPyConnection) -> None:
    """Raises InputError where a column has no value that always has one. Of samples nobody relies on it."""
    holes = " union all ".join(
        f"select '{table.name}', run from {table.name} where {_no_value(table)}"
        for table in TABLES
        if table.name != "samples"
    )
    if found := connection.execute(f"{holes} limit 1").fetchone():
        table, run = found
        raise InputError(f"{file_of(run or 0, table)}: a column has no value", _TAKE)


def _no_value(table: Table) -> str:
    return " or ".join(f'"{column.name}" is null' for column in table.columns if not column.nullable)


def _refuse_others(connection: duckdb.DuckDBPyConnection, inventory: Inventory) -> None:
    """Raises InputError where the table `runs` says another thing of a run than its identity."""
    rows = connection.execute("select run, option, block, attempt, status from runs order by run").fetchall()
    for identity, row in zip_longest(inventory.runs, rows):
        if identity is None or row != (
            *(identity.run, identity.option, identity.block),
            *(identity.attempt, identity.status),
        ):
            number = identity.run if identity else row[0]
            raise InputError(f"{file_of(number, 'runs')}: of another run, or of none", _TAKE)


def _quoted(name: str) -> str:
    return f'"{name}"'


def _renamed(column: str) -> str:
    """The column in SQL, its values under the names of this format."""
    cases = " ".join(f"when '{old}' then '{new}'" for old, new in _RENAMED.get(column, {}).items())
    return f'case "{column}" {cases} else "{column}" end' if cases else _quoted(column)


def _source(table: Table, place: str, inventory: Inventory, older: bool) -> str:
    empty = ", ".join(f'null::{c.type} as "{c.name}"' for c in table.columns)
    files = ", ".join(
        f"'{place}/{identity.run:04d}/{table.name}.parquet'"
        for identity in inventory.runs
        if table.name in identity.tables
    )
    if not files:
        return f"select {empty} where false"
    types = ", ".join(
        f'{_renamed(c.name) if older else _quoted(c.name)}::{c.type} as "{c.name}"' for c in table.columns
    )
    # a bundle of before a column was there lacks it: null, as what is not available always is
    return (
        f"select * replace ({types}) from (select {empty} where false union all by name"
        f" select * from read_parquet([{files}], union_by_name = {table.name == 'runs'},"
        " hive_partitioning = false))"
    )
