"""Steps that draw what a transaction is about: the customer, an account, a security, past trades."""

from __future__ import annotations

from typing import Any

from steelyard.workloads.brokerage.scale import (
    ACCOUNT_STEP,
    ACCOUNTS,
    BROKERS,
    PHASE_STEP,
    PRICE_MIN,
    PRICE_SPAN,
    RANK_FACTOR,
    SECURITIES_MIN,
    SECURITIES_SPAN,
    TIER_1,
    TIER_2,
    UNIT,
    UNIT_STEP,
    WAVE_MS,
    Scale,
)
from steelyard.workloads.steps import Step, Steps, execute, nurand, put, uniform, when

# NURand over numbers of past trades, of the kits' shape: half of the draws near others
_TRADES_A = 65_535
_EXPONENT_MS = 1_000  # mean delay of the market
_DELAY_MS_MAX = 5_000


def customer(scale: Scale) -> Steps:
    """The customer `c`, its `rank`, its `accounts`; tiers get 10, 60 and 30 %, with a skew within."""
    drawn: Any = ["mul", 0.0001, "drawn"]
    first = _ceiling(["sub", ["sqrt", ["add", 22_500, ["mul", 500, drawn]]], 151], 0, TIER_1 - 1)
    second = _ceiling(["sub", ["sqrt", ["add", 290_000, ["mul", 1_000, drawn]]], 501], TIER_1, TIER_2 - 1)
    third = _ceiling(["add", ["sqrt", ["sub", ["mul", 500, drawn], 277_500]], 149], TIER_2, UNIT - 1)
    rank = ["case", ["le", "drawn", 2_000_000], first, ["le", "drawn", 14_000_000], second, third]
    place = ["mod", ["add", ["mul", RANK_FACTOR, "rank"], ["mul", UNIT_STEP, ["add", "unit", 1]]], UNIT]
    return [
        put("unit", uniform(0, scale.units - 1)),
        put("drawn", uniform(1, 20_000_000)),
        put("rank", rank),
        put("c", ["add", ["mul", UNIT, "unit"], ["add", place, 1]]),
        put("accounts", _account_count()),
    ]


def account(scale: Scale) -> Steps:
    """A customer's account `a`."""
    first = ["mul", 10, ["sub", "c", 1]]
    return [*customer(scale), put("a", ["add", first, ["random", 1, "accounts"]])]


def security_of_account(scale: Scale) -> Steps:
    """One of the account's securities: number `s`, `symbol`."""
    securities = ["add", SECURITIES_MIN, ["mod", "a", SECURITIES_SPAN]]
    place = ["random", 0, ["sub", securities, 1]]
    number = ["mod", ["add", ["mul", ACCOUNT_STEP, "a"], place], scale.securities]
    return [put("s", ["add", number, 1]), symbol()]


def security(scale: Scale) -> Steps:
    """Any security: number `s`, `symbol`."""
    return [put("s", uniform(1, scale.securities)), symbol()]


def symbol(number: Any = "s") -> Step:
    """The `symbol` of a security."""
    return _name("symbol", "S", number, 6)


def tax_number(value: str, customer_number: Any) -> Step:
    """The number by which taxes know a customer."""
    return _name(value, "T", customer_number, 9)


def person(customer_number: Any) -> Steps:
    """`last_name`, `first_name` and `tax_number` of a customer."""
    return [
        _name("last_name", "Last", customer_number, 9),
        _name("first_name", "First", customer_number, 9),
        tax_number("tax_number", customer_number),
    ]


def company_of_security(scale: Scale) -> Steps:
    """`company_name` and `issue` of the security `s`."""
    number = ["add", ["mod", ["sub", "s", 1], scale.companies], 1]
    preferred = ["case", ["gt", "s", scale.companies], 2, 1]
    return [
        _name("company_name", "Company ", number, 6),
        {"do": "pick", "value": "issue", "from": ["COMMON", "PREF_A"], "number": preferred},
    ]


def sector_name(number: Any) -> Step:
    """The name of a `sector`."""
    return _name("sector", "Sector ", number, 2)


def industry_name(number: Any) -> Step:
    """The name of an `industry`."""
    return _name("industry", "Industry ", number, 3)


def broker_name(value: str, number: Any) -> Step:
    """The name of a broker."""
    return _name(value, "Broker ", number, 6)


def past_trade(value: str, scale: Scale, **distinct: str) -> Step:
    """The number of a trade as loaded, some much more often than others."""
    a = min(_TRADES_A, scale.trades)
    return nurand(value, a, 1, scale.trades, a // 3, **distinct)


def price_cents(number: Any) -> list[Any]:
    """What the market pays now for a security of this number: a triangular wave."""
    place = wave_place(number)
    way = ["least", place, ["sub", WAVE_MS, place]]
    return ["add", PRICE_MIN, ["div", ["mul", PRICE_SPAN, way], WAVE_MS // 2]]


def wave_place(number: Any) -> list[Any]:
    """Where a security is in its wave, ms."""
    return ["mod", ["add", ["elapsed-ms"], ["mul", PHASE_STEP, number]], WAVE_MS]


def market_delay_ms() -> list[Any]:
    """How long the market takes for an order: exponential of mean 1 s, at most 5 s."""
    share = ["mul", 0.000001, uniform(1, 1_000_000)]
    return ["least", _DELAY_MS_MAX, ["mul", -_EXPONENT_MS, ["ln", share]]]


def brokers(scale: Scale) -> Steps:
    """Names of 20 to 40 brokers, `broker1` to `brokerN`; of all where there are fewer."""
    most = broker_list_length(scale)
    least = min(20, scale.brokers)
    steps = [put("brokers", uniform(least, most))]
    for n in range(1, most + 1):
        draw = {"kind": "uniform", "low": 1, "high": scale.brokers}
        steps.append({"do": "draw", "value": f"b{n}", "from": draw, "distinct": "brokers"})
        # lists are as long as the longest: what is beyond the last repeats the first
        beyond = [when(["gt", n, "brokers"], [put(f"b{n}", "b1")])] if n > least else []
        steps += [*beyond, broker_name(f"broker{n}", f"b{n}")]
    return steps


def broker_list_length(scale: Scale) -> int:
    """The longest list of brokers."""
    return min(4 * BROKERS, scale.brokers)


def walk(statement: str, one: Steps, take: dict[str, str], passes: Any) -> Steps:
    """Holdings one by one, last in first out or first in first out, while `left` is not 0."""
    newest = execute(f"newest {statement}", take, rows="found")
    oldest = execute(f"oldest {statement}", take, rows="found")
    of_one = [when("lifo", [newest], [oldest]), when(["gt", "found", 0], one)]
    return [{"do": "loop", "times": passes, "index": "pass", "steps": [when(["gt", "left", 0], of_one)]}]


def _ceiling(of: Any, low: int, high: int) -> list[Any]:
    """The next whole number, within bounds."""
    return ["least", high, ["greatest", low, ["int", ["add", of, 0.5]]]]


def _account_count() -> list[Any]:
    def counts(number: int, first: int) -> list[Any]:
        own = ACCOUNTS[number]
        place = ["mod", ["sub", "rank", first], len(own)]
        pairs = [part for at, count in enumerate(own) for part in (["eq", place, at], count)]
        return ["case", *pairs]

    second = counts(1, TIER_1)
    return ["case", ["lt", "rank", TIER_1], counts(0, 0), ["lt", "rank", TIER_2], second, counts(2, TIER_2)]


def _name(value: str, prefix: str, number: Any, digits: int) -> Step:
    return {"do": "name", "value": value, "prefix": prefix, "number": number, "digits": digits}
