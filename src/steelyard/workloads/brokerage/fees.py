"""Charges and commissions: values of our own, of the specification's shape."""

from __future__ import annotations

# cents by tier, of market orders, stop-loss and limit orders
_CHARGES = {1: (450, 600, 550), 2: (400, 500, 450), 3: (250, 350, 300)}
_CHARGE_OF_TYPE = (0, 0, 2, 2, 1)
# hundredths of a per cent by tier; each further range of quantities costs less
_RATES = {1: 40, 2: 36, 3: 32}
RANGES = ((1, 200), (201, 500), (501, 2_000), (2_001, 999_999))
_LESS_BY_RANGE = (0, 4, 8, 16)


def charge_cents(kind: int, tier: int) -> int:
    """kind: number in TRADE_TYPES; tier: 1 to 3."""
    return _CHARGES[tier][_CHARGE_OF_TYPE[kind]]


def rate_of(tier: int, quantity: int) -> int:
    """Commission in hundredths of a per cent."""
    place = next(place for place, (low, high) in enumerate(RANGES) if low <= quantity <= high)
    return _RATES[tier] - _LESS_BY_RANGE[place]
