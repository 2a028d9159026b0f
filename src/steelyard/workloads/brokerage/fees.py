"""Charges, commissions and taxes: values of our own, of the specification's shape."""

from __future__ import annotations

from steelyard.workloads.brokerage.scale import TAX_RATES

# cents by tier, of market orders, stop-loss and limit orders
_CHARGES = {1: (450, 600, 550), 2: (400, 500, 450), 3: (250, 350, 300)}
_CHARGE_OF_TYPE = (0, 0, 2, 2, 1)
# hundredths of a per cent by tier; each further range of quantities costs less
_RATES = {1: 40, 2: 36, 3: 32}
RANGES = ((1, 200), (201, 500), (501, 2_000), (2_001, 999_999))
_LESS_BY_RANGE = (0, 4, 8, 16)

_COUNTRIES = 40


def charge_cents(kind: int, tier: int) -> int:
    """kind: number in TRADE_TYPES; tier: 1 to 3."""
    return _CHARGES[tier][_CHARGE_OF_TYPE[kind]]


def rate_of(tier: int, quantity: int) -> int:
    """Commission in hundredths of a per cent."""
    place = next(place for place, (low, high) in enumerate(RANGES) if low <= quantity <= high)
    return _RATES[tier] - _LESS_BY_RANGE[place]


def rate_millionths(number: int) -> int:
    """Of the rate of this number, 1 to TAX_RATES: tens of millionths are whole."""
    if number <= _COUNTRIES:
        return 100_000 + number * 5_000
    return 10_000 + (number - _COUNTRIES) * 250


def rates_of(customer: int) -> tuple[int, int]:
    """Numbers of the customer's two rates."""
    return customer % _COUNTRIES + 1, _COUNTRIES + 1 + customer % (TAX_RATES - _COUNTRIES)


def tax_cents(gain_cents: int, customer: int) -> int:
    """Of a gain, rounded down."""
    return gain_cents * sum(map(rate_millionths, rates_of(customer))) // 1_000_000
