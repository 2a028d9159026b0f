"""The work of order entry: its tables, transactions and conditions, and how it differs from TPC-C."""

from steelyard.study.workloads.derived import NOT_TPC, OrderEntryWorkload
from steelyard.workloads import Work, check_disk_room, conditions, file_tables
from steelyard.workloads.order_entry.generator import lines
from steelyard.workloads.order_entry.schema import DELIVERED, TABLES
from steelyard.workloads.order_entry.transactions import transactions

# the data with indexes as loaded, their copy, CSV files and the server's log
_ROOM_BYTES_PER_WAREHOUSE = 4e8
# each order has its lines
_GROWING = ("orders", "history")

_CHECKED_ALWAYS = 4

_DELIVERED_AMOUNTS = (
    "(select o_w_id, o_d_id, o_c_id, sum(ol_amount) as amount from orders, order_line where ol_w_id = o_w_id"
    " and ol_d_id = o_d_id and ol_o_id = o_id and ol_delivery_d is not null group by o_w_id, o_d_id, o_c_id)"
    " as delivered on o_w_id = c_w_id and o_d_id = c_d_id and o_c_id = c_id"
)
# by number, from 1: what must hold, and how many warehouses, districts, orders or customers violate it
_CONDITIONS = (
    (
        "w_ytd of a warehouse is the sum of d_ytd",
        "select count(*) from warehouse left join"
        " (select d_w_id, sum(d_ytd) as ytd from district group by d_w_id) as due on d_w_id = w_id"
        " where w_ytd <> coalesce(ytd, 0)",
    ),
    (
        "d_next_o_id - 1 of a district is its greatest o_id, and no_o_id",
        "select count(*) from district"
        " left join (select o_w_id, o_d_id, max(o_id) as newest from orders group by o_w_id, o_d_id) as o"
        " on o_w_id = d_w_id and o_d_id = d_id"
        " left join (select no_w_id, no_d_id, max(no_o_id) as newest from new_order"
        " group by no_w_id, no_d_id) as n on no_w_id = d_w_id and no_d_id = d_id"
        # all orders of a district may be delivered
        " where d_next_o_id - 1 <> coalesce(o.newest, 0) or n.newest <> d_next_o_id - 1",
    ),
    (
        "no_o_id of a district has no gap",
        "select count(*) from (select max(no_o_id) - min(no_o_id) + 1 as span, count(*) as found"
        " from new_order group by no_w_id, no_d_id) as district where span <> found",
    ),
    (
        "the sum of o_ol_cnt of a district is its number of order lines",
        "select count(*) from district"
        " left join (select o_w_id, o_d_id, sum(o_ol_cnt) as due from orders group by o_w_id, o_d_id) as o"
        " on o_w_id = d_w_id and o_d_id = d_id"
        " left join (select ol_w_id, ol_d_id, count(*) as found from order_line"
        " group by ol_w_id, ol_d_id) as l on ol_w_id = d_w_id and ol_d_id = d_id"
        " where coalesce(due, 0) <> coalesce(found, 0)",
    ),
    (
        "an order without o_carrier_id is in new_order, and no other",
        "select count(*) from orders left join new_order on no_w_id = o_w_id and no_d_id = o_d_id"
        " and no_o_id = o_id where (o_carrier_id is null) <> (no_o_id is not null)",
    ),
    (
        "o_ol_cnt of an order is its number of lines",
        "select count(*) from orders left join (select ol_w_id, ol_d_id, ol_o_id, count(*) as found"
        " from order_line group by ol_w_id, ol_d_id, ol_o_id) as l"
        " on ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id where o_ol_cnt <> coalesce(found, 0)",
    ),
    (
        "a line without ol_delivery_d is of an order without o_carrier_id, and no other",
        "select count(*) from order_line, orders where o_w_id = ol_w_id and o_d_id = ol_d_id"
        " and o_id = ol_o_id and (ol_delivery_d is null) <> (o_carrier_id is null)",
    ),
    (
        "w_ytd of a warehouse is the sum of h_amount",
        "select count(*) from warehouse left join"
        " (select h_w_id, sum(h_amount) as paid from history group by h_w_id) as h on h_w_id = w_id"
        " where w_ytd <> coalesce(paid, 0)",
    ),
    (
        "d_ytd of a district is the sum of h_amount",
        "select count(*) from district left join (select h_w_id, h_d_id, sum(h_amount) as paid from history"
        " group by h_w_id, h_d_id) as h on h_w_id = d_w_id and h_d_id = d_id"
        " where d_ytd <> coalesce(paid, 0)",
    ),
    (
        "c_balance of a customer is ol_amount of delivered lines less h_amount",
        f"select count(*) from customer left join {_DELIVERED_AMOUNTS} left join"
        " (select h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) as paid from history"
        " group by h_c_w_id, h_c_d_id, h_c_id) as h"
        " on h_c_w_id = c_w_id and h_c_d_id = c_d_id and h_c_id = c_id"
        " where c_balance <> coalesce(amount, 0) - coalesce(paid, 0)",
    ),
    (
        f"a district has {DELIVERED:,} orders that are not in new_order",
        "select count(*) from (select o_w_id, o_d_id, count(*) as made from orders group by o_w_id, o_d_id)"
        " as o left join (select no_w_id, no_d_id, count(*) as found from new_order"
        f" group by no_w_id, no_d_id) as n on no_w_id = o_w_id and no_d_id = o_d_id"
        f" where made - coalesce(found, 0) <> {DELIVERED}",
    ),
    (
        "c_balance + c_ytd_payment of a customer is ol_amount of delivered lines",
        f"select count(*) from customer left join {_DELIVERED_AMOUNTS}"
        " where c_balance + c_ytd_payment <> coalesce(amount, 0)",
    ),
)
_OF_LOADED_DATA_ONLY = 11


def order_entry(workload: OrderEntryWorkload) -> Work:
    """The nine tables at workload.warehouses, the five transactions. Raises InputError without disk space."""
    warehouses, constant = workload.warehouses, workload.constants.last_name_loaded
    check_disk_room(
        warehouses,
        _ROOM_BYTES_PER_WAREHOUSE,
        f"a scale of {warehouses:,} warehouse{'s' * (warehouses != 1)}",
        lambda most: f"warehouses = {int(most)}" * (most >= 1),
        ("workload", "warehouses"),
    )
    statements, kinds = transactions(workload)
    last = _CHECKED_ALWAYS if workload.conditions == "four" else len(_CONDITIONS)
    return Work(
        statements,
        kinds,
        files=file_tables(TABLES, lambda name: lines(name, warehouses, constant), warehouses),
        remarks=tuple(_remarks(workload)),
        conditions=conditions(_CONDITIONS, {*range(1, last + 1)} - {_OF_LOADED_DATA_ONLY}),
        grows={name: TABLES[name].count(warehouses) for name in _GROWING},
    )


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
