"""Point lookups by primary key: the cost of handling a statement and little else.

The storm of the published study selects a row or two by a statement made up anew each time; with
text = "unique" this is the same work.
"""

from __future__ import annotations

from steelyard.study.spec import Statement, Workload
from steelyard.workloads import Column, DataTable, Work


def lookup(workload: Workload) -> Work:
    """One table `item` of workload.rows rows, one statement."""
    table = DataTable(
        "item",
        workload.rows,
        (
            Column("id", "integer", "n"),
            Column("quantity", "integer", "n % 1000"),
            Column("filler", "text", "'item number ' || n || ' of the catalogue, in stock'"),
        ),
    )
    statement = Statement(
        sql="select quantity, filler as f{tag} from item where id = :id",
        parameters={"id": {"kind": "uniform", "low": 1, "high": workload.rows}},
    )
    return Work({"lookup": statement}, tables=(table,))
