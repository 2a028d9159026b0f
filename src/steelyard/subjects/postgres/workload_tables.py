"""Creates and fills the tables of a workload in PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, LiteralString, cast

import psycopg

from steelyard.subjects.servers.scripts import script_error, tables_created
from steelyard.workloads import DataTable, FileTable, Work


def load(
    connection: psycopg.Connection[Any], work: Work, folder: Path, load_file: Callable[[Path], None]
) -> None:
    """Fills an empty database. folder: for temporary files; load_file: loads a data file.

    Raises psycopg.Error, OSError; InputError where the study's own script fails.
    """
    for table in work.files:
        _fill(connection, table, folder)
    for part in _statements(work):
        if isinstance(part, Path):
            load_file(part)
        elif part == work.script:
            _run_script(connection, work)
        else:
            connection.execute(cast(LiteralString, part))
    connection.execute("vacuum (freeze, analyze)")


def load_statements(work: Work) -> list[str | Path]:
    """SQL and a data file for the tables of a workload, in order, without those from programs.

    For any user: of other tables, VACUUM would only warn that it skips them.
    """
    tables = ", ".join(dict.fromkeys([*(table.name for table in work.tables), *tables_created(work)]))
    # pg_dump empties the search path, in which the script's own tables are
    path = ["reset search_path"] if work.data is not None and tables else []
    return [*_statements(work), *path, *([f"vacuum (freeze, analyze) {tables}"] if tables else [])]


def _statements(work: Work) -> list[str | Path]:
    statements: list[str | Path] = [text for table in work.tables for text in _create(table)]
    if work.script.strip():
        statements.append(work.script)
    if work.data is not None:
        statements.append(work.data)
    return statements


def _run_script(connection: psycopg.Connection[Any], work: Work) -> None:
    try:
        connection.execute(cast(LiteralString, work.script))
    except psycopg.Error as error:
        position = error.diag.statement_position
        line = 1 + work.script.count("\n", 0, int(position) - 1) if position else 0
        hint = "data_file takes COPY ... FROM stdin" if "COPY" in str(error).upper() else ""
        words = error.diag.message_primary or str(error)
        raise script_error(work, f"{words} ({error.sqlstate})", hint, line) from None


def _create(table: DataTable) -> list[str]:
    columns = ", ".join(f"{c.name} {c.type} not null" for c in table.columns)
    values = ", ".join(f"({c.value})::{c.type}" for c in table.columns)
    return [
        f"create table {table.name} ({columns})",
        f"insert into {table.name} select {values} from generate_series(1, {table.rows}) as n",
        f"alter table {table.name} add primary key ({table.columns[0].name})",
    ]


def _fill(connection: psycopg.Connection[Any], table: FileTable, folder: Path) -> None:
    """Loads rows first and builds indexes afterwards: this takes half the time."""
    path = table.write(folder)

    def execute(text: str) -> None:
        connection.execute(cast(LiteralString, text))

    with connection.transaction():
        execute(f"create table {table.name} ({table.columns})")
        # frozen: otherwise the first query would set hint bits, and so write
        copy = f"copy {table.name} from stdin (format csv, header, null 'NULL', freeze)"
        with path.open("rb") as rows, connection.cursor().copy(cast(LiteralString, copy)) as sink:
            while part := rows.read(1 << 20):
                sink.write(part)
    path.unlink()
    execute("set maintenance_work_mem = '256MB'")
    if table.key:
        execute(f"alter table {table.name} add primary key ({', '.join(table.key)})")
    for columns in table.indexes:
        execute(f"create index on {table.name} ({', '.join(columns)})")
    execute("reset maintenance_work_mem")
