"""Steps that draw what a transaction is about: the customer, an account, a security, past trades."""

from steelyard.workloads import Step, Steps, execute, nurand, put, tree, when
from steelyard.workloads.brokerage.scale import (
    ACCOUNT_STEP,
    ACCOUNTS,
    BROKERS,
    PHASE_STEP,
    PRICE_MIN,
    PRICE_SPAN,
    QUANTITIES,
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

# NURand over numbers of past trades, of the kits' shape: half of the draws near others
_TRADES_A = 65_535


def puts(**values: str | int) -> Steps:
    """Gives each value what an expression makes, one after another."""
    return [put(value, to) for value, to in values.items()]


def account(scale: Scale) -> Steps:
    """Customer `c`, its `rank`, `accounts`, and one of these, `a`; tiers: 10, 60, 30 %, skewed within."""
    drawn = "(0.0001 * :drawn)"
    first = _ceiling(f"sqrt(22500 + 500 * {drawn}) - 151", 0, TIER_1 - 1)
    second = _ceiling(f"sqrt(290000 + 1000 * {drawn}) - 501", TIER_1, TIER_2 - 1)
    third = _ceiling(f"sqrt(500 * {drawn} - 277500) + 149", TIER_2, UNIT - 1)
    rank = f"case when :drawn <= 2000000 then {first} when :drawn <= 14000000 then {second} else {third} end"
    return puts(
        unit=f"random(0, {scale.units - 1})",
        drawn="random(1, 20000000)",
        rank=rank,
        c=f"{UNIT} * :unit + (({RANK_FACTOR} * :rank + {UNIT_STEP} * (:unit + 1)) % {UNIT} + 1)",
        accounts=_account_count(),
        a="10 * (:c - 1) + random(1, :accounts)",
    )


def security_of_account(scale: Scale) -> Steps:
    """One of the account's securities: number `s`, `symbol`."""
    place = f"random(0, {SECURITIES_MIN} + :a % {SECURITIES_SPAN} - 1)"
    return [put("s", f"({ACCOUNT_STEP} * :a + {place}) % {scale.securities} + 1"), symbol()]


def security(scale: Scale) -> Steps:
    """Any security: number `s`, `symbol`."""
    return [put("s", f"random(1, {scale.securities})"), symbol()]


def symbol() -> Step:
    """The `symbol` of the security `s`."""
    return name("symbol", "S", ":s", 6)


def tax_number(customer_number: str) -> Step:
    """The `tax_number`, by which taxes know a customer."""
    return name("tax_number", "T", customer_number, 9)


def past_trade(value: str, scale: Scale, **distinct: str) -> Step:
    """The number of a trade as loaded, some much more often than others."""
    a = min(_TRADES_A, scale.trades)
    return nurand(value, a, 1, scale.trades, a // 3, **distinct)


def price_cents() -> str:
    """What the market pays now for the security `s`: a triangular wave."""
    place = wave_place()
    return f"{PRICE_MIN} + {PRICE_SPAN} * least({place}, {WAVE_MS} - {place}) / {WAVE_MS // 2}"


def wave_place() -> str:
    """Where the security `s` is in its wave, ms."""
    return f"(elapsed_ms() + {PHASE_STEP} * :s) % {WAVE_MS}"


def brokers(scale: Scale) -> Steps:
    """Names of 20 to 40 brokers, `broker1` to `brokerN`; of all where there are fewer."""
    most = broker_list_length(scale)
    least = min(20, scale.brokers)
    steps = [put("brokers", f"random({least}, {most})")]
    for n in range(1, most + 1):
        draw = {"kind": "uniform", "low": 1, "high": scale.brokers}
        steps.append({"do": "draw", "value": f"b{n}", "from": draw, "distinct": "brokers"})
        # lists are as long as the longest: what is beyond the last repeats the first
        beyond = [when(f"{n} > :brokers", [put(f"b{n}", ":b1")])] if n > least else []
        steps += [*beyond, name(f"broker{n}", "Broker ", f":b{n}", 6)]
    return steps


def broker_list_length(scale: Scale) -> int:
    """The longest list of brokers."""
    return min(4 * BROKERS, scale.brokers)


def walk(one: Steps, more: dict[str, str]) -> Steps:
    """Holdings one by one, LIFO or FIFO, while `left` is not 0. more: columns beside quantity and price."""
    take = {**more, "holding": "h_qty", "paid": "h_price"}
    newest, oldest = (execute(f"{which} holding", take, rows="found") for which in ("newest", "oldest"))
    of_one = [when(":lifo", [newest], [oldest]), when(":found > 0", one)]
    # quantities are multiples of the least: no trade closes more holdings
    passes = QUANTITIES[-1] // QUANTITIES[0]
    return [{"do": "loop", "times": passes, "index": "pass", "steps": [when(":left > 0", of_one)]}]


def _ceiling(of: str, low: int, high: int) -> str:
    return f"least({high}, greatest({low}, int({of} + 0.5)))"


def _account_count() -> str:
    def counts(number: int, first: int) -> str:
        own = ACCOUNTS[number]
        place = f"(:rank - {first}) % {len(own)}"
        return (
            "case " + " ".join(f"when {place} = {at} then {count}" for at, count in enumerate(own)) + " end"
        )

    second, third = counts(1, TIER_1), counts(2, TIER_2)
    return (
        f"case when :rank < {TIER_1} then {counts(0, 0)} when :rank < {TIER_2} then {second} else {third} end"
    )


def name(value: str, prefix: str, number: str, digits: int) -> Step:
    """A text and a number of so many digits."""
    return {"do": "name", "value": value, "prefix": prefix, "number": tree(number), "digits": digits}
