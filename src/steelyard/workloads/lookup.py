"""Point lookups by primary key: the cost of handling a statement and little else."""

from __future__ import annotations

from steelyard.study.spec import Statement, Workload
from steelyard.workloads import Column, DataTable, Work


def item_table(rows: int) -> DataTable:
    """Items by number, about 100 bytes each."""
    return DataTable(
        "item",
        rows,
        (
            Column("id", "integer", "n"),
            Column("quantity", "integer", "n % 1000"),
            Column("filler", "text", "'item number ' || n || ' of the catalogue, in stock'"),
        ),
    )


def lookup(workload: Workload) -> Work:
    """One table `item` of workload.rows rows, one statement."""
    statement = Statement(
        sql="select quantity, filler as f{tag} from item where id = :id",
        parameters={"id": {"kind": "uniform", "low": 1, "high": workload.rows}},
    )
    return Work({"lookup": statement}, tables=(item_table(workload.rows),))
