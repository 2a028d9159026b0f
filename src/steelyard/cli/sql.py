"""steelyard sql BUNDLE QUERY."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from steelyard.cli.completion import as_json, bundle_argument
from steelyard.errors import InputError, typed
from steelyard.host.processes.limits import TimedOut, within
from steelyard.printable import printable
from steelyard.workflow.complaint import complain_of, opened
from steelyard.workflow.exit_codes import Exit

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_ENDLESS = 100_000
# a table is laid out as a whole
_ROWS_MAX, _JSON_ROWS_MAX = 10_000, 1_000_000
_INTERRUPT_S = 5.0
_Answer = tuple[list[str], list[tuple[Any, ...]]]  # columns, rows
_NO_JSON = (float("inf"), -float("inf"))


@click.command()
@bundle_argument
@click.argument("query", required=False)
@as_json("Rows as JSON objects.")
@click.option(
    "--seconds", type=click.FloatRange(0, 1e6), default=300.0, show_default=True, help="Time limit."
)
@click.option(
    "--megabytes", type=click.IntRange(16, 10**7), default=2000, show_default=True, help="Memory limit."
)
def command(bundle: Path, query: str | None, as_json: bool, seconds: float, megabytes: int) -> None:
    """Query BUNDLE with SQL (DuckDB's dialect). Without QUERY: its tables and columns.

    \b
    steelyard sql demo.bundle "select option, sum(count) from throughput
        join runs using (run)
        where statement = 'transaction' and second >= 0 group by option"
    """
    import duckdb
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    found = opened(bundle)
    if query is None:
        query = (
            "select table_name as table, column_name as column, data_type as type"
            " from information_schema.columns order by 1, ordinal_position"
        )

    rows_max = _JSON_ROWS_MAX if as_json else _ROWS_MAX
    try:
        names, rows = _answer(found.duckdb, query, rows_max + 1, seconds, megabytes)
    except (duckdb.OutOfMemoryException, MemoryError):
        raise InputError(
            f"the query needs more than {megabytes:,} MB of memory",
            "select fewer columns or rows, or permit more with --megabytes",
        ) from None
    except duckdb.InterruptException:
        raise _late(seconds) from None
    except duckdb.Error as error:
        raise InputError(str(error), f"steelyard sql {typed(bundle)} prints the tables and columns") from None
    if len(rows) > rows_max:
        raise InputError(
            f"the query gives more than {rows_max:,} rows",
            f"add a limit, use --json (up to {_JSON_ROWS_MAX:,}), or steelyard export for whole tables",
        )
    if as_json:
        json.dump([_finite(dict(zip(names, row, strict=True))) for row in rows], sys.stdout, default=str)
        sys.stdout.write("\n")
        return
    table = Table()
    for name in names:
        table.add_column(Text(printable(name)))
    for row in rows:
        table.add_row(*(Text("" if value is None else printable(str(value))) for value in row))
    console = Console()
    if not console.is_terminal:
        # output to a pipe must not be cut to a terminal's width
        console.width = _ENDLESS
    console.print(table)


def _finite(value: Any) -> Any:
    """The value with null for what JSON has not: NaN and infinities, within lists and structs too."""
    if isinstance(value, dict):
        return {str(name): _finite(part) for name, part in cast("dict[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in cast("list[Any]", value)]
    return None if value in _NO_JSON or value != value else value


def _late(seconds: float) -> InputError:
    return InputError(f"the query took longer than {seconds:g} s", "select less, or raise --seconds")


def _answer(
    connection: DuckDBPyConnection, query: str, rows_max: int, seconds: float, megabytes: int
) -> _Answer:
    """Columns and rows, the first rows_max of them. Raises duckdb.Error, MemoryError."""
    import resource
    from threading import Timer

    # without a folder for what does not fit, which would fill the disk
    connection.execute(f"set memory_limit = '{megabytes}MB'; set temp_directory = ''")
    used_bytes = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_DATA)
    timer = Timer(seconds, connection.interrupt)
    timer.start()

    def answer() -> _Answer:
        connection.execute(query)
        return [entry[0] for entry in connection.description or []], connection.fetchmany(rows_max)

    try:
        # DuckDB does not count long texts, nor the rows that it has given
        resource.setrlimit(resource.RLIMIT_DATA, (used_bytes + 2 * megabytes * 10**6, before[1]))
        # native code hears Ctrl-C late or not at all: the query is left behind
        return within(seconds + _INTERRUPT_S, "the query", answer)
    except TimedOut:
        complain_of(_late(seconds))
        # a thread that was left behind in native code must not be torn down with the interpreter
        os._exit(Exit.BAD_INPUT)
    finally:
        timer.cancel()
        # a thread that wakes while the interpreter ends aborts it
        timer.join()
        resource.setrlimit(resource.RLIMIT_DATA, before)
