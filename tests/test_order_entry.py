"""Order entry on real servers: its mix, its rules, consistency after runs, damage that makes a run void."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from laboratory import Lab
from loaded_server import Running, running
from mariadb_server import needs_mariadb
from steelyard.bundle.reader import Bundle

STUDY = """\
name = "orders"
question = "?"
subject = {{ kind = "{kind}", durability = "off" }}
[workload]
kind = "order-entry"
warehouses = 2
conditions = "all"
[factors.reads]
scope = "client"
levels = {{ SINGLE = "single", LIST = "list" }}
[factors.keys]
scope = "schema"
setting = "foreign_keys"
levels = {{ NONE = false, KEYS = true }}
[factors.home]
scope = "client"
levels = {{ FIXED = "fixed", FREE = "free" }}
[plan]
warm_up_s = 0
measure_s = 60
cool_down_s = 0
"""
# what the rows of a run are, whichever way they were read; moments apart
EFFECTS = (
    "select count(*), sum(ol_i_id), sum(ol_supply_w_id), sum(ol_quantity), sum(ol_amount) from order_line",
    "select sum(s_quantity), sum(s_ytd), sum(s_order_cnt), sum(s_remote_cnt) from stock",
    "select sum(o_all_local), sum(o_c_id), sum(o_carrier_id), sum(o_ol_cnt) from orders",
    "select sum(c_balance), sum(c_ytd_payment), sum(c_payment_cnt), sum(c_delivery_cnt) from customer",
    "select count(*), sum(no_o_id) from new_order",
    "select count(*) from order_line, stock where ol_o_id > 3000 and s_w_id = ol_supply_w_id"
    " and s_i_id = ol_i_id and ol_dist_info <> case ol_d_id when 1 then s_dist_01"
    " when 2 then s_dist_02 when 3 then s_dist_03 when 4 then s_dist_04 when 5 then s_dist_05"
    " when 6 then s_dist_06 when 7 then s_dist_07"
    " when 8 then s_dist_08 when 9 then s_dist_09 when 10 then s_dist_10 end",
)
EFFECTS_FOUND: dict[str, list[int]] = {}
SERIALIZABLE = {
    "postgres": "set session characteristics as transaction isolation level serializable",
    "mariadb": "set session transaction isolation level serializable",
}


@pytest.fixture(scope="module", params=["postgres", "mariadb"])
def server(request: pytest.FixtureRequest) -> Iterator[Running]:
    if request.param == "mariadb":
        needs_mariadb()
    with running(request.param, STUDY.format(kind=request.param)) as found:
        yield found


@pytest.mark.server
def test_all_twelve_conditions_hold_in_the_data_as_loaded(server: Running) -> None:
    server.start("SINGLE_NONE_FIXED")
    conditions = server.works["SINGLE_NONE_FIXED"].conditions
    assert len(conditions) == 12 and sum(one.after_runs for one in conditions) == 11
    assert server.violated("SINGLE_NONE_FIXED", after_runs=False) == []
    assert server.number("select count(*) from stock") == 200_000


@pytest.mark.server
def test_the_mix_is_exact_and_both_ways_to_read_have_the_same_effects(server: Running) -> None:
    found: list[list[int]] = []
    for label in ("SINGLE_NONE_FIXED", "LIST_NONE_FIXED"):
        server.start(label)
        loaded = server.number("select count(*) from orders")
        done = server.run(label, clients=1, transactions=400)
        assert {name: kind["count"] for name, kind in done.items()} == {
            "new-order": 180, "payment": 172, "order-status": 16, "delivery": 16, "stock-level": 16,
        }  # fmt: skip
        assert server.violated(label, after_runs=True) == []
        made = server.number("select count(*) from orders") - loaded
        assert made == 180 - done["new-order"]["rolled_back"]
        found.append(server.effects(EFFECTS))
    assert found[0] == found[1]
    # of the same seed on the other server, too
    assert EFFECTS_FOUND.setdefault("either", found[0]) == found[0]


@pytest.mark.server
def test_the_rules_of_the_specification_hold(server: Running) -> None:
    server.start("SINGLE_NONE_FREE")
    done = server.run("SINGLE_NONE_FREE", clients=4, transactions=4000)
    orders, payments = done["new-order"]["count"], done["payment"]["count"]
    assert 0.003 < done["new-order"]["rolled_back"] / orders < 0.02
    paid = "select count(*) from history where h_date > '2026-01-01 00:00:00'"
    remote = server.number(f"{paid} and h_c_w_id <> h_w_id")
    assert server.number(paid) >= payments and 0.12 < remote / payments < 0.18
    new = "from order_line where ol_o_id > 3000"
    lines = server.number(f"select count(*) {new}")
    assert abs(lines / (orders - done["new-order"]["rolled_back"]) - 10) < 0.5
    away = server.number(f"select count(*) {new} and ol_supply_w_id <> ol_w_id")
    assert 0.006 < away / lines < 0.015
    not_local = server.number("select count(*) from orders where o_id > 3000 and o_all_local = 0")
    ordered = server.number(f"select count(distinct ol_w_id * 1e8 + ol_d_id * 1e6 + ol_o_id) {new}"
                            " and ol_supply_w_id <> ol_w_id")  # fmt: skip
    assert ordered == not_local > 0
    assert server.number(f"select min(ol_quantity) {new}") == 1
    assert server.number(f"select max(ol_quantity) {new}") == 10
    # NURand: the tenth of the items that are chosen most often have far more than a tenth of the lines
    often = f"select count(*) as n {new} group by ol_i_id order by n desc limit 2000"
    assert server.number(f"select sum(n) from ({often}) as often") > 0.2 * lines
    assert server.number("select count(*) from customer where c_credit = 'BC' and length(c_data) = 500") > 0
    assert server.violated("SINGLE_NONE_FREE", after_runs=True) == []


@pytest.mark.server
def test_delivery_takes_the_oldest_orders_of_all_districts(server: Running) -> None:
    server.start("SINGLE_NONE_FIXED")
    done = server.run("SINGLE_NONE_FIXED", clients=1, transactions=100)
    assert done["delivery"]["count"] == 4
    # of one client, which stays in the first warehouse
    assert server.number("select count(*) from new_order where no_w_id = 1 and no_o_id <= 2104") == 0
    assert server.number("select count(*) from new_order where no_w_id = 1 and no_o_id = 2105") == 10
    assert server.number("select count(*) from new_order where no_w_id = 2") == 9_000
    assert server.number("select sum(c_delivery_cnt) from customer") == 40


@pytest.mark.server
def test_retries_are_counted_and_leave_the_data_consistent(server: Running) -> None:
    server.start("SINGLE_NONE_FREE")
    session = [SERIALIZABLE[server.kind]]
    done = server.run("SINGLE_NONE_FREE", clients=4, transactions=1500, session=session)
    # MariaDB lets most conflicts wait: a deadlock is rare here
    assert server.kind == "mariadb" or sum(kind["retries"] for kind in done.values()) > 0
    assert sum(kind["errors"] for kind in done.values()) == 0
    assert server.violated("SINGLE_NONE_FREE", after_runs=True) == []


@pytest.mark.server
def test_foreign_keys_are_a_level_of_scope_schema(server: Running) -> None:
    database = "current_schema()" if server.kind == "postgres" else "database()"
    keys = (
        "select count(*) from information_schema.table_constraints where constraint_type = 'FOREIGN KEY'"
        f" and table_schema = {database}"
    )
    server.start("SINGLE_KEYS_FIXED")
    assert server.number(keys) == 10
    server.run("SINGLE_KEYS_FIXED", clients=2, transactions=200)
    assert server.violated("SINGLE_KEYS_FIXED", after_runs=True) == []


DAMAGED = """\
name = "damaged"
question = "?"
subject = {{ kind = "{kind}", durability = "off" }}
[workload]
kind = "order-entry"
[factors.damage]
scope = "schema"
levels = {{ WHOLE = "", DAMAGED = "{damage}" }}
[plan]
clients = [2]
turns = {turns}
warm_up_s = 0
measure_s = 0.5
cool_down_s = 0
blocks = 1
"""
DAMAGES = {
    "postgres": (
        "create rule lost as on insert to new_order do instead nothing",
        "consistency condition 2 (d_next_o_id - 1 of a district is its greatest o_id, and no_o_id)",
    ),
    "mariadb": (
        "create trigger more before insert on orders for each row set new.o_ol_cnt = new.o_ol_cnt + 1",
        "consistency condition 4 (the sum of o_ol_cnt of a district is its number of order lines)",
    ),
}


@pytest.mark.server
@pytest.mark.parametrize(("kind", "turns"), [("postgres", "true"), ("mariadb", "false")])
def test_damage_during_a_run_makes_it_void_and_names_the_condition(lab: Lab, kind: str, turns: str) -> None:
    if kind == "mariadb":
        needs_mariadb()
    damage, condition = DAMAGES[kind]
    study = lab.folder / "damaged.toml"
    study.write_text(DAMAGED.format(kind=kind, damage=damage, turns=turns))
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode != 0
    said = " ".join(done.stderr.split())
    assert f"the data are inconsistent after the run: {condition} is violated" in said
    rows = Bundle(lab.bundle).columns("select option, status, cause from runs where status = 'void'")
    assert set(rows["option"].tolist()) == {"DAMAGED"}
    assert all(condition in cause for cause in rows["cause"].tolist())


@pytest.mark.server
def test_damage_of_the_data_as_loaded_stops_the_study_before_its_first_run(lab: Lab) -> None:
    study = lab.folder / "damaged.toml"
    damage = "update warehouse set w_ytd = w_ytd + 1"
    study.write_text(DAMAGED.format(kind="postgres", damage=damage, turns="true"))
    done = lab.run("run", study, "--bundle", lab.bundle)
    said = " ".join(done.stderr.split())
    assert "the data as loaded: consistency condition 1 (w_ytd of a warehouse is the sum of d_ytd)" in said
    assert "consistency condition 8" in said and done.returncode != 0


@pytest.mark.server
def test_a_report_says_that_it_is_no_tpc_benchmark_and_how_much_the_data_grew(lab: Lab) -> None:
    study = lab.folder / "orders.toml"
    study.write_text(DAMAGED.format(kind="postgres", damage="select 1", turns="true"))
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    report = " ".join((lab.bundle / "report.html").read_text().split())
    for text in (" ".join(done.stdout.split()), report):
        assert "not a TPC benchmark; results are not comparable" in text
        assert "rows were added in each" in text and "tpmC" not in text
    found = Bundle(lab.bundle).columns("select text from notices where code = 'data'")["text"].tolist()
    constants = "last names 208 in the data and 123 in the run, customers 259, items 7911"
    assert f"constants C of NURand: {constants}" in found
