"""SQL that makes and fills the tables of a workload in MariaDB."""

from __future__ import annotations

from steelyard.workloads import DataTable, Work

_TYPES = {"integer": "int", "text": "varchar(255)"}


def load_statements(work: Work) -> list[str]:
    """SQL that makes and fills the tables of a workload, in order."""
    # values are written in standard SQL, where || joins texts
    statements = ["set session sql_mode = concat(@@sql_mode, ',PIPES_AS_CONCAT')"]
    statements += [text for table in work.tables for text in _create(table)]
    statements += [text for text in work.script.split(";") if text.strip()]
    names = ", ".join(table.name for table in work.tables)
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
