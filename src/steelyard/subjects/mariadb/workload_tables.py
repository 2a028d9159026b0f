"""Creates and fills the tables of a workload in MariaDB."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pymysql
from pymysql.cursors import Cursor

from steelyard.subjects.mariadb.session import error_text
from steelyard.subjects.servers.scripts import script_error, tables_created
from steelyard.workloads import DataTable, FileTable, Work

_TYPES = {"integer": "int", "text": "varchar(255)"}


def load(
    connection: pymysql.Connection[Any], work: Work, folder: Path, load_file: Callable[[Path], None]
) -> None:
    """Fills an empty database over a connection that takes several statements at once.

    folder: for files, where the server can read them; load_file: takes a file of data. Raises
    pymysql.MySQLError, OSError; InputError where the study's own script fails.
    """
    with connection.cursor() as cursor:
        for table in work.files:
            path = table.write(folder)
            for statement in _fill(table, path):
                cursor.execute(statement)
            connection.commit()
            path.unlink()
        for part in load_statements(work):
            if isinstance(part, Path):
                connection.commit()
                load_file(part)
            elif part == work.script:
                _run_script(cursor, work)
            else:
                cursor.execute(part)
        connection.commit()


def _run_script(cursor: Cursor, work: Work) -> None:
    try:
        cursor.execute(work.script)
        while cursor.nextset():
            pass
    except pymysql.MySQLError as error:
        raise script_error(work, error_text(error)) from None


def load_statements(work: Work) -> list[str | Path]:
    """SQL and a data file for the tables of a workload, in order, without those from programs."""
    # values are written in standard SQL, where || joins texts
    statements: list[str | Path] = ["set session sql_mode = concat(@@sql_mode, ',PIPES_AS_CONCAT')"]
    statements += [text for table in work.tables for text in _create(table)]
    if work.script.strip():
        statements.append(work.script)
    if work.data is not None:
        statements.append(work.data)
    names = [*(table.name for table in (*work.files, *work.tables)), *tables_created(work)]
    return [*statements, f"analyze table {', '.join(dict.fromkeys(names))}"] if names else statements


def _create(table: DataTable) -> list[str]:
    columns = ", ".join(f"{c.name} {_TYPES[c.type]} not null" for c in table.columns)
    values = ", ".join(c.value for c in table.columns)
    return [
        f"create table {table.name} ({columns}, primary key ({table.columns[0].name})) engine = InnoDB",
        # n is the number of the row, by MariaDB's table of numbers
        f"insert into {table.name} select {values} from"
        f" (select seq as n from seq_1_to_{table.rows}) as numbers",
    ]


def _fill(table: FileTable, path: Path) -> list[str]:
    """Rows are stored in the primary key, so it exists first; other indexes are built afterwards."""
    key = f", primary key ({', '.join(table.key)})" if table.key else ""
    return [
        f"create table {table.name} ({table.columns}{key}) engine = InnoDB",
        f"load data infile '{path}' into table {table.name} character set utf8mb4"
        " fields terminated by ',' optionally enclosed by '\"' escaped by '' ignore 1 lines",
        *(f"alter table {table.name} add index ({', '.join(columns)})" for columns in table.indexes),
    ]
