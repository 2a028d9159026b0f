"""The transaction of a new order (clause 2.4): 5 to 15 lines, a hundredth of the orders rolled back."""

from collections.abc import Mapping

from steelyard.study.workloads.derived import OrderEntryWorkload
from steelyard.workloads import BEGIN, COMMIT, Step, Steps, execute, nurand, percent, pick, put, when
from steelyard.workloads.order_entry.schema import CUSTOMERS, DISTRICTS, ITEMS, LINES_MAX, LINES_MIN, SURNAMES

_BY_LAST_NAME_PERCENT = 60
CUSTOMER_STATEMENTS = {
    "customers of a name": "select count(*) as n from customer"
    " where c_w_id = :customer_w and c_d_id = :customer_d and c_last = :last_name",
    # of n customers by first name the one at n/2, rounded up
    "customer by name": "select c_id, c_first, c_middle, c_balance from customer"
    " where c_w_id = :customer_w and c_d_id = :customer_d and c_last = :last_name"
    " order by c_first limit 1 offset :before",
}


def warehouse(workload: OrderEntryWorkload) -> Step:
    """The warehouse `w`: the client's own, or a random one."""
    if workload.home == "free":
        return put("w", f"random(1, {workload.warehouses})")
    return put("w", f"client() % {workload.warehouses} + 1")


def place(workload: OrderEntryWorkload) -> Steps:
    """The warehouse `w` and a random district `d`."""
    return [warehouse(workload), put("d", f"random(1, {DISTRICTS})")]


def own_district(workload: OrderEntryWorkload) -> Steps:
    """The warehouse `w` and the district `d` where the client is."""
    if workload.home == "free":
        return place(workload)
    return [warehouse(workload), put("d", f"client() / {workload.warehouses} % {DISTRICTS} + 1")]


def other_warehouse(workload: OrderEntryWorkload) -> str:
    """Any warehouse but `w`; there are two or more."""
    return f"(:w + random(0, {workload.warehouses - 2})) % {workload.warehouses} + 1"


def customer(workload: OrderEntryWorkload) -> Steps:
    """The customer `c` of the district `customer_w`, `customer_d`: 60 % by last name, else by number."""
    constants = workload.constants
    by_name = [
        nurand("name_number", 255, 0, 999, constants.last_name),
        pick("last_name", SURNAMES, ":name_number + 1"),
        execute("customers of a name", {"namesakes": "n"}),
        put("before", "(:namesakes - 1) / 2"),
        execute("customer by name", {"c": "c_id"}),
    ]
    return [
        when(percent(_BY_LAST_NAME_PERCENT), by_name, [nurand("c", 1023, 1, CUSTOMERS, constants.customer)])
    ]


_UNUSED_ITEM = ITEMS + 1
_LINES = range(1, LINES_MAX + 1)
_BY_DISTRICT = " ".join(f"when {d} then s_dist_{d:02}" for d in range(1, DISTRICTS + 1))
_INFORMATION = f"case cast(:d as integer) {_BY_DISTRICT} end"
_STOCKS = " or ".join(f"(s_w_id = :supply{n} and s_i_id = :item{n})" for n in _LINES)
_COUNTS = (
    " s_ytd = s_ytd + :quantity, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + :remote"
    " where s_w_id = :supply and s_i_id = :item"
)
_LINE = (
    "insert into order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d,"
    " ol_quantity, ol_amount, ol_dist_info) values (:o, :d, :w, :number, :item, :supply, null, :quantity,"
)

_HEAD = {
    "customer": "select c_discount, c_last, c_credit, w_tax from customer, warehouse"
    " where w_id = :w and c_w_id = w_id and c_d_id = :d and c_id = :c",
    "district": "select d_next_o_id, d_tax from district where d_w_id = :w and d_id = :d for update",
    "next order": "update district set d_next_o_id = d_next_o_id + 1 where d_w_id = :w and d_id = :d",
    "insert order": "insert into orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt,"
    " o_all_local) values (:o, :d, :w, :c, current_timestamp, null, :lines, :all_local)",
    "insert new order": "insert into new_order (no_o_id, no_d_id, no_w_id) values (:o, :d, :w)",
}
_SINGLE = {
    "item": "select i_price, i_name, i_data from item where i_id = :item",
    "stock": f"select s_quantity, s_data, {_INFORMATION} as information from stock"
    " where s_w_id = :supply and s_i_id = :item for update",
    "update stock": "update stock set s_quantity = :left," + _COUNTS,
    "insert line": _LINE + " :cents * 0.01, :information)",
}
_LIST = {
    "items": "select i_id, i_price, i_name, i_data from item"
    f" where i_id in ({', '.join(f':item{n}' for n in _LINES)})",
    "stocks": f"select s_w_id, s_i_id, s_quantity, s_data, {_INFORMATION} as information"
    f" from stock where {_STOCKS} for update",
    "update stock": "update stock set s_quantity = case when s_quantity >= :quantity + 10"
    " then s_quantity - :quantity else s_quantity - :quantity + 91 end," + _COUNTS,
    "insert line": _LINE + " cast(:quantity as integer) * (select i_price from item where i_id = :item),"
    f" (select {_INFORMATION} from stock where s_w_id = :supply and s_i_id = :item))",
}


def statements(workload: OrderEntryWorkload) -> Mapping[str, str]:
    """Texts by name."""
    return {**_HEAD, **(_LIST if workload.reads == "list" else _SINGLE)}


def new_order(workload: OrderEntryWorkload) -> Steps:
    """Its steps. All of the order is drawn first, and is the same for both ways to read."""
    lists = workload.reads == "list"
    read_all = [
        execute("items", rows="found"),
        when(":found < :lines", [{"do": "rollback"}]),
        execute("stocks"),
    ]
    return [
        *place(workload),
        *_order(workload),
        BEGIN,
        execute("customer"),
        execute("district", {"o": "d_next_o_id"}),
        execute("next order"),
        execute("insert order"),
        execute("insert new order"),
        *(read_all if lists else []),
        *(when(f"{n} <= :lines", _line(n, lists)) for n in _LINES),
        COMMIT,
    ]


def _order(workload: OrderEntryWorkload) -> Steps:
    """The customer `c`, the number of `lines`, and item, supplying warehouse and quantity of each line."""
    constants = workload.constants
    supply = ":w"
    if workload.warehouses > 1:
        supply = f"case when {percent(1)} then {other_warehouse(workload)} else :w end"
    steps = [
        nurand("c", 1023, 1, CUSTOMERS, constants.customer),
        put("lines", f"random({LINES_MIN}, {LINES_MAX})"),
        put("unused", percent(1)),
    ]
    for n in _LINES:
        steps += [
            nurand(f"item{n}", 8191, 1, ITEMS, constants.item, distinct="items"),
            put(f"supply{n}", supply),
            put(f"quantity{n}", "random(1, 10)"),
        ]
    remote = " or ".join(f"{n} <= :lines and :supply{n} <> :w" for n in _LINES)
    all_local = put("all_local", f"case when {remote} then 0 else 1 end")
    # the last line of a hundredth of the orders names an item that does not exist
    last = [when(f"{n} = :lines", [put(f"item{n}", _UNUSED_ITEM)]) for n in _LINES[LINES_MIN - 1 :]]
    # lists are as long as the longest order: what is beyond its last line repeats the first
    beyond = (
        when(f"{n} > :lines", [put(f"item{n}", ":item1"), put(f"supply{n}", ":supply1")])
        for n in _LINES[LINES_MIN:]
    )
    return [*steps, all_local, when(":unused", last), *beyond]


def _line(n: int, lists: bool) -> Steps:
    own = [put("number", n), *(put(name, f":{name}{n}") for name in ("item", "supply", "quantity"))]
    own.append(put("remote", "case when :supply <> :w then 1 else 0 end"))
    if lists:
        return [*own, execute("update stock"), execute("insert line")]
    left = ":stock - :quantity"
    return [
        *own,
        execute("item", {"price": "i_price"}, rows="found"),
        when(":found = 0", [{"do": "rollback"}]),
        execute("stock", {"stock": "s_quantity", "information": "information"}),
        put("left", f"case when :stock >= :quantity + 10 then {left} else {left} + 91 end"),
        execute("update stock"),
        # money in whole cents: a double has no exact tenths
        put("cents", "int(:quantity * :price * 100)"),
        execute("insert line"),
    ]
