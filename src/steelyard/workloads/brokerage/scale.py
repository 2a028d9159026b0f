"""How many there are of what, and what belongs to what.

The generator of the data and the transactions agree on it by whole-number formulas,
which Python, numpy and the load engine's expressions compute alike.
"""

from dataclasses import dataclass

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
