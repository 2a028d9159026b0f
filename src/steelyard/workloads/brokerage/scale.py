"""How many there are of what, and what belongs to what; orders of the days before the data were loaded.

The generator of the data and the transactions agree on it by whole-number formulas,
which Python, numpy and the load engine's expressions compute alike.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

UNIT = 1_000  # customers of a load unit
TRADES_PER_DAY = 57_600  # of a load unit: 8 hours, 500 customers per trade a second
SECURITIES, COMPANIES, BROKERS = 685, 500, 10  # of a load unit
INDUSTRIES, SECTORS, TAX_RATES = 102, 12, 320
SECURITIES_MIN, SECURITIES_SPAN = 4, 13  # of an account: 4 to 16
QUANTITIES = (100, 200, 400, 800)

# the first customers of a unit by rank that are of tiers 1 and 2; the rest is of tier 3
TIER_1, TIER_2 = 200, 800
# accounts of a customer by rank within the tier, in turn: 2.5, 5 and 7.5 on average, and exactly
ACCOUNTS = ((1, 2, 3, 4), (5, 4, 6, 3, 7, 2, 8), (7, 8, 5, 10, 6, 9))
# ranks become numbers of customers by a permutation within the unit, and back
RANK_FACTOR, UNIT_STEP, RANK_BACK = 677, 33, 613
ACCOUNT_STEP = 31  # securities between those of one account and the next
WAVE_MS = 900_000  # a security's price goes up and down again
PRICE_MIN, PRICE_SPAN = 2_000, 1_000  # cents
PHASE_STEP = 104_729


@dataclass(frozen=True)
class Scale:
    """Customers, in units of 1,000; days of trades as loaded."""

    customers: int
    days: int

    @property
    def units(self) -> int:
        """Of 1,000 customers."""
        return self.customers // UNIT

    @property
    def trades(self) -> int:
        """As loaded."""
        return self.days * self.units * TRADES_PER_DAY

    @property
    def securities(self) -> int:
        """Numbered from 1, as companies and brokers."""
        return self.units * SECURITIES

    @property
    def companies(self) -> int:
        """Each has one security or two."""
        return self.units * COMPANIES

    @property
    def brokers(self) -> int:
        """Ten of each unit."""
        return self.units * BROKERS


def rank_of(customer: int) -> int:
    """0 to 999, within the customer's unit."""
    unit, place = divmod(customer - 1, UNIT)
    return RANK_BACK * (place - UNIT_STEP * (unit + 1)) % UNIT


def tier_of(rank: int) -> int:
    """1 to 3."""
    return 1 + (rank >= TIER_1) + (rank >= TIER_2)


def accounts_of(customer: int) -> range:
    """Numbers of the customer's accounts."""
    rank = rank_of(customer)
    tier = tier_of(rank)
    counts = ACCOUNTS[tier - 1]
    first = 10 * (customer - 1) + 1
    return range(first, first + counts[(rank - (0, TIER_1, TIER_2)[tier - 1]) % len(counts)])


def owner_of(account: int) -> int:
    """The customer."""
    return (account - 1) // 10 + 1


def broker_of(account: int) -> int:
    """The account's broker, of the customer's unit."""
    customer = owner_of(account)
    return BROKERS * ((customer - 1) // UNIT) + (customer + 3 * account) % BROKERS + 1


def tax_status_of(account: int) -> int:
    """0: none, 20 %; 1: withheld, 50 %; 2: paid by the customer, 30 %."""
    drawn = account * 7_919 % 10_007 % 10
    return (drawn >= 2) + (drawn >= 7)


def permitted(account: int, customers: int) -> list[int]:
    """Customers other than the owner who may trade for the account: none 60 %, one 38 %, two 2 %."""
    drawn, owner = account * 3_571 % 10_007 % 100, owner_of(account)
    return [(owner - 1 + 101 * step) % customers + 1 for step in range(1, 1 + (drawn >= 60) + (drawn >= 98))]


def symbol(security: int) -> str:
    """Symbol of a security by its number."""
    return f"S{security:06}"


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


Integers = NDArray[np.int64]

DAY_S = 28_800  # a day of trades
_SEED = 20_260_101
_LIFO_PERCENT, _MARGIN_PERCENT = 35, 16  # margin: of buys, 8 % of all
# per cent of orders up to which they are market buys, market sells, limit buys, limit sells, stop-loss
_TYPES_UP_TO = (30, 60, 80, 90)


@dataclass(frozen=True)
class Orders:
    """Columns of one day's orders, in the order of their completion; rank: of the customer in its unit.

    type: number in TRADE_TYPES; price, bid: cents; second: of its completion, of the day; delay_s: of it.
    """

    rank: Integers
    account: Integers
    security: Integers
    type: Integers
    quantity: Integers
    price: Integers
    bid: Integers
    second: Integers
    delay_s: Integers
    lifo: NDArray[np.bool_]
    cash: NDArray[np.bool_]


def buys(kind: Integers) -> NDArray[np.bool_]:
    """Whether these types of orders are market or limit buys."""
    return (kind == 0) | (kind == 2)


def orders_of(scale: Scale, day: int) -> Orders:
    """Orders of a day from 0; the same for every number of days."""
    rows = scale.units * TRADES_PER_DAY
    random = np.random.RandomState([_SEED, *b"orders", day])

    def whole(low: int, high: int) -> Integers:
        return random.randint(low, high + 1, rows, dtype=np.int64)

    unit = whole(0, scale.units - 1)
    rank = _ranks(whole(1, 20_000_000) / 10_000)
    customer = UNIT * unit + (RANK_FACTOR * rank + UNIT_STEP * (unit + 1)) % UNIT + 1
    account = 10 * (customer - 1) + _below(_account_counts(rank), random) + 1
    place = _below(SECURITIES_MIN + account % SECURITIES_SPAN, random)
    security = (account * ACCOUNT_STEP + place) % scale.securities + 1
    kind = np.searchsorted(np.array(_TYPES_UP_TO), whole(1, 100), side="left").astype(np.int64)
    second = np.arange(rows, dtype=np.int64) * DAY_S // rows
    price = prices_of(security, second * 1_000)
    limit = PRICE_MIN + whole(0, PRICE_SPAN)
    return Orders(
        rank=rank,
        account=account,
        security=security,
        type=kind,
        quantity=np.array(QUANTITIES, dtype=np.int64)[whole(0, 3)],
        price=price,
        bid=np.where(kind < 2, price, limit),
        second=second,
        delay_s=np.where(kind < 2, whole(1, 5), whole(6, 450)),
        lifo=whole(1, 100) <= _LIFO_PERCENT,
        cash=~(buys(kind) & (whole(1, 100) <= _MARGIN_PERCENT)),
    )


def _ranks(drawn: NDArray[np.float64]) -> Integers:
    """Ranks of customers: tiers 1, 2 and 3 have 10, 60 and 30 % of the orders, and a linear skew within."""
    first = np.clip(np.sqrt(22_500 + 500 * drawn) - 151, 0, TIER_1 - 1)
    second = np.clip(np.sqrt(290_000 + 1_000 * drawn) - 501, TIER_1, TIER_2 - 1)
    third = np.clip(149 + np.sqrt(np.maximum(500 * drawn - 277_500, 0)), TIER_2, UNIT - 1)
    whole: Any = np.ceil(np.where(drawn <= 200, first, np.where(drawn <= 1_400, second, third)))
    return whole.astype(np.int64)


def _account_counts(rank: Integers) -> Integers:
    one, two, three = (np.array(counts, dtype=np.int64) for counts in ACCOUNTS)
    counts = np.where(rank < TIER_2, two[(rank - TIER_1) % len(two)], three[(rank - TIER_2) % len(three)])
    return np.where(rank < TIER_1, one[rank % len(one)], counts)


def _below(limits: Integers, random: np.random.RandomState) -> Integers:
    """0 to one less than each limit."""
    return (random.random_sample(len(limits)) * limits).astype(np.int64)


def prices_of(security: Integers, ms: Integers | int) -> Integers:
    """In cents, 20.00 to 30.00: a triangular wave with a phase of its own for each security."""
    place = (ms + security * PHASE_STEP) % WAVE_MS
    return PRICE_MIN + np.minimum(place, WAVE_MS - place) * PRICE_SPAN // (WAVE_MS // 2)
