"""The data of the brokerage at full size: 300 days of trades."""

from __future__ import annotations

from dataclasses import replace

from steelyard.workloads.brokerage.past import Holdings
from steelyard.workloads.brokerage.scale import Scale, accounts_of, orders_of


def test_holdings_of_300_days_grow_by_the_ratios_of_the_specification() -> None:
    # of a fifth of the customers, as each account's holdings follow from its own trades
    scale, part = Scale(1_000, 300), 5
    accounts = [a for c in range(1, 1_001) for a in accounts_of(c) if a // 10 * 613 % 1_000 % part == 0]
    holdings, trades = Holdings(), 0
    for day in range(scale.days):
        orders = orders_of(scale, day)
        chosen = orders.account // 10 * 613 % 1_000 % part == 0
        orders = replace(orders, **{name: column[chosen] for name, column in vars(orders).items()})
        holdings.trade(orders, trades + 1)
        trades += len(orders.account)
    found = {
        "holding": sum(map(len, holdings.open.values())) / trades / 0.051,
        "holding_history": len(holdings.history[0]) / trades / 1.34,
        "holding_summary": sum(map(bool, holdings.open.values())) / len(accounts) / 9.96,
        "trade": trades / 17_280_000 * part,
    }
    assert all(abs(ratio - 1) < 0.02 for name, ratio in found.items() if name != "trade"), found
    assert abs(found["trade"] - 1) < 0.05
