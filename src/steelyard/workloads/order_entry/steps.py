"""Steps that several transactions share: where a client is, and who the customer is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.study.workloads.order_entry import OrderEntryWorkload
from steelyard.workloads.order_entry.schema import CUSTOMERS, DISTRICTS, LAST_NAMES
from steelyard.workloads.steps import Step, Steps, execute, nurand, percent, put, uniform, when

BY_LAST_NAME_PERCENT = 60
CUSTOMER_STATEMENTS: Mapping[str, str] = {
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
        return put("w", uniform(1, workload.warehouses))
    return put("w", ["add", ["mod", ["client"], workload.warehouses], 1])


def place(workload: OrderEntryWorkload) -> Steps:
    """The warehouse `w` and a random district `d`."""
    return [warehouse(workload), put("d", uniform(1, DISTRICTS))]


def own_district(workload: OrderEntryWorkload) -> Steps:
    """The warehouse `w` and the district `d` where the client is."""
    if workload.home == "free":
        return place(workload)
    number = ["mod", ["div", ["client"], workload.warehouses], DISTRICTS]
    return [warehouse(workload), put("d", ["add", number, 1])]


def other_warehouse(workload: OrderEntryWorkload) -> list[Any]:
    """Any warehouse but `w`; there are two or more."""
    steps_away = uniform(0, workload.warehouses - 2)
    return ["add", ["mod", ["add", "w", steps_away], workload.warehouses], 1]


def customer(workload: OrderEntryWorkload) -> Steps:
    """The customer `c` of the district `customer_w`, `customer_d`: 60 % by last name, else by number."""
    constants = workload.constants
    by_name = [
        nurand("name_number", 255, 0, 999, constants.last_name),
        {"do": "pick", "value": "last_name", "from": LAST_NAMES, "number": ["add", "name_number", 1]},
        execute("customers of a name", {"namesakes": "n"}),
        put("before", ["div", ["sub", "namesakes", 1], 2]),
        execute("customer by name", {"c": "c_id"}),
    ]
    return [
        when(percent(BY_LAST_NAME_PERCENT), by_name, [nurand("c", 1023, 1, CUSTOMERS, constants.customer)])
    ]
