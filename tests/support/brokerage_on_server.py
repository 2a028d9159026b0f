"""Claims about the brokerage on a server, and studies of it whose data are damaged."""

from __future__ import annotations

from laboratory import Lab
from loaded_server import Running

from steelyard.bundle.reader import Bundle

STUDY = """\
name = "brokerage"
question = "?"
subject = {{ kind = "{kind}", durability = "off" }}
[workload]
kind = "brokerage"
conditions = "all"
mix = "deck"
[plan]
clients = [8]
warm_up_s = 0
measure_s = 60
cool_down_s = 0
"""
NEW = "t_id > 57600"
SERIALIZABLE = {
    "postgres": "set session characteristics as transaction isolation level serializable",
    "mariadb": "set session transaction isolation level serializable",
}


def conditions_hold_in_the_data_as_loaded(server: Running) -> None:
    server.start(server.kind)
    assert len(server.works[server.kind].conditions) == 7
    assert server.violated(server.kind, after_runs=False) == []
    assert server.number("select count(*) from daily_market") == 893_925


def the_market_follows_the_orders(server: Running) -> None:
    """Limit orders wait for their price; the data stay consistent, also at serializable with its retries."""
    server.start(server.kind)
    done = server.run(server.kind, clients=8, transactions=6_000)
    assert sum(kind["errors"] for kind in done.values()) == 0
    customers = sum(
        kind["count"] for name, kind in done.items() if name not in ("trade-result", "market-feed")
    )
    # five clients take cards from decks of 890
    assert abs(done["trade-status"]["count"] / customers - 190 / 890) < 0.03
    assert abs(done["trade-order"]["count"] / customers - 101 / 890) < 0.03
    results, orders = done["trade-result"]["count"], done["trade-order"]["count"]
    assert 0 < results <= orders
    # one feed per ten results; where the run ends, some of them wait for it
    assert results / 20 < done["market-feed"]["count"] <= results / 10 + 2
    assert server.number(f"select count(*) from trade where {NEW} and t_st_id = 'CMPT'") >= results
    assert (
        server.number(f"select count(*) from trade where {NEW}")
        >= orders - done["trade-order"]["rolled_back"]
    )
    assert server.violated(server.kind, after_runs=True) == []
    limits = f"{NEW} and t_tt_id in ('TLB', 'TLS', 'TSL')"
    # all of them were pending first, and some went to the market
    for state, of in (("PNDG", limits), ("SBMT", f"{limits} and t_st_id <> 'PNDG'")):
        without = (
            f"select count(*) from trade where {of} and not exists"
            f" (select 1 from trade_history where th_t_id = t_id and th_st_id = '{state}')"
        )
        assert server.number(without) == 0
    assert server.number(f"select count(*) from trade where {limits} and t_st_id = 'CMPT'") > 0
    assert server.number("select count(*) from trade_request") > 0
    # market orders cost what the market paid, between 20.00 and 30.00
    paid = f"select count(*) from trade where {NEW} and t_trade_price not between 20 and 30"
    assert server.number(paid) == 0
    fees = f"select count(*) from trade where {NEW} and t_st_id = 'CMPT' and (t_comm <= 0 or t_chrg <= 0)"
    assert server.number(fees) == 0
    # each run takes the same numbers for its trades
    server.start(server.kind)
    session = [SERIALIZABLE[server.kind]]
    done = server.run(server.kind, clients=12, transactions=2_000, session=session)
    assert sum(kind["errors"] for kind in done.values()) == 0
    assert server.violated(server.kind, after_runs=True) == []


DAMAGED = """\
name = "damaged"
question = "?"
subject = {{ kind = "{kind}", durability = "off" }}
[workload]
kind = "brokerage"
[factors.damage]
scope = "schema"
levels = {{ WHOLE = "", DAMAGED = "{damage}" }}
[plan]
clients = [8]
warm_up_s = 0
measure_s = 3
cool_down_s = 0
blocks = 1
"""
DAMAGES = {
    "postgres": (
        "create rule lost as on update to broker do instead nothing",
        "consistency condition 1 (b_num_trades of a broker is the number of completed trades)",
    ),
    "mariadb": (
        "create trigger more before insert on holding for each row set new.h_qty = new.h_qty + 100",
        "consistency condition 3 (hs_qty of an account and security is the sum of h_qty)",
    ),
}


def damage_during_a_run_makes_it_void(lab: Lab, kind: str) -> None:
    damage, condition = DAMAGES[kind]
    study = lab.folder / "damaged.toml"
    study.write_text(DAMAGED.format(kind=kind, damage=damage))
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode != 0
    said = " ".join(done.stderr.split())
    assert f"the data are inconsistent after the run: {condition} is violated" in said
    rows = Bundle(lab.bundle).columns("select option, status, cause from runs where status = 'void'")
    assert set(rows["option"].tolist()) == {"DAMAGED"}
