"""SQL that makes and fills the tables of a workload in PostgreSQL."""

from __future__ import annotations

from steelyard.workloads import DataTable, Work


def load_statements(work: Work) -> list[str]:
    """SQL that makes and fills the tables of a workload, in order."""
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
