"""Creates and fills the tables of a workload in PostgreSQL."""

from __future__ import annotations

from pathlib import Path
from typing import Any, LiteralString, cast

import psycopg

from steelyard.workloads import DataTable, FileTable, Work


def load(connection: psycopg.Connection[Any], work: Work, folder: Path) -> None:
    """Fills an empty database. folder: for temporary files. Raises psycopg.Error, OSError."""
    for table in work.files:
        _fill(connection, table, folder)
    for statement in load_statements(work):
        connection.execute(cast(LiteralString, statement))


def load_statements(work: Work) -> list[str]:
    """SQL that creates and fills the tables of a workload, in order, without those from files."""
    statements = [text for table in work.tables for text in _create(table)]
    if work.script.strip():
        statements.append(work.script)
    return [*statements, "vacuum analyze"]


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
        copy = f"copy {table.name} from stdin (format csv, header, freeze)"
        with path.open("rb") as rows, connection.cursor().copy(cast(LiteralString, copy)) as sink:
            while part := rows.read(1 << 20):
                sink.write(part)
    path.unlink()
    execute("set maintenance_work_mem = '256MB'")
    execute(f"alter table {table.name} add primary key ({', '.join(table.key)})")
    for columns in table.indexes:
        execute(f"create index on {table.name} ({', '.join(columns)})")
    execute("reset maintenance_work_mem")
