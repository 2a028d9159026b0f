"""Creates and fills the tables of a workload in MariaDB."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pymysql

from steelyard.workloads import DataTable, FileTable, Work

_TYPES = {"integer": "int", "text": "varchar(255)"}


def load(connection: pymysql.Connection[Any], work: Work, folder: Path) -> None:
    """Fills an empty database. folder: for files, where the server can read them.

    Raises pymysql.MySQLError, OSError.
    """
    with connection.cursor() as cursor:
        for table in work.files:
            path = table.write(folder)
            for statement in _fill(table, path):
                cursor.execute(statement)
            connection.commit()
            path.unlink()
        for statement in load_statements(work):
            cursor.execute(statement)
        connection.commit()


def load_statements(work: Work) -> list[str]:
    """SQL that creates and fills the tables of a workload, in order, without those from files."""
    # values are written in standard SQL, where || joins texts
    statements = ["set session sql_mode = concat(@@sql_mode, ',PIPES_AS_CONCAT')"]
    statements += [text for table in work.tables for text in _create(table)]
    statements += [text for text in work.script.split(";") if text.strip()]
    names = ", ".join(table.name for table in (*work.files, *work.tables))
    return [*statements, f"analyze table {names}"] if names else statements


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
    return [
        f"create table {table.name} ({table.columns}, primary key ({', '.join(table.key)})) engine = InnoDB",
        f"load data infile '{path}' into table {table.name} character set utf8mb4"
        " fields terminated by ',' optionally enclosed by '\"' escaped by '' ignore 1 lines",
        *(f"alter table {table.name} add index ({', '.join(columns)})" for columns in table.indexes),
    ]
