"""Rows of trades before the load, and of what they left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta

from steelyard.workloads.brokerage.past import past_of
from steelyard.workloads.brokerage.scale import Scale, owner_of, symbol
from steelyard.workloads.brokerage.schema import TRADE_TYPES

Lines = Iterator[str]


def _cents(cents: int) -> str:
    return f"{'-' if cents < 0 else ''}{abs(cents) // 100}.{abs(cents) % 100:02}"


def _trade(scale: Scale) -> Lines:
    for t in past_of(scale).trades():
        owner = owner_of(t.account)
        yield (
            f"{t.number},{t.completed},CMPT,{TRADE_TYPES[t.type][0]},{int(t.cash)},{symbol(t.security)},{t.quantity},"
            f"{_cents(t.bid)},{t.account},First{owner:09}"
            f" Last{owner:09},{_cents(t.price)},{_cents(t.charge)},"
            f"{_cents(t.commission)},{_cents(t.tax)},{int(t.lifo)}\n"
        )


def _trade_history(scale: Scale) -> Lines:
    for t in past_of(scale).trades():
        if not TRADE_TYPES[t.type][3]:
            yield f"{t.number},PNDG,{t.ordered}\n"
        submitted = t.ordered if TRADE_TYPES[t.type][3] else t.completed - timedelta(seconds=1)
        yield f"{t.number},SBMT,{submitted}\n{t.number},CMPT,{t.completed}\n"


def _trade_request(_: Scale) -> Lines:
    return iter(())


def _settlement(scale: Scale) -> Lines:
    for t in past_of(scale).trades():
        kind = "Cash Account" if t.cash else "Margin"
        yield f"{t.number},{kind},{t.completed.date() + timedelta(days=2)},{_cents(t.amount)}\n"


def _cash_transaction(scale: Scale) -> Lines:
    for t in past_of(scale).trades():
        if t.cash:
            name = f"{TRADE_TYPES[t.type][1]} {t.quantity} shares of {symbol(t.security)}"
            yield f"{t.number},{t.completed},{_cents(t.amount)},{name}\n"


def _holding(scale: Scale) -> Lines:
    past = past_of(scale)
    for (account, security), of_pair in sorted(past.holdings.open.items()):
        for trade, quantity, price in of_pair:
            yield f"{trade},{account},{symbol(security)},{past.moment(trade)},{_cents(price)},{quantity}\n"


def _holding_summary(scale: Scale) -> Lines:
    for (account, security), of_pair in sorted(past_of(scale).holdings.open.items()):
        if of_pair:
            yield f"{account},{symbol(security)},{sum(quantity for _, quantity, _ in of_pair)}\n"


def _holding_history(scale: Scale) -> Lines:
    rows = zip(*past_of(scale).holdings.history, strict=True)
    return (f"{trade},{holding},{before},{after}\n" for trade, holding, before, after in rows)


TRADE_TABLES: dict[str, Callable[[Scale], Lines]] = {
    "trade": _trade,
    "trade_history": _trade_history,
    "trade_request": _trade_request,
    "settlement": _settlement,
    "cash_transaction": _cash_transaction,
    "holding": _holding,
    "holding_summary": _holding_summary,
    "holding_history": _holding_history,
}
