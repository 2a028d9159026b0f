"""steelyard sql BUNDLE QUERY."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from steelyard.cli.completion import bundles

_ENDLESS = 100_000
# a query has no limit of its own
_LONGEST_S = 1e6


@click.command()
@click.argument("bundle", type=click.Path(path_type=Path), shell_complete=bundles)
@click.argument("query", required=False)
@click.option("--json", "as_json", is_flag=True, help="Rows as JSON objects.")
def command(bundle: Path, query: str | None, as_json: bool) -> None:
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

    from steelyard.host.processes.limits import within
    from steelyard.printable import printable
    from steelyard.study.errors import InputError, typed
    from steelyard.workflow.program_name import opened

    found = opened(bundle)
    if query is None:
        query = (
            "select table_name as table, column_name as column, data_type as type"
            " from information_schema.columns order by 1, ordinal_position"
        )

    def answer() -> tuple[list[str], list[tuple[Any, ...]]]:
        result = found.duckdb.execute(query)
        return [entry[0] for entry in result.description or []], result.fetchall()

    try:
        # native code hears Ctrl-C late or not at all: the query is left behind
        names, rows = within(_LONGEST_S, "the query", answer)
    except duckdb.Error as error:
        raise InputError(str(error), f"steelyard sql {typed(bundle)} prints the tables and columns") from None
    if as_json:
        json.dump([dict(zip(names, row, strict=True)) for row in rows], sys.stdout, default=str)
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
