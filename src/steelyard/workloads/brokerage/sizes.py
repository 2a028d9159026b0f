"""How many rows the tables have as loaded: the ratios by which the specification's own data grow.

As https://github.com/osdldbt/dbt5 (scripts/pgsql/dbt5-pgsql-check-db.in) checks them. Those of holdings per
trade are of 300 days: in fewer days more of the trades are still open.
"""

from __future__ import annotations

from steelyard.workloads.brokerage.scale import INDUSTRIES, SECTORS, TAX_RATES, Scale

_FIXED = {
    "charge": 15,
    "commission_rate": 240,
    "exchange": 4,
    "industry": INDUSTRIES,
    "sector": SECTORS,
    "status_type": 5,
    "taxrate": TAX_RATES,
    "trade_type": 5,
    "trade_request": 0,
}
_PER_CUSTOMER = {
    "customer": 1.0,
    "watch_list": 1.0,
    "customer_taxrate": 2.0,
    "customer_account": 5.0,
    "account_permission": 1.42 * 5,
    "broker": 0.01,
    "company": 0.5,
    "security": 0.685,
    "last_trade": 0.685,
    "daily_market": 0.685 * 1_305,
    "watch_item": 100.0,
    "holding_summary": 9.96 * 5,
}
_PER_TRADE = {
    "trade": 1.0,
    "settlement": 1.0,
    "trade_history": 2.4,
    "cash_transaction": 0.92,
    "holding": 0.051,
    "holding_history": 1.34,
}


def rows(table: str, scale: Scale) -> int:
    """Rows of a table as loaded; holdings as after 300 days."""
    if table in _FIXED:
        return _FIXED[table]
    if table in _PER_CUSTOMER:
        return round(_PER_CUSTOMER[table] * scale.customers)
    return round(_PER_TRADE[table] * scale.trades)
