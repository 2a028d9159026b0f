"""Conditions of consistency, each as a count of what violates it: three of the specification, four of ours.

Sums of nothing are 0: comparisons with NULL would never find a violation.
"""

from __future__ import annotations

from steelyard.workloads import Condition

_CHECKED_ALWAYS = 3
_BY_BROKER = (
    "select count(*) from broker left join (select ca_b_id, count(*) as trades, sum(t_comm) as commissions"
    " from trade, customer_account where t_st_id = 'CMPT' and ca_id = t_ca_id group by ca_b_id) as done"
    " on ca_b_id = b_id where "
)

# by number, from 1
_CONDITIONS: tuple[tuple[str, str], ...] = (
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
        " as qty"
        " from holding_summary union all select h_ca_id, h_s_symb, -h_qty from holding) as both_sides"
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


def conditions(after_runs: str) -> tuple[Condition, ...]:
    """All seven. after_runs: which are checked after a run, `three` or `all`."""
    last = _CHECKED_ALWAYS if after_runs == "three" else len(_CONDITIONS)
    return tuple(
        Condition(f"consistency condition {number} ({text})", sql, after_runs=number <= last)
        for number, (text, sql) in enumerate(_CONDITIONS, start=1)
    )
