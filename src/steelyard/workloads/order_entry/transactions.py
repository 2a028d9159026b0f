"""The five transactions of order entry (clauses 2.4 to 2.8) and their mix."""

from collections.abc import Mapping

from steelyard.study.workloads.derived import OrderEntryWorkload
from steelyard.study.workloads.statements import Statement
from steelyard.workloads import BEGIN, COMMIT, Kind, Scripted, Steps, execute, named, percent, put, when
from steelyard.workloads.order_entry import new_order
from steelyard.workloads.order_entry.schema import DISTRICTS

_REMOTE_PAYMENT_PERCENT = 15
_PAYMENT = {
    **new_order.CUSTOMER_STATEMENTS,
    "update warehouse": "update warehouse set w_ytd = w_ytd + :cents * 0.01 where w_id = :w",
    "warehouse": "select w_name, w_street_1, w_street_2, w_city, w_state, w_zip from warehouse"
    " where w_id = :w",
    "update district": "update district set d_ytd = d_ytd + :cents * 0.01 where d_w_id = :w and d_id = :d",
    "district": "select d_name, d_street_1, d_street_2, d_city, d_state, d_zip from district"
    " where d_w_id = :w and d_id = :d",
    "customer": "select c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone,"
    " c_since, c_credit_lim, c_discount, c_balance, case when c_credit = 'BC' then 1 else 0 end as bad_credit"
    " from customer where c_w_id = :customer_w and c_d_id = :customer_d and c_id = :c",
    "update customer": "update customer set c_balance = c_balance - :cents * 0.01,"
    " c_ytd_payment = c_ytd_payment + :cents * 0.01, c_payment_cnt = c_payment_cnt + 1"
    " where c_w_id = :customer_w and c_d_id = :customer_d and c_id = :c",
    "update customer of bad credit": "update customer set c_balance = c_balance - :cents * 0.01,"
    " c_ytd_payment = c_ytd_payment + :cents * 0.01, c_payment_cnt = c_payment_cnt + 1,"
    " c_data = left(concat(c_id, ' ', c_d_id, ' ', c_w_id, ' ', cast(:d as decimal(2,0)), ' ',"
    " cast(:w as decimal(5,0)), ' ', :cents * 0.01, '|', c_data), 500)"
    " where c_w_id = :customer_w and c_d_id = :customer_d and c_id = :c",
    "insert history": "insert into history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount,"
    " h_data) values (:c, :customer_d, :customer_w, :d, :w, current_timestamp, :cents * 0.01,"
    " concat(left(:warehouse_name, 10), '    ', left(:district_name, 10)))",
}
_ORDER_STATUS = {
    **new_order.CUSTOMER_STATEMENTS,
    "customer": "select c_first, c_middle, c_last, c_balance from customer"
    " where c_w_id = :customer_w and c_d_id = :customer_d and c_id = :c",
    "last order": "select o_id, o_entry_d, o_carrier_id from orders where o_w_id = :customer_w"
    " and o_d_id = :customer_d and o_c_id = :c order by o_id desc limit 1",
    "lines": "select ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d from order_line"
    " where ol_w_id = :customer_w and ol_d_id = :customer_d and ol_o_id = :o",
}
_DELIVERY = {
    "oldest new order": "select no_o_id from new_order where no_w_id = :w and no_d_id = :d"
    " order by no_o_id limit 1 for update",
    "delete new order": "delete from new_order where no_w_id = :w and no_d_id = :d and no_o_id = :o",
    "order": "select o_c_id from orders where o_w_id = :w and o_d_id = :d and o_id = :o",
    "update order": "update orders set o_carrier_id = :carrier"
    " where o_w_id = :w and o_d_id = :d and o_id = :o",
    "update lines": "update order_line set ol_delivery_d = current_timestamp"
    " where ol_w_id = :w and ol_d_id = :d and ol_o_id = :o",
    "amount": "select sum(ol_amount) as amount from order_line"
    " where ol_w_id = :w and ol_d_id = :d and ol_o_id = :o",
    "update customer": "update customer set c_balance = c_balance + cast(:amount as decimal(12,2)),"
    " c_delivery_cnt = c_delivery_cnt + 1 where c_w_id = :w and c_d_id = :d and c_id = :c",
}
_STOCK_LEVEL = {
    "district": "select d_next_o_id from district where d_w_id = :w and d_id = :d",
    "low stock": "select count(distinct s_i_id) from order_line, stock where ol_w_id = :w and ol_d_id = :d"
    " and ol_o_id >= :first and ol_o_id < :next and s_w_id = :w and s_i_id = ol_i_id"
    " and s_quantity < :threshold",
}

_SALES = (
    "select ol_i_id, count(*), sum(ol_quantity), sum(ol_amount) from order_line"
    " group by ol_i_id order by sum(ol_amount) desc, ol_i_id limit 20"
)


def transactions(workload: OrderEntryWorkload) -> tuple[dict[str, Statement], dict[str, Scripted]]:
    """Statements and transactions by name."""
    waits_ms = 1e3 if workload.waits else 0.0

    def kind(weight: int, keying_s: int, think_s: int, statements: Mapping[str, str], steps: Steps) -> Kind:
        keying_ms, think_ms = keying_s * waits_ms, think_s * waits_ms
        return Kind(statements, Scripted(weight, tuple(steps), keying_ms, think_ms, "exponential"))

    # weights, keying and think times: clause 5.2.5.7
    kinds = {
        "new-order": kind(45, 18, 12, new_order.statements(workload), new_order.new_order(workload)),
        "payment": kind(43, 3, 12, _PAYMENT, _payment(workload)),
        "order-status": kind(4, 2, 10, _ORDER_STATUS, _order_status(workload)),
        "delivery": kind(4, 2, 5, _DELIVERY, _delivery(workload)),
        "stock-level": kind(4, 2, 5, _STOCK_LEVEL, _stock_level(workload)),
    }
    if workload.report_clients:
        # by clients that execute nothing else
        scripted = Scripted(0, (execute("sales"),), clients=workload.report_clients)
        kinds["report"] = Kind({"sales": _SALES}, scripted)
    return named(kinds)


def _payment(workload: OrderEntryWorkload) -> Steps:
    home = [put("customer_w", ":w"), put("customer_d", ":d")]
    away = [
        put("customer_w", new_order.other_warehouse(workload)),
        put("customer_d", f"random(1, {DISTRICTS})"),
    ]
    remote = [when(percent(_REMOTE_PAYMENT_PERCENT), away, home)] if workload.warehouses > 1 else home
    return [
        *new_order.place(workload),
        *remote,
        put("cents", "random(100, 500000)"),
        BEGIN,
        execute("update warehouse"),
        execute("warehouse", {"warehouse_name": "w_name"}),
        execute("update district"),
        execute("district", {"district_name": "d_name"}),
        *new_order.customer(workload),
        execute("customer", {"bad_credit": "bad_credit"}),
        when(":bad_credit", [execute("update customer of bad credit")], [execute("update customer")]),
        execute("insert history"),
        COMMIT,
    ]


def _order_status(workload: OrderEntryWorkload) -> Steps:
    return [
        *new_order.place(workload),
        put("customer_w", ":w"),
        put("customer_d", ":d"),
        BEGIN,
        *new_order.customer(workload),
        execute("customer"),
        execute("last order", {"o": "o_id"}),
        execute("lines"),
        COMMIT,
    ]


def _delivery(workload: OrderEntryWorkload) -> Steps:
    """At once, all districts in one transaction; a district without a new order is passed over."""
    deliver = [
        execute("delete new order"),
        execute("order", {"c": "o_c_id"}),
        execute("update order"),
        execute("update lines"),
        execute("amount", {"amount": "amount"}),
        execute("update customer"),
    ]
    district = [execute("oldest new order", {"o": "no_o_id"}, rows="found"), when(":found", deliver)]
    every = {"do": "loop", "times": DISTRICTS, "index": "d", "steps": district}
    return [new_order.warehouse(workload), put("carrier", "random(1, 10)"), BEGIN, every, COMMIT]


def _stock_level(workload: OrderEntryWorkload) -> Steps:
    return [
        *new_order.own_district(workload),
        put("threshold", "random(10, 20)"),
        BEGIN,
        execute("district", {"next": "d_next_o_id"}),
        put("first", ":next - 20"),
        execute("low stock"),
        COMMIT,
    ]
