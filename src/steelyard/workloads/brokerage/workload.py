"""The work of a brokerage: its tables, transactions and conditions, and how it differs from TPC-E."""

from steelyard.study.workloads.derived import NOT_TPC_E, BrokerageWorkload
from steelyard.workloads import Work, check_disk_room, conditions, file_tables, named
from steelyard.workloads.brokerage.generator import lines
from steelyard.workloads.brokerage.market import market_feed, trade_result
from steelyard.workloads.brokerage.queries import lookups, queries
from steelyard.workloads.brokerage.scale import Scale
from steelyard.workloads.brokerage.schema import TABLES
from steelyard.workloads.brokerage.trade_order import trade_order

# the data with indexes as loaded, their copy, CSV files and the server's log: of customers, of days
_ROOM_BYTES_PER_UNIT, _ROOM_BYTES_PER_UNIT_AND_DAY = 6e8, 2.5e8

_CHECKED_ALWAYS = 3
_BY_BROKER = (
    "select count(*) from broker left join (select ca_b_id, count(*) as trades, sum(t_comm) as commissions"
    " from trade, customer_account where t_st_id = 'CMPT' and ca_id = t_ca_id group by ca_b_id) as done"
    " on ca_b_id = b_id where "
)

# by number, from 1
_CONDITIONS = (
    (
        "b_num_trades of a broker is the number of completed trades",
        _BY_BROKER + "b_num_trades <> coalesce(trades, 0)",
    ),
    (
        "b_comm_total of a broker is the sum of t_comm of completed trades",
        _BY_BROKER + "b_comm_total <> coalesce(commissions, 0)",
    ),
    (
        "hs_qty of an account and security is the sum of h_qty",
        "select count(*) from (select ca, symbol from (select hs_ca_id as ca, hs_s_symb as symbol, hs_qty"
        " as qty from holding_summary union all select h_ca_id, h_s_symb, -h_qty from holding) as both_sides"
        " group by ca, symbol having sum(qty) <> 0) as wrong",
    ),
    (
        "a completed trade has one settlement, and no other has one",
        "select count(*) from trade left join settlement on se_t_id = t_id"
        " where (t_st_id = 'CMPT') <> (se_t_id is not null)",
    ),
    (
        "a completed trade for cash has one cash_transaction, and no other has one",
        "select count(*) from trade left join cash_transaction on ct_t_id = t_id"
        " where (t_st_id = 'CMPT' and t_is_cash = 1) <> (ct_t_id is not null)",
    ),
    (
        "a pending trade is in trade_request, and no other",
        "select count(*) from trade left join trade_request on tr_t_id = t_id"
        " where (t_st_id = 'PNDG') <> (tr_t_id is not null)",
    ),
    (
        "the changes in holding_history of a holding add up to h_qty",
        "select count(*) from (select id from (select hh_h_t_id as id, hh_after_qty - hh_before_qty as qty"
        " from holding_history union all select h_t_id, -h_qty from holding) as both_sides"
        " group by id having sum(qty) <> 0) as wrong",
    ),
)


def brokerage(workload: BrokerageWorkload) -> Work:
    """The 27 tables at workload.customers and workload.days, ten transactions. Raises InputError without disk
    space.
    """
    scale = Scale(workload.customers, workload.days)
    check_disk_room(
        scale.units,
        _ROOM_BYTES_PER_UNIT + scale.days * _ROOM_BYTES_PER_UNIT_AND_DAY,
        f"a scale of {scale.customers:,} customers and {scale.days} day{'s' * (scale.days != 1)}",
        lambda most: f"customers = {int(most) * 1_000}" * (most >= 1),
        ("workload", "customers"),
    )
    last = _CHECKED_ALWAYS if workload.conditions == "three" else len(_CONDITIONS)
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
        files=file_tables(TABLES, lambda name: lines(name, scale), scale.customers, scale.trades),
        remarks=(
            f"{NOT_TPC_E}. It has {workload.customers:,} customers and {workload.days} of 300 days of trades,"
            " 27 of 33 tables, data and names of its own, no data maintenance, statements over whole lists in"
            " place of loops in stored procedures, runs of seconds to minutes, and no limits of response"
            " times, no tests of durability and no prices",
            f"{workload.result_clients} of the clients execute Trade-Result, {workload.feed_clients}"
            " Market-Feed: the market, whose rate follows the customers' orders",
        ),
        conditions=conditions(_CONDITIONS, range(1, last + 1)),
        # each trade has its settlement, history and holdings
        grows={"trade": TABLES["trade"].count(scale.customers, scale.trades)},
    )
