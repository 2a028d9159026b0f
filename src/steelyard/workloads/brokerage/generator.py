"""The data as loaded, in CSV files of the same bytes for every server.

Securities, companies and fixed tables do not change by trades, but for last_trade; then customers to trades.
"""

from collections.abc import Iterator
from datetime import date, timedelta
from functools import cache

import numpy as np

from steelyard.workloads.brokerage.past import FIRST_DAY, past_of
from steelyard.workloads.brokerage.scale import (
    INDUSTRIES,
    RANGES,
    SECTORS,
    TAX_RATES,
    Scale,
    accounts_of,
    broker_of,
    charge_cents,
    owner_of,
    permitted,
    prices_of,
    rank_of,
    rate_millionths,
    rate_of,
    rates_of,
    symbol,
    tax_status_of,
    tier_of,
)
from steelyard.workloads.brokerage.schema import EXCHANGES, TRADE_TYPES
from steelyard.workloads.chance import Chance, money

DAYS = 1_305  # five years of 261 days
_SEED_OF_MARKET, _SEED = 20_260_102, 20_260_103
_LIST_MIN, _LIST_MAX = 50, 150  # securities of a watch list
Lines = Iterator[str]


def lines(table: str, scale: Scale) -> Lines:
    """Lines of the CSV file of a table, without its header."""
    return getattr(_Tables(scale), table)()


class _Tables:
    def __init__(self, scale: Scale) -> None:
        self._scale = scale

    def status_type(self) -> Lines:
        names = "CMPT,Completed ACTV,Active SBMT,Submitted PNDG,Pending CNCL,Canceled"
        return (f"{name}\n" for name in names.split())

    def trade_type(self) -> Lines:
        return (f"{kind},{name},{sells},{market}\n" for kind, name, sells, market in TRADE_TYPES)

    def taxrate(self) -> Lines:
        return (f"X{n:03},Tax rate {n:03},{rate_millionths(n) / 1e6:.5f}\n" for n in range(1, TAX_RATES + 1))

    def exchange(self) -> Lines:
        each = self._scale.securities // len(EXCHANGES)
        return (
            f"{name},Exchange {name},{each},930,1600,Securities of {name},{n}\n"
            for n, name in enumerate(EXCHANGES, 1)
        )

    def sector(self) -> Lines:
        return (f"{n:02},Sector {n:02}\n" for n in range(1, SECTORS + 1))

    def industry(self) -> Lines:
        return (
            f"{_industry_id(n)},Industry {n:03},{(n - 1) % SECTORS + 1:02}\n"
            for n in range(1, INDUSTRIES + 1)
        )

    def charge(self) -> Lines:
        for kind, (name, *_) in enumerate(TRADE_TYPES):
            for tier in (1, 2, 3):
                yield f"{name},{tier},{charge_cents(kind, tier) / 100:.2f}\n"

    def commission_rate(self) -> Lines:
        for tier in (1, 2, 3):
            for name, *_ in TRADE_TYPES:
                for exchange in EXCHANGES:
                    for low, high in RANGES:
                        yield f"{tier},{name},{exchange},{low},{high},{rate_of(tier, low) / 100:.2f}\n"

    def company(self) -> Lines:
        chance = Chance([_SEED_OF_MARKET, *b"company"], self._scale.companies)
        columns = zip(chance.texts(10, 40), chance.texts(50, 150), strict=True)
        for n, (ceo, text) in enumerate(columns, 1):
            industry = _industry_id((n - 1) % INDUSTRIES + 1)
            yield f"{n},ACTV,Company {n:06},{industry},A{n % 5},{ceo},{n},{text},{1950 + n % 50}-01-15\n"

    def security(self) -> Lines:
        chance = Chance([_SEED_OF_MARKET, *b"security"], self._scale.securities)
        columns = zip(
            chance.texts(20, 60),
            chance.integers(4_000_000, 9_500_000_000).tolist(),
            money(chance.integers(100, 12_000)),
            money(chance.integers(0, 1_000)),
            money(chance.integers(0, 12_000)),
            strict=True,
        )
        for n, (name, number_out, pe, dividend, percent) in enumerate(columns, 1):
            company = (n - 1) % self._scale.companies + 1
            issue = "COMMON" if n <= self._scale.companies else "PREF_A"
            yield (
                f"{symbol(n)},{issue},ACTV,{name},{EXCHANGES[n % len(EXCHANGES)]},{company},{number_out},"
                f"{1970 + n % 40}-03-01,{1980 + n % 40}-03-01,{pe},30.00,2024-11-01,20.00,2024-05-01,"
                f"{dividend},{percent}\n"
            )

    def last_trade(self) -> Lines:
        moment = f"{FIRST_DAY + timedelta(days=self._scale.days - 1)} 17:00:00"
        numbers = np.arange(1, self._scale.securities + 1)
        for n, price in enumerate(money(prices_of(numbers, 0)), 1):
            yield f"{symbol(n)},{moment},{price},{price},0\n"

    def daily_market(self) -> Lines:
        dates = days_before()
        for n in range(1, self._scale.securities + 1):
            chance = Chance([_SEED_OF_MARKET, *b"daily", n], DAYS)
            closes = chance.integers(2_000, 3_000)
            below, above = chance.integers(0, 200), chance.integers(0, 200)
            volumes = chance.integers(1_000, 10_000).tolist()
            prices = zip(money(closes), money(closes + above), money(closes - below), strict=True)
            own = symbol(n)
            for day, (close, high, low), volume in zip(dates, prices, volumes, strict=True):
                yield f"{own},{day},{close},{high},{low},{volume}\n"

    def trade(self) -> Lines:
        for t in past_of(self._scale).trades():
            owner = owner_of(t.account)
            yield (
                f"{t.number},{t.completed},CMPT,{TRADE_TYPES[t.type][0]},{int(t.cash)},{symbol(t.security)},{t.quantity},"
                f"{_cents(t.bid)},{t.account},First{owner:09}"
                f" Last{owner:09},{_cents(t.price)},{_cents(t.charge)},"
                f"{_cents(t.commission)},{_cents(t.tax)},{int(t.lifo)}\n"
            )

    def trade_history(self) -> Lines:
        for t in past_of(self._scale).trades():
            if not TRADE_TYPES[t.type][3]:
                yield f"{t.number},PNDG,{t.ordered}\n"
            submitted = t.ordered if TRADE_TYPES[t.type][3] else t.completed - timedelta(seconds=1)
            yield f"{t.number},SBMT,{submitted}\n{t.number},CMPT,{t.completed}\n"

    def trade_request(self) -> Lines:
        return iter(())

    def settlement(self) -> Lines:
        for t in past_of(self._scale).trades():
            kind = "Cash Account" if t.cash else "Margin"
            yield f"{t.number},{kind},{t.completed.date() + timedelta(days=2)},{_cents(t.amount)}\n"

    def cash_transaction(self) -> Lines:
        for t in past_of(self._scale).trades():
            if t.cash:
                name = f"{TRADE_TYPES[t.type][1]} {t.quantity} shares of {symbol(t.security)}"
                yield f"{t.number},{t.completed},{_cents(t.amount)},{name}\n"

    def holding(self) -> Lines:
        past = past_of(self._scale)
        for (account, security), of_pair in sorted(past.holdings.open.items()):
            for trade, quantity, price in of_pair:
                moment, cents = past.moment(trade), _cents(price)
                yield f"{trade},{account},{symbol(security)},{moment},{cents},{quantity}\n"

    def holding_summary(self) -> Lines:
        for (account, security), of_pair in sorted(past_of(self._scale).holdings.open.items()):
            if of_pair:
                yield f"{account},{symbol(security)},{sum(quantity for _, quantity, _ in of_pair)}\n"

    def holding_history(self) -> Lines:
        rows = zip(*past_of(self._scale).holdings.history, strict=True)
        return (f"{trade},{holding},{before},{after}\n" for trade, holding, before, after in rows)

    def customer(self) -> Lines:
        chance = Chance([_SEED, *b"customer"], self._scale.customers)
        phones = [chance.digits(11) for _ in range(3)]
        columns = zip(*phones, chance.texts(10, 30), chance.texts(10, 30), strict=True)
        for c, (*numbers, first_mail, second_mail) in enumerate(columns, 1):
            yield (
                f"{c},T{c:09},ACTV,Last{c:09},First{c:09},{tier_of(rank_of(c))},{1930 + c % 70}-06-15,{c},"
                f"{','.join(numbers)},{first_mail}@mail.example,{second_mail}@mail.example\n"
            )

    def customer_taxrate(self) -> Lines:
        for c in range(1, self._scale.customers + 1):
            for number in rates_of(c):
                yield f"{c},X{number:03}\n"

    def broker(self) -> Lines:
        totals = past_of(self._scale).brokers()
        for b in range(1, self._scale.brokers + 1):
            count, cents = totals.get(b, (0, 0))
            yield f"{b},ACTV,Broker {b:06},{count},{cents // 100}.{cents % 100:02}\n"

    def customer_account(self) -> Lines:
        accounts = list(_accounts(self._scale))
        chance = Chance([_SEED, *b"account"], len(accounts))
        columns = zip(
            accounts, chance.texts(20, 50), money(chance.integers(100_000, 999_999_999)), strict=True
        )
        for account, name, balance in columns:
            yield (
                f"{account},{broker_of(account)},{owner_of(account)},{name},{tax_status_of(account)},{balance}\n"
            )

    def account_permission(self) -> Lines:
        for account in _accounts(self._scale):
            yield _permission(account, owner_of(account), "1111")
            for customer in permitted(account, self._scale.customers):
                yield _permission(account, customer, "0011")

    def watch_list(self) -> Lines:
        return (f"{c},{c}\n" for c in range(1, self._scale.customers + 1))

    def watch_item(self) -> Lines:
        lengths = Chance([_SEED, *b"watch"], self._scale.customers).integers(_LIST_MIN, _LIST_MAX).tolist()
        for c, length in enumerate(lengths, 1):
            chance = Chance([_SEED, *b"watch", c], self._scale.securities)
            for security in sorted(chance.permutation()[:length].tolist()):
                yield f"{c},{symbol(security)}\n"


def _accounts(scale: Scale) -> Iterator[int]:
    return (account for c in range(1, scale.customers + 1) for account in accounts_of(c))


def _industry_id(number: int) -> str:
    first, second = divmod(number - 1, 26)
    return chr(65 + first) + chr(65 + second)


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


def _cents(cents: int) -> str:
    return f"{'-' if cents < 0 else ''}{abs(cents) // 100}.{abs(cents) % 100:02}"


def _permission(account: int, customer: int, acl: str) -> str:
    return f"{account},T{customer:09},{acl},Last{customer:09},First{customer:09}\n"
