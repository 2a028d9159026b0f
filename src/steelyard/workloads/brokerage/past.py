"""The trades before the data were loaded, with what they left: fees, taxes, holdings, brokers' totals."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache

import numpy as np

from steelyard.workloads.brokerage.scale import (
    QUANTITIES,
    Integers,
    Orders,
    Scale,
    broker_of,
    buys,
    charge_cents,
    orders_of,
    owner_of,
    rate_of,
    tax_cents,
    tax_status_of,
    tier_of,
)

_OPENED = datetime(2025, 1, 2, hour=9)
FIRST_DAY = _OPENED.date()

Positions = dict[tuple[int, int], deque[tuple[int, int, int]]]


@dataclass
class Holdings:
    """open: by account and security, trade, quantity and price (cents) of each holding, the oldest first.

    history: columns trade, holding, quantity before, after. gains: cents of each trade's closed holdings.
    """

    open: Positions = field(default_factory=Positions)
    history: tuple[array[int], ...] = field(default_factory=lambda: tuple(array("q") for _ in range(4)))
    gains: array[int] = field(default_factory=lambda: array("q"))

    def trade(self, orders: Orders, first: int) -> None:
        """Trades in the order of their completion; first: number of the first of them."""
        signed = np.where(buys(orders.type), orders.quantity, -orders.quantity)
        columns = (orders.account, orders.security, signed, orders.price, orders.lifo)
        for number, row in enumerate(zip(*(column.tolist() for column in columns), strict=True), first):
            self.gains.append(self._one(number, *row))

    def _one(self, trade: int, account: int, security: int, left: int, price: int, lifo: bool) -> int:
        of_pair = self.open.setdefault((account, security), deque())
        gain = 0
        while left and of_pair and (of_pair[0][1] < 0) != (left < 0):
            holding, quantity, paid = of_pair.pop() if lifo else of_pair.popleft()
            closed = min(abs(quantity), abs(left)) * (1 if quantity > 0 else -1)
            gain += closed * (price - paid)
            rest = quantity - closed
            self._change(trade, holding, quantity, rest)
            if rest:
                (of_pair.append if lifo else of_pair.appendleft)((holding, rest, paid))
            left += closed
        if left:
            of_pair.append((trade, left, price))
            self._change(trade, trade, 0, left)
        return gain

    def _change(self, *row: int) -> None:
        for column, value in zip(self.history, row, strict=True):
            column.append(value)


@dataclass(frozen=True)
class Trade:
    """A completed trade, with its order; gain: cents of the holdings that it closed.

    Prices and amounts in cents; day: the moment at which its day begins.
    """

    number: int
    gain: int
    day: datetime
    rank: int
    account: int
    security: int
    type: int
    quantity: int
    price: int
    bid: int
    second: int
    delay_s: int
    lifo: bool
    cash: bool
    commission: int

    @property
    def completed(self) -> datetime:
        """By the market."""
        return self.day + timedelta(seconds=self.second)

    @property
    def ordered(self) -> datetime:
        """By the customer."""
        return self.completed - timedelta(seconds=self.delay_s)

    @property
    def charge(self) -> int:
        """The broker's, by type and tier."""
        return charge_cents(self.type, tier_of(self.rank))

    @property
    def tax(self) -> int:
        """On a gain, where the account is taxed."""
        taxed = self.gain > 0 and tax_status_of(self.account)
        return tax_cents(self.gain, owner_of(self.account)) if taxed else 0

    @property
    def amount(self) -> int:
        """What it brings to the account: negative when bought. Withheld taxes are gone."""
        fees, value = self.charge + self.commission, self.quantity * self.price
        withheld = self.tax if tax_status_of(self.account) == 1 else 0
        # sold: market, limit or stop-loss
        return (value - fees if self.type in (1, 3, 4) else -(value + fees)) - withheld


@dataclass(frozen=True)
class Past:
    """All days: orders by day, each with commissions; holdings as they are now."""

    days: tuple[tuple[Orders, Integers], ...]
    holdings: Holdings

    def trades(self) -> Iterator[Trade]:
        """In the order of their completion."""
        number = 1
        for day, (orders, commissions) in enumerate(self.days):
            columns = (*vars(orders).values(), commissions)
            for row in zip(*(column.tolist() for column in columns), strict=True):
                yield Trade(number, self.holdings.gains[number - 1], _OPENED + timedelta(days=day), *row)
                number += 1

    def moment(self, trade: int) -> datetime:
        """When it was completed."""
        day, row = divmod(trade - 1, len(self.days[0][0].account))
        return _OPENED + timedelta(days=day, seconds=int(self.days[day][0].second[row]))

    def brokers(self) -> dict[int, tuple[int, int]]:
        """By broker, the number of trades and the sum of commissions (cents)."""
        totals: dict[int, tuple[int, int]] = {}
        for orders, commissions in self.days:
            accounts, places = np.unique(orders.account, return_inverse=True)
            counts = np.bincount(places).tolist()
            sums = np.bincount(places, weights=commissions).tolist()
            for account, count, total in zip(accounts.tolist(), counts, sums, strict=True):
                broker = broker_of(account)
                before = totals.get(broker, (0, 0))
                totals[broker] = before[0] + count, before[1] + int(total)
        return totals


@lru_cache(maxsize=1)
def past_of(scale: Scale) -> Past:
    """Simulates all days; of one scale it is kept, as eight tables come from it."""
    days: list[tuple[Orders, Integers]] = []
    holdings, first = Holdings(), 1
    for day in range(scale.days):
        orders = orders_of(scale, day)
        holdings.trade(orders, first)
        first += len(orders.account)
        days.append((orders, _commissions(orders)))
    return Past(tuple(days), holdings)


def _commissions(orders: Orders) -> Integers:
    """Cents, rounded as the transactions round: half to even."""
    rates = np.array([[rate_of(tier, quantity) for quantity in QUANTITIES] for tier in (1, 2, 3)])
    tier = (orders.rank >= 200).astype(np.int64) + (orders.rank >= 800)
    rate = rates[tier, np.searchsorted(np.array(QUANTITIES), orders.quantity)]
    return np.rint(rate * orders.quantity * orders.price / 10_000).astype(np.int64)
