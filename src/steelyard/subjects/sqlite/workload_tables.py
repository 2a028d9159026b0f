"""SQL that creates and fills the tables of a workload in SQLite."""

from __future__ import annotations

from steelyard.workloads import DataTable, Work


def load_statements(work: Work) -> list[str]:
    """SQL that creates and fills the tables of a workload, in order."""
    return [*(text for table in work.tables for text in _create(table)), "analyze"]


def _create(table: DataTable) -> list[str]:
    key, *others = table.columns
    # an integer primary key is the number of the row itself: the table is its index
    columns = ", ".join(
        [f"{key.name} {key.type} primary key", *(f"{c.name} {c.type} not null" for c in others)]
    )
    values = ", ".join(c.value for c in table.columns)
    return [
        f"create table {table.name} ({columns})",
        f"insert into {table.name} with recursive numbers(n) as"
        f" (select 1 union all select n + 1 from numbers where n < {table.rows})"
        f" select {values} from numbers",
    ]
