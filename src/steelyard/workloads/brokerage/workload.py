"""The work of a brokerage: its tables, transactions and conditions, and how it differs from TPC-E."""

from __future__ import annotations

from steelyard.study.workloads.brokerage import NOT_TPC_E, BrokerageWorkload
from steelyard.workloads import Work
from steelyard.workloads.brokerage.consistency import conditions
from steelyard.workloads.brokerage.generator import lines
from steelyard.workloads.brokerage.lookups import lookups
from steelyard.workloads.brokerage.market import market_feed, trade_result
from steelyard.workloads.brokerage.queries import queries
from steelyard.workloads.brokerage.scale import Scale
from steelyard.workloads.brokerage.schema import TABLES
from steelyard.workloads.brokerage.sizes import rows
from steelyard.workloads.brokerage.trade_order import trade_order
from steelyard.workloads.disk_room import check_disk_room
from steelyard.workloads.kinds import named
from steelyard.workloads.layout import file_tables

# the data with indexes as loaded, their copy, CSV files and the server's log: of customers, of days
_ROOM_BYTES_PER_UNIT, _ROOM_BYTES_PER_UNIT_AND_DAY = 6e8, 2.5e8
# each trade has its settlement, history and holdings
_GROWING = ("trade",)


def brokerage(workload: BrokerageWorkload) -> Work:
    """The 27 tables at workload.customers and workload.days, ten transactions. Raises InputError without disk
    space.
    """
    scale = Scale(workload.customers, workload.days)
    _check_room(scale)
    market = {
        "trade-result": trade_result(workload.result_clients),
        "market-feed": market_feed(scale, workload.feed_clients),
    }
    statements, kinds = named(
        {**queries(scale), **lookups(scale), "trade-order": trade_order(scale), **market}
    )
    return Work(
        statements,
        kinds,
        files=file_tables(TABLES, lambda name: lines(name, scale), lambda name: rows(name, scale)),
        remarks=tuple(_remarks(workload)),
        conditions=conditions(workload.conditions),
        grows={name: rows(name, scale) for name in _GROWING},
    )


def _check_room(scale: Scale) -> None:
    each_bytes = _ROOM_BYTES_PER_UNIT + scale.days * _ROOM_BYTES_PER_UNIT_AND_DAY

    def fitting(most: float) -> str:
        return f"customers = {int(most) * 1_000}" if most >= 1 else ""

    what = f"a scale of {scale.customers:,} customers and {scale.days} day{'s' * (scale.days != 1)}"
    check_disk_room(scale.units, each_bytes, what, fitting, ("workload", "customers"))


def _remarks(workload: BrokerageWorkload) -> list[str]:
    return [
        f"{NOT_TPC_E}. It has {workload.customers:,} customers and {workload.days} of 300 days of trades,"
        " 27 of 33"
        " tables, data and names of its own, no data maintenance, statements over whole lists in place of"
        " loops"
        " in stored procedures, runs of seconds to minutes, and no limits of response times, no tests of"
        " durability and no prices",
        f"{workload.result_clients} of the clients execute Trade-Result, {workload.feed_clients}"
        " Market-Feed: the market, whose rate follows the customers' orders",
    ]
