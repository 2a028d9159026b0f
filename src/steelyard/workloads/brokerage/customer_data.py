"""Rows of customers, their accounts, permissions and watch lists, and of brokers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from steelyard.workloads.brokerage.market_data import tax_id
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
from steelyard.workloads.brokerage.taxes import rates_of
from steelyard.workloads.chance import Chance, money

_SEED = 20_260_103
_LIST_MIN, _LIST_MAX = 50, 150  # securities of a watch list

Lines = Iterator[str]


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


CUSTOMER_TABLES: dict[str, Callable[[Scale], Lines]] = {
    "customer": _customer,
    "customer_taxrate": _customer_taxrate,
    "broker": _broker,
    "customer_account": _customer_account,
    "account_permission": _account_permission,
    "watch_list": _watch_list,
    "watch_item": _watch_item,
}
