"""Tax rates of customers: one of a country and one of a division of it."""

from __future__ import annotations

from steelyard.workloads.brokerage.scale import TAX_RATES

_COUNTRIES = 40


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
