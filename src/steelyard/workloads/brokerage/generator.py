"""The data as loaded, in CSV files of the same bytes for every server."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.workloads.brokerage.customer_data import CUSTOMER_TABLES
from steelyard.workloads.brokerage.market_data import MARKET_TABLES
from steelyard.workloads.brokerage.scale import Scale
from steelyard.workloads.brokerage.trade_data import TRADE_TABLES

_ALL = MARKET_TABLES | CUSTOMER_TABLES | TRADE_TABLES


def lines(table: str, scale: Scale) -> Iterator[str]:
    """Lines of the CSV file of a table, without its header."""
    return _ALL[table](scale)
