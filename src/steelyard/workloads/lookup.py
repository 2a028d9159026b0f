"""Point lookups by primary key: almost the whole cost is handling of the statement."""

from __future__ import annotations

from steelyard.study.workloads.generators import Generator, Uniform
from steelyard.study.workloads.statements import Statement, StatementWorkload
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


def by_id(rows: int) -> dict[str, Generator]:
    """The parameter `id`: any row, uniformly distributed."""
    return {"id": Uniform(kind="uniform", low=1, high=rows)}


def lookup(workload: StatementWorkload) -> Work:
    """One table `item` of workload.rows rows, one statement."""
    statement = Statement(
        sql="select quantity, filler as f{tag} from item where id = :id",
        parameters=by_id(workload.rows),
    )
    return Work({"lookup": statement}, tables=(item_table(workload.rows),))
