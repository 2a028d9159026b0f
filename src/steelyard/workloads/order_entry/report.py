"""The reporting query beside order entry: reads all order lines. It is no part of the specification."""

from __future__ import annotations

from steelyard.workloads import Scripted
from steelyard.workloads.kinds import Kind
from steelyard.workloads.steps import execute

_SALES = (
    "select ol_i_id, count(*), sum(ol_quantity), sum(ol_amount) from order_line"
    " group by ol_i_id order by sum(ol_amount) desc, ol_i_id limit 20"
)


def report(clients: int) -> dict[str, Kind]:
    """The report by so many clients, which execute nothing else; {} without them."""
    if not clients:
        return {}
    return {"report": Kind({"sales": _SALES}, Scripted(0, (execute("sales"),), clients=clients))}
