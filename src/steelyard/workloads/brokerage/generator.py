"""The data as loaded, in CSV files of the same bytes for every server: customers, brokers, trades."""

from collections.abc import Callable, Iterator
from datetime import timedelta

from steelyard.workloads.brokerage.market_data import MARKET_TABLES, tax_id
from steelyard.workloads.brokerage.orders import rates_of
from steelyard.workloads.brokerage.past import past_of
from steelyard.workloads.brokerage.scale import (
    Scale,
    accounts_of,
    broker_of,
    owner_of,
    permitted,
    rank_of,
    symbol,
    tax_status_of,
    tier_of,
)
from steelyard.workloads.brokerage.schema import TRADE_TYPES
from steelyard.workloads.chance import Chance, money

_SEED = 20_260_103
_LIST_MIN, _LIST_MAX = 50, 150  # securities of a watch list

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


def _customer(scale: Scale) -> Lines:
    chance = Chance([_SEED, *b"customer"], scale.customers)
    phones = [chance.digits(11) for _ in range(3)]
    columns = zip(*phones, chance.texts(10, 30), chance.texts(10, 30), strict=True)
    for c, (*numbers, first_mail, second_mail) in enumerate(columns, 1):
        yield (
            f"{c},T{c:09},ACTV,Last{c:09},First{c:09},{tier_of(rank_of(c))},{1930 + c % 70}-06-15,{c},"
            f"{','.join(numbers)},{first_mail}@mail.example,{second_mail}@mail.example\n"
        )


def _customer_taxrate(scale: Scale) -> Lines:
    for c in range(1, scale.customers + 1):
        for number in rates_of(c):
            yield f"{c},{tax_id(number)}\n"


def _broker(scale: Scale) -> Lines:
    totals = past_of(scale).brokers()
    for b in range(1, scale.brokers + 1):
        count, cents = totals.get(b, (0, 0))
        yield f"{b},ACTV,Broker {b:06},{count},{cents // 100}.{cents % 100:02}\n"


def _accounts(scale: Scale) -> Iterator[int]:
    return (account for c in range(1, scale.customers + 1) for account in accounts_of(c))


def _customer_account(scale: Scale) -> Lines:
    accounts = list(_accounts(scale))
    chance = Chance([_SEED, *b"account"], len(accounts))
    columns = zip(accounts, chance.texts(20, 50), money(chance.integers(100_000, 999_999_999)), strict=True)
    for account, name, balance in columns:
        yield (
            f"{account},{broker_of(account)},{owner_of(account)},{name},{tax_status_of(account)},{balance}\n"
        )


def _account_permission(scale: Scale) -> Lines:
    for account in _accounts(scale):
        yield _permission(account, owner_of(account), "1111")
        for customer in permitted(account, scale.customers):
            yield _permission(account, customer, "0011")


def _permission(account: int, customer: int, acl: str) -> str:
    return f"{account},T{customer:09},{acl},Last{customer:09},First{customer:09}\n"


def _watch_list(scale: Scale) -> Lines:
    return (f"{c},{c}\n" for c in range(1, scale.customers + 1))


def _watch_item(scale: Scale) -> Lines:
    lengths = Chance([_SEED, *b"watch"], scale.customers).integers(_LIST_MIN, _LIST_MAX).tolist()
    for c, length in enumerate(lengths, 1):
        chance = Chance([_SEED, *b"watch", c], scale.securities)
        for security in sorted(chance.permutation()[:length].tolist()):
            yield f"{c},{symbol(security)}\n"


_ALL: dict[str, Callable[[Scale], Lines]] = {
    **MARKET_TABLES,
    "customer": _customer,
    "customer_taxrate": _customer_taxrate,
    "broker": _broker,
    "customer_account": _customer_account,
    "account_permission": _account_permission,
    "watch_list": _watch_list,
    "watch_item": _watch_item,
    "trade": _trade,
    "trade_history": _trade_history,
    "trade_request": _trade_request,
    "settlement": _settlement,
    "cash_transaction": _cash_transaction,
    "holding": _holding,
    "holding_summary": _holding_summary,
    "holding_history": _holding_history,
}


def lines(table: str, scale: Scale) -> Iterator[str]:
    """Lines of the CSV file of a table, without its header."""
    return _ALL[table](scale)
