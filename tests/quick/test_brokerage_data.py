"""The data of the brokerage as loaded: ratios of growth, distributions, consistency, the same bytes."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from functools import cache
from itertools import islice

import pytest

from steelyard.errors import InputError
from steelyard.study.load_study import plan_study
from steelyard.subjects.in_turns import why_one_after_another
from steelyard.workloads import work_of
from steelyard.workloads.brokerage.generator import lines
from steelyard.workloads.brokerage.past import Holdings
from steelyard.workloads.brokerage.scale import Scale, accounts_of, orders_of, rank_of, tier_of
from steelyard.workloads.brokerage.schema import TABLES
from steelyard.workloads.load_plan import anywhere, check_load

SMALL = Scale(1_000, 1)
OF_300_DAYS = {"holding", "holding_history", "holding_summary"}
STUDY = """\
name = "brokerage"
question = "?"
subject.kind = "postgres"
[plan]
clients = [8]
[workload]
kind = "brokerage"
"""


@cache
def written(name: str) -> list[str]:
    return list(lines(name, SMALL))


def table(name: str) -> list[dict[str, str]]:
    text = "".join(written(name)).splitlines()
    return [dict(zip(TABLES[name].names, line.split(","), strict=True)) for line in text]


@pytest.mark.parametrize("name", sorted(set(TABLES) - OF_300_DAYS))
def test_tables_grow_by_the_ratios_of_the_specification(name: str) -> None:
    found = sum(line.count("\n") for line in written(name))
    expected = TABLES[name].count(SMALL.customers, SMALL.trades)
    assert abs(found - expected) <= 0.02 * expected


def test_customers_of_the_tiers_have_their_share_of_accounts_and_orders() -> None:
    tiers = Counter(tier_of(rank_of(c)) for c in range(1, 1_001))
    assert tiers == {1: 200, 2: 600, 3: 200}
    assert Counter(row["c_tier"] for row in table("customer")) == {"1": 200, "2": 600, "3": 200}
    counts = defaultdict[int, list[int]](list)
    for c in range(1, 1_001):
        counts[tier_of(rank_of(c))].append(len(accounts_of(c)))
    assert [(min(counts[tier]), max(counts[tier]), sum(counts[tier])) for tier in (1, 2, 3)] == [
        (1, 4, 500), (2, 8, 3_000), (5, 10, 1_500),
    ]  # fmt: skip
    ranks = orders_of(SMALL, 0).rank
    shares = [((ranks >= low) & (ranks < high)).mean() for low, high in ((0, 200), (200, 800), (800, 1_000))]
    assert all(abs(share - due) < 0.01 for share, due in zip(shares, (0.1, 0.6, 0.3), strict=True))
    # within a tier the later ranks have more
    assert (ranks >= 500).sum() > 1.2 * (ranks < 500).sum()


def test_orders_have_the_types_and_quantities_of_the_specification() -> None:
    orders = orders_of(SMALL, 0)
    found: Counter[int] = Counter(orders.type.tolist())
    due = {0: 0.3, 1: 0.3, 2: 0.2, 3: 0.1, 4: 0.1}
    assert all(abs(found[kind] / 57_600 - share) < 0.01 for kind, share in due.items())
    assert set(orders.quantity.tolist()) == {100, 200, 400, 800}
    assert abs(orders.lifo.mean() - 0.35) < 0.01
    assert orders.price.min() >= 2_000 and orders.price.max() <= 3_000
    securities = defaultdict[int, set[int]](set)
    for account, security in zip(orders.account.tolist(), orders.security.tolist(), strict=True):
        securities[account].add(security)
    assert max(map(len, securities.values())) <= 18


def test_holdings_result_from_trades_last_or_first_in_first_out() -> None:
    holdings = Holdings()
    rows = [(1, 1, 100, 10, False), (1, 1, 200, 20, False), (1, 1, -150, 30, False), (1, 1, -100, 40, True)]
    gains = [holdings._one(number, *row) for number, row in enumerate(rows, 1)]  # pyright: ignore[reportPrivateUsage]
    # the third closes the first and a quarter of the second; the fourth, last in first out, two thirds of it
    assert gains == [0, 0, 100 * 20 + 50 * 10, 100 * 20]
    assert list(holdings.open[1, 1]) == [(2, 50, 20)]
    assert list(zip(*holdings.history, strict=True)) == [
        (1, 1, 0, 100), (2, 2, 0, 200), (3, 1, 100, 0), (3, 2, 200, 150), (4, 2, 150, 50),
    ]  # fmt: skip
    # what is sold beyond it is a short position, which a purchase closes
    assert holdings._one(5, 1, 1, -80, 50, False) == 50 * 30  # pyright: ignore[reportPrivateUsage]
    assert list(holdings.open[1, 1]) == [(5, -30, 50)]
    assert holdings._one(6, 1, 1, 30, 40, False) == 30 * 10 and not holdings.open[1, 1]  # pyright: ignore[reportPrivateUsage]


def test_the_tables_of_a_trade_agree() -> None:
    trades = {row["t_id"]: row for row in table("trade")}
    brokers = {row["ca_id"]: row["ca_b_id"] for row in table("customer_account")}
    done = defaultdict[str, list[float]](list)
    for row in trades.values():
        done[brokers[row["t_ca_id"]]].append(float(row["t_comm"]))
    for row in table("broker"):
        assert int(row["b_num_trades"]) == len(done[row["b_id"]])
        assert float(row["b_comm_total"]) == pytest.approx(sum(done[row["b_id"]]), abs=1e-6)
    assert [row["se_t_id"] for row in table("settlement")] == list(trades)
    cash = [row["ct_t_id"] for row in table("cash_transaction")]
    assert cash == [number for number, row in trades.items() if row["t_is_cash"] == "1"]
    states = defaultdict[str, list[str]](list)
    for row in table("trade_history"):
        states[row["th_t_id"]].append(row["th_st_id"])
    for number, row in trades.items():
        market = row["t_tt_id"] in ("TMB", "TMS")
        assert states[number] == (["SBMT", "CMPT"] if market else ["PNDG", "SBMT", "CMPT"])
    held = defaultdict[tuple[str, str], int](int)
    for row in table("holding"):
        held[row["h_ca_id"], row["h_s_symb"]] += int(row["h_qty"])
    summary = {(row["hs_ca_id"], row["hs_s_symb"]): int(row["hs_qty"]) for row in table("holding_summary")}
    assert summary == held


def test_the_first_days_are_the_same_in_every_number_of_days() -> None:
    one = written("trade")
    assert list(islice(lines("trade", Scale(1_000, 2)), len(one))) == one


def test_the_bytes_are_the_same_with_every_version_of_numpy() -> None:
    digest = hashlib.sha256()
    for name in TABLES:
        for line in written(name)[:2_000]:
            digest.update(line.encode())
    assert digest.hexdigest() == "ce3a8d921161104fce23ef01f3b9926cc371c27fb19ec5b91f72380e367a0fbf"


def test_the_market_is_clients_of_their_own_and_the_mix_that_of_the_others() -> None:
    study, options = plan_study(STUDY, "brokerage.toml")
    work = work_of(options[0].workload)
    weights = {name: one.weight for name, one in work.transactions.items()}
    assert weights == {
        "trade-status": 190, "market-watch": 180, "security-detail": 140, "customer-position": 130,
        "trade-order": 101, "trade-lookup": 80, "broker-volume": 49, "trade-update": 20, "trade-result": 0,
        "market-feed": 0,
    }  # fmt: skip
    for protocol in ("postgres", "mysql"):
        check_load(study, options[0], work, anywhere(protocol))
    assert len(work.files) == 27 and [one.after_runs for one in work.conditions] == [True] * 3 + [False] * 4
    assert "not a TPC benchmark" in work.remarks[0] and "tpsE" not in "".join(work.remarks)
    assert why_one_after_another(study, options * 2)
    study, options = plan_study(STUDY.replace("[8]", "[3]"), "brokerage.toml")
    with pytest.raises(InputError, match="3 clients execute a transaction of their own: needs more than 3"):
        check_load(study, options[0], work_of(options[0].workload), anywhere("postgres"))


@pytest.mark.parametrize(
    ("keys", "words"),
    [("customers = 1_500", "customers"), ("days = 301", "days"), ("result_clients = 0", "result_clients")],
)
def test_what_the_workload_does_not_have_is_refused(keys: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        plan_study(STUDY + keys, "brokerage.toml")


def test_more_than_the_disk_has_room_for_is_refused() -> None:
    _, options = plan_study(f"{STUDY}customers = 100_000\ndays = 300", "brokerage.toml")
    with pytest.raises(InputError, match="a scale of 100,000 customers and 300 days needs about"):
        work_of(options[0].workload)
