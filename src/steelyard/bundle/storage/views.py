"""The tables of a bundle in DuckDB: a view each, over the files of the readable runs."""

import weakref
from contextlib import suppress
from itertools import zip_longest
from typing import Any

import duckdb

from steelyard.bundle.evidence.at_once import at_once
from steelyard.bundle.evidence.histograms import add_functions, file_of, quantiles, summary
from steelyard.bundle.storage.files import Place
from steelyard.bundle.storage.inventory import Inventory
from steelyard.errors import InputError
from steelyard.run_tables.schema import PERCENTILES, QUANTILES, TABLES, Table

DAMAGED = "damaged"
_TAKE = "take the file from a copy of the bundle"

# of a repeated block the last attempt counts; when it is complete, a complete one that was disturbed less
# without the columns of factors, which may have any name and are in `runs`
_USED_RUNS = """
    create table used_runs as
    with attempts as (
        select block, attempt,
            count(*) filter (status in ('done', 'disturbed')) = (select count(distinct option) from runs)
                and (block, attempt) not in (select (block, attempt) from lost) as complete,
            max(coalesce(disturbed_share, if(status = 'disturbed', 1, 0))) as share
        from runs group by block, attempt
    ), used as (
        select block, if(arg_max(complete, attempt),
            arg_min(attempt, (share, -attempt)) filter (complete), max(attempt)) as attempt
        from attempts group by block
    )
    select run, option, block, slot, started_at, seconds from runs join used using (block, attempt)
    where (status = 'done' or (status = 'disturbed' and attempt < (
        select max(attempt) from runs other where other.block = runs.block)))
    and (block, attempt) not in (select (block, attempt) from lost);
    drop table lost;
    create table measures as select run, point, clients, start_ns, end_ns
    from phases join used_runs using (run) where phase = 'measure'
"""


def connect(place: Place, inventory: Inventory) -> duckdb.DuckDBPyConnection:
    """Every table of the bundle as a view, `used_runs`, `measures`, `percentiles`. place: its folder `runs`.

    The place closes with the connection. Raises duckdb.Error, and InputError for a table with holes.
    """
    connection = duckdb.connect()
    weakref.finalize(connection, place.close)
    # thousands of small files: a thread that reads ahead costs more than it saves
    for setting in ("enable_progress_bar = false", "async_threads = 0"):
        with suppress(duckdb.CatalogException):  # of a later version of DuckDB
            connection.execute(f"set {setting}")
    # loaded once, since a view opens the file of every run at each query; samples are too large for this
    sources = (
        f"create {'view' if table.name == 'samples' else 'table'} {table.name} as"
        f" {_source(table, place.path, inventory)}"
        for table in TABLES
    )
    at_once(connection, sources)
    _refuse_holes(connection)
    _refuse_others(connection, inventory)
    for identity, why in inventory.damaged:
        # an identified run stays in `runs`: `resume` repeats its block as another attempt
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
    connection.execute(f"{_USED_RUNS}; reset threads")
    _add_percentiles(connection)
    return connection


def _refuse_holes(connection: duckdb.DuckDBPyConnection) -> None:
    """Raises InputError where a column that is not nullable has NULL; samples are not checked."""
    holes = " union all ".join(
        f"select '{table.name}', run from {table.name} where {' or '.join(no_value)}"
        for table in TABLES
        if table.name != "samples"
        for no_value in [[f'"{column.name}" is null' for column in table.columns if not column.nullable]]
    )
    if found := connection.execute(f"{holes} limit 1").fetchone():
        table, run = found
        raise InputError(f"{file_of(run or 0, table)}: a column has no value", _TAKE)


def _refuse_others(connection: duckdb.DuckDBPyConnection, inventory: Inventory) -> None:
    """Raises InputError where the table `runs` contradicts the identity of a run."""
    rows = connection.execute("select run, option, block, attempt, status from runs order by run").fetchall()
    for identity, row in zip_longest(inventory.runs, rows):
        ours = identity and (identity.run, identity.option, identity.block, identity.attempt, identity.status)
        if ours != row:
            number = identity.run if identity else row[0]
            raise InputError(f"{file_of(number, 'runs')}: belongs to another run, or to none", _TAKE)


def _source(table: Table, place: str, inventory: Inventory) -> str:
    empty = ", ".join(f'null::{c.type} as "{c.name}"' for c in table.columns)
    files = ", ".join(
        f"'{place}/{identity.run:04d}/{table.name}.parquet'"
        for identity in inventory.runs
        if table.name in identity.tables
    )
    if not files:
        return f"select {empty} where false"
    types = ", ".join(f'"{c.name}"::{c.type} as "{c.name}"' for c in table.columns)
    # a bundle may lack a column of a later version: null, as for any value that is not available
    return (
        f"select * replace ({types}) from (select {empty} where false union all by name"
        f" select * from read_parquet([{files}], union_by_name = false,"
        " hive_partitioning = false))"
    )


def _add_percentiles(connection: duckdb.DuckDBPyConnection) -> None:
    """Adds the view, and the function latency_ns(histogram) with its values. Raises duckdb.Error."""
    add_functions(connection)
    untyped: Any = connection
    untyped.create_function("latency_ns", _latency_ns, ["BLOB"], "DOUBLE[]")
    names = [column.name for column in PERCENTILES.columns[4:]]
    decoded = ", ".join(f"ns[{place}] as {name}" for place, name in enumerate(names, start=1))
    connection.execute(f"""
        create view percentiles as
        select run, point, statement, null::integer as client, {decoded}
        from (select run, point, statement, latency_ns(histogram) as ns from latency where count > 0)
        union all by name
        select run, point, 'transaction' as statement, client, p99_ns from clients where transactions > 0
    """)


def _latency_ns(histogram: bytes) -> list[float]:
    _, _, _, highest = summary(histogram, "latency")
    return [float(ns) for ns in (*quantiles(histogram, tuple(QUANTILES.values()), "latency"), highest)]
