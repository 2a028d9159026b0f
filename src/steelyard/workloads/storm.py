"""The storm of the published study: lookups by statements that are different to the server.

A row is selected through a WITH item whose name carries the tag. PostgreSQL's statistics of
statements leave out constants and column aliases but keep the names of WITH items, so each tag has
its own entry; the planner inlines the WITH item, so the plan is that of a lookup.
"""

from steelyard.study.workloads.statements import Statement, StatementWorkload
from steelyard.workloads import Work
from steelyard.workloads.orders import by_id, item_table


def storm(workload: StatementWorkload) -> Work:
    """One table `item` of workload.rows rows, one statement with as many texts as tags."""
    statement = Statement(
        sql="with one{tag} as (select quantity, filler from item where id = :id)"
        " select quantity, filler from one{tag}",
        parameters=by_id(workload.rows),
    )
    return Work({"lookup": statement}, tables=(item_table(workload.rows),))
