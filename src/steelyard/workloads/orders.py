"""A small order-entry mix: lookups, a range, and orders that write. Not a TPC benchmark."""

from steelyard.study.workloads.statements import Generator, Statement, StatementWorkload, Transaction, Uniform
from steelyard.workloads import Column, DataTable, Work


def item_table(rows: int, quantity: str = "n % 1000") -> DataTable:
    """Items by number, about 100 bytes each."""
    return DataTable(
        "item",
        rows,
        (
            Column("id", "integer", "n"),
            Column("quantity", "integer", quantity),
            Column("filler", "text", "'item number ' || n || ' of the catalogue, in stock'"),
        ),
    )


def by_id(rows: int) -> dict[str, Generator]:
    """The parameter `id`: any row, uniformly distributed."""
    return {"id": Uniform(kind="uniform", low=1, high=rows)}


def lookup(workload: StatementWorkload) -> Work:
    """One table `item` of workload.rows rows, one statement."""
    return _lookups(workload, "select quantity, filler as f{tag} from item where id = :id")


def _lookups(workload: StatementWorkload, sql: str) -> Work:
    statement = Statement(sql=sql, parameters=by_id(workload.rows))
    return Work({"lookup": statement}, tables=(item_table(workload.rows),))


def orders(workload: StatementWorkload) -> Work:
    """Items and customers; 70 % lookups, 15 % ranges of 20 rows, 15 % orders in a transaction."""
    rows = workload.rows
    customers = max(1, rows // 10)
    item = by_id(rows)
    buyer = by_id(customers)
    tables = (
        item_table(rows, "100000"),
        DataTable(
            "customer",
            customers,
            (
                Column("id", "integer", "n"),
                Column("orders", "integer", "0"),
                Column("name", "text", "'customer ' || n"),
            ),
        ),
    )
    statements = {
        "lookup": Statement(
            sql="select quantity, filler as f{tag} from item where id = :id", parameters=item
        ),
        "range": Statement(
            sql="select sum(quantity) as s{tag} from item where id between :id and :id + 19", parameters=item
        ),
        "customer": Statement(
            sql="select name, orders as o{tag} from customer where id = :id", parameters=buyer
        ),
        "take": Statement(sql="update item set quantity = quantity - 1 where id = :id", parameters=item),
        "book": Statement(sql="update customer set orders = orders + 1 where id = :id", parameters=buyer),
    }
    transactions = {
        "lookup": Transaction(statements=["lookup"], weight=70),
        "range": Transaction(statements=["range"], weight=15),
        "order": Transaction(statements=["customer", "take", "book"], weight=15, begin=True),
    }
    return Work(statements, transactions, tables)


def storm(workload: StatementWorkload) -> Work:
    """The storm of the published study: lookups by statements that are different to the server.

    One table `item` of workload.rows rows, one statement with as many texts as tags. A row is selected
    through a WITH item whose name carries the tag. PostgreSQL's statistics of statements leave out constants
    and column aliases but keep the names of WITH items, so each tag has its own entry; the planner inlines
    the WITH item, so the plan is that of a lookup.
    """
    return _lookups(
        workload,
        "with one{tag} as (select quantity, filler from item where id = :id)"
        " select quantity, filler from one{tag}",
    )
