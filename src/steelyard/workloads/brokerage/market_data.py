"""Rows of the tables that trades do not change, but for last_trade: securities, companies, fixed tables."""

from collections.abc import Callable, Iterator
from datetime import date, timedelta
from functools import cache

from steelyard.workloads.brokerage.orders import RANGES, charge_cents, rate_millionths, rate_of
from steelyard.workloads.brokerage.past import FIRST_DAY
from steelyard.workloads.brokerage.scale import (
    INDUSTRIES,
    SECTORS,
    TAX_RATES,
    Scale,
    price_cents,
    symbol,
)
from steelyard.workloads.brokerage.schema import EXCHANGES, TRADE_TYPES
from steelyard.workloads.chance import Chance, money

DAYS = 1_305  # five years of 261 days
_SEED = 20_260_102

Lines = Iterator[str]


def _status_type(_: Scale) -> Lines:
    names = (
        ("CMPT", "Completed"),
        ("ACTV", "Active"),
        ("SBMT", "Submitted"),
        ("PNDG", "Pending"),
        ("CNCL", "Canceled"),
    )
    return (f"{status},{name}\n" for status, name in names)


def _trade_type(_: Scale) -> Lines:
    return (f"{kind},{name},{sells},{market}\n" for kind, name, sells, market in TRADE_TYPES)


def _taxrate(_: Scale) -> Lines:
    return (f"{tax_id(n)},Tax rate {n:03},{rate_millionths(n) / 1e6:.5f}\n" for n in range(1, TAX_RATES + 1))


def tax_id(number: int) -> str:
    """Key of a tax rate."""
    return f"X{number:03}"


def _exchange(scale: Scale) -> Lines:
    each = scale.securities // len(EXCHANGES)
    return (
        f"{name},Exchange {name},{each},930,1600,Securities of {name},{n}\n"
        for n, name in enumerate(EXCHANGES, 1)
    )


def _sector(_: Scale) -> Lines:
    return (f"{n:02},Sector {n:02}\n" for n in range(1, SECTORS + 1))


def _industry(_: Scale) -> Lines:
    return (
        f"{_industry_id(n)},Industry {n:03},{(n - 1) % SECTORS + 1:02}\n" for n in range(1, INDUSTRIES + 1)
    )


def _industry_id(number: int) -> str:
    first, second = divmod(number - 1, 26)
    return chr(65 + first) + chr(65 + second)


def _charge(scale: Scale) -> Lines:
    for kind, (name, _, _, _) in enumerate(TRADE_TYPES):
        for tier in (1, 2, 3):
            yield f"{name},{tier},{charge_cents(kind, tier) / 100:.2f}\n"


def _commission_rate(scale: Scale) -> Lines:
    for tier in (1, 2, 3):
        for name, _, _, _ in TRADE_TYPES:
            for exchange in EXCHANGES:
                for low, high in RANGES:
                    yield f"{tier},{name},{exchange},{low},{high},{rate_of(tier, low) / 100:.2f}\n"


def _company(scale: Scale) -> Lines:
    chance = Chance([_SEED, *b"company"], scale.companies)
    columns = zip(chance.texts(10, 40), chance.texts(50, 150), strict=True)
    for n, (ceo, text) in enumerate(columns, 1):
        industry = _industry_id((n - 1) % INDUSTRIES + 1)
        yield f"{n},ACTV,Company {n:06},{industry},A{n % 5},{ceo},{n},{text},{1950 + n % 50}-01-15\n"


def _security(scale: Scale) -> Lines:
    chance = Chance([_SEED, *b"security"], scale.securities)
    columns = zip(
        chance.texts(20, 60),
        chance.integers(4_000_000, 9_500_000_000).tolist(),
        money(chance.integers(100, 12_000)),
        money(chance.integers(0, 1_000)),
        money(chance.integers(0, 12_000)),
        strict=True,
    )
    for n, (name, number_out, pe, dividend, percent) in enumerate(columns, 1):
        company = (n - 1) % scale.companies + 1
        issue = "COMMON" if n <= scale.companies else "PREF_A"
        yield (
            f"{symbol(n)},{issue},ACTV,{name},{EXCHANGES[n % len(EXCHANGES)]},{company},{number_out},"
            f"{1970 + n % 40}-03-01,{1980 + n % 40}-03-01,{pe},30.00,2024-11-01,20.00,2024-05-01,{dividend},"
            f"{percent}\n"
        )


def _last_trade(scale: Scale) -> Lines:
    moment = f"{FIRST_DAY + timedelta(days=scale.days - 1)} 17:00:00"
    for n in range(1, scale.securities + 1):
        price = f"{price_cents(n, 0) / 100:.2f}"
        yield f"{symbol(n)},{moment},{price},{price},0\n"


@cache
def days_before() -> tuple[str, ...]:
    """Dates of daily_market, the oldest first: weekdays before the first day of trades."""
    found: list[date] = []
    day = FIRST_DAY
    while len(found) < DAYS:
        day -= timedelta(days=1)
        if day.weekday() < 5:
            found.append(day)
    return tuple(map(str, reversed(found)))


def _daily_market(scale: Scale) -> Lines:
    dates = days_before()
    for n in range(1, scale.securities + 1):
        chance = Chance([_SEED, *b"daily", n], DAYS)
        closes, below, above = chance.integers(2_000, 3_000), chance.integers(0, 200), chance.integers(0, 200)
        volumes = chance.integers(1_000, 10_000).tolist()
        prices = zip(money(closes), money(closes + above), money(closes - below), strict=True)
        own = symbol(n)
        for day, (close, high, low), volume in zip(dates, prices, volumes, strict=True):
            yield f"{own},{day},{close},{high},{low},{volume}\n"


MARKET_TABLES: dict[str, Callable[[Scale], Lines]] = {
    "status_type": _status_type,
    "trade_type": _trade_type,
    "taxrate": _taxrate,
    "exchange": _exchange,
    "sector": _sector,
    "industry": _industry,
    "charge": _charge,
    "commission_rate": _commission_rate,
    "company": _company,
    "security": _security,
    "last_trade": _last_trade,
    "daily_market": _daily_market,
}
