"""What trades make of holdings: each closes what is open on the other side, and opens what is left.

A holding is the open part of a trade: positive when bought, negative when sold without having it.
"""

from __future__ import annotations

from array import array
from collections import deque
from dataclasses import dataclass, field

import numpy as np

from steelyard.workloads.brokerage.orders import Orders

Positions = dict[tuple[int, int], deque[tuple[int, int, int]]]


def _columns() -> tuple[array[int], ...]:
    return tuple(array("q") for _ in range(4))


@dataclass
class Holdings:
    """open: by account and security, trade, quantity and price (cents) of each holding, the oldest first.

    history: columns trade, holding, quantity before, after. gains: cents of each trade's closed holdings.
    """

    open: Positions = field(default_factory=Positions)
    history: tuple[array[int], ...] = field(default_factory=_columns)
    gains: array[int] = field(default_factory=lambda: array("q"))

    def trade(self, orders: Orders, first: int) -> None:
        """Trades in the order of their completion; first: number of the first of them."""
        signed = np.where(orders.buys, orders.quantity, -orders.quantity)
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
