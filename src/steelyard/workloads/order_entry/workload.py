"""The work of order entry: its tables, transactions and conditions, and how it differs from TPC-C."""

from __future__ import annotations

from steelyard.study.workloads.order_entry import NOT_TPC, OrderEntryWorkload
from steelyard.workloads import Work
from steelyard.workloads.disk_room import check_disk_room
from steelyard.workloads.layout import file_tables
from steelyard.workloads.order_entry.consistency import conditions
from steelyard.workloads.order_entry.generator import lines
from steelyard.workloads.order_entry.schema import TABLES, rows
from steelyard.workloads.order_entry.transactions import transactions

# the data with indexes as loaded, their copy, CSV files and the server's log
_ROOM_BYTES_PER_WAREHOUSE = 4e8
# each order has its lines
_GROWING = ("orders", "history")


def order_entry(workload: OrderEntryWorkload) -> Work:
    """The nine tables at workload.warehouses, the five transactions. Raises InputError without disk space."""
    _check_room(workload.warehouses)
    statements, kinds = transactions(workload)
    warehouses, constant = workload.warehouses, workload.constants.last_name_loaded
    return Work(
        statements,
        kinds,
        files=file_tables(
            TABLES, lambda name: lines(name, warehouses, constant), lambda name: rows(name, warehouses)
        ),
        remarks=tuple(_remarks(workload)),
        conditions=conditions(workload.conditions),
        grows={name: rows(name, warehouses) for name in _GROWING},
    )


def _check_room(warehouses: int) -> None:
    def fitting(most: float) -> str:
        return f"warehouses = {int(most)}" if most >= 1 else ""

    what = f"a scale of {warehouses:,} warehouse{'s' * (warehouses != 1)}"
    check_disk_room(warehouses, _ROOM_BYTES_PER_WAREHOUSE, what, fitting, ("workload", "warehouses"))


def _remarks(workload: OrderEntryWorkload) -> list[str]:
    c, waits = workload.constants, "" if workload.waits else " no keying or think times,"
    where = "" if workload.home == "fixed" else " a warehouse drawn for each transaction,"
    mix = "" if workload.mix == "deck" else " a mix by weights,"
    return [
        f"{NOT_TPC}. It has{waits}{where}{mix} no screens, no queue of deliveries, foreign keys only where"
        " the study adds them, runs of seconds to minutes, and no tests of durability and no prices",
        f"constants C of NURand: last names {c.last_name_loaded} in the data and {c.last_name} in the run,"
        f" customers {c.customer}, items {c.item}",
    ]
