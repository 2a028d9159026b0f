"""The data of order entry as loaded: numbers of rows, distributions, known answers of the specification."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from functools import cache
from itertools import islice

import pytest

from steelyard.errors import InputError
from steelyard.lab.rehearsal.statements import texts_key
from steelyard.study.load_study import plan_study
from steelyard.subjects import check
from steelyard.subjects.in_turns import why_one_after_another
from steelyard.subjects.statements_of_data import load_statements
from steelyard.workloads import work_of
from steelyard.workloads.chance import Chance
from steelyard.workloads.load_plan import anywhere, check_load
from steelyard.workloads.order_entry.generator import lines
from steelyard.workloads.order_entry.schema import SURNAMES, TABLES

C_LAST_NAME = 208
STUDY = """\
name = "orders"
question = "?"
subject.kind = "postgres"
[workload]
kind = "order-entry"
"""


KEYS = '[factors.keys]\nscope = "schema"\n'


@cache
def written(name: str) -> list[str]:
    """The lines of one warehouse."""
    return list(lines(name, 1, C_LAST_NAME))


def table(name: str) -> list[dict[str, str]]:
    names = TABLES[name].names
    return [dict(zip(names, line.rstrip("\n").split(","), strict=True)) for line in written(name)]


def refused(keys: str) -> str:
    with pytest.raises(InputError) as error:
        plan_study(STUDY + keys, "orders.toml")
    return str(error.value)


@pytest.mark.parametrize("name", TABLES)
def test_a_warehouse_has_the_rows_of_the_specification(name: str) -> None:
    expected = {
        "warehouse": 1, "district": 10, "customer": 30_000, "history": 30_000, "orders": 30_000,
        "new_order": 9_000, "item": 100_000, "stock": 100_000,
    }  # fmt: skip
    found = len(written(name))
    assert (
        found == TABLES[name].count(1) == expected[name] if name in expected else abs(found - 300_000) < 1_500
    )


def test_last_names_are_those_of_the_specification() -> None:
    # clause 4.3.2.3 has 371 as its example
    assert SURNAMES[371] == "PRICALLYOUGHT" and SURNAMES[40] == "BARPRESBAR"
    assert len(set(SURNAMES)) == 1000 and SURNAMES[999] == "EINGEINGEING"


def test_customers_are_those_of_the_specification() -> None:
    found = table("customer")
    district = [row for row in found if row["c_d_id"] == "4"]
    assert [int(row["c_id"]) for row in district] == list(range(1, 3001))
    assert tuple(row["c_last"] for row in district[:1000]) == SURNAMES
    assert Counter(row["c_credit"] for row in found) == {"GC": 27_000, "BC": 3_000}
    lengths = [len(row["c_data"]) for row in found]
    assert min(lengths) == 300 and max(lengths) == 500 and abs(sum(lengths) / 30_000 - 400) < 2
    firsts = {len(row["c_first"]) for row in found}
    assert firsts == set(range(8, 17))
    assert all(re.fullmatch(r"\d{16}", row["c_phone"]) for row in found)
    assert all(re.fullmatch(r"\d{4}11111", row["c_zip"]) for row in found)
    assert {(row["c_balance"], row["c_ytd_payment"], row["c_middle"]) for row in found} == {
        ("-10.00", "10.00", "OE")
    }
    assert all(0 <= float(row["c_discount"]) <= 0.5 for row in found)


def test_orders_are_of_every_customer_once_and_the_last_900_are_new() -> None:
    found = [row for row in table("orders") if row["o_d_id"] == "7"]
    customers = [int(row["o_c_id"]) for row in found]
    assert sorted(customers) == list(range(1, 3001)) and customers != sorted(customers)
    assert [row["o_id"] for row in found if row["o_carrier_id"] == "NULL"] == [
        str(number) for number in range(2101, 3001)
    ]
    counts = Counter(int(row["o_ol_cnt"]) for row in found)
    assert set(counts) == set(range(5, 16)) and max(counts.values()) < 1.4 * min(counts.values())
    new = [row["no_o_id"] for row in table("new_order") if row["no_d_id"] == "7"]
    assert new == [str(number) for number in range(2101, 3001)]


def test_lines_are_those_of_their_orders() -> None:
    orders = {(row["o_d_id"], row["o_id"]): row for row in table("orders")}
    found = table("order_line")
    counts = Counter((row["ol_d_id"], row["ol_o_id"]) for row in found)
    assert {key: int(row["o_ol_cnt"]) for key, row in orders.items()} == counts
    for row in found:
        delivered = int(row["ol_o_id"]) <= 2100
        assert (row["ol_delivery_d"] == "NULL") != delivered
        assert (row["ol_amount"] == "0.00") == delivered and float(row["ol_amount"]) <= 9999.99
        assert row["ol_supply_w_id"] == row["ol_w_id"] and row["ol_quantity"] == "5"
    assert len({row["ol_i_id"] for row in found}) > 90_000
    assert all(len(row["ol_dist_info"]) == 24 for row in found)


@pytest.mark.parametrize(("name", "column"), [("item", "i_data"), ("stock", "s_data")])
def test_a_tenth_of_items_and_stocks_is_original(name: str, column: str) -> None:
    found = table(name)
    assert sum("ORIGINAL" in row[column] for row in found) == 10_000
    assert {len(row[column]) for row in found} == set(range(26, 51))
    if name == "item":
        assert all(1 <= float(row["i_price"]) <= 100 for row in found)
        assert all(1 <= int(row["i_im_id"]) <= 10_000 for row in found)
    else:
        assert {int(row["s_quantity"]) for row in found} == set(range(10, 101))
        assert len({row["s_dist_10"] for row in found}) == 100_000


def test_totals_agree_from_the_beginning() -> None:
    assert [row["w_ytd"] for row in table("warehouse")] == ["300000.00"]
    assert [row["d_ytd"] for row in table("district")] == ["30000.00"] * 10
    assert {row["d_next_o_id"] for row in table("district")} == {"3001"}
    assert all(0 <= float(row["d_tax"]) <= 0.2 for row in table("district"))


def test_the_first_warehouse_is_the_same_in_every_scale() -> None:
    for name in ("district", "orders", "stock"):
        one = written(name)
        assert list(islice(lines(name, 2, C_LAST_NAME), len(one))) == one


def test_the_bytes_are_the_same_with_every_version_of_numpy() -> None:
    # of this generator, when it was made: numpy keeps the stream of RandomState
    digest = hashlib.sha256()
    for name in TABLES:
        for line in written(name)[:2000]:
            digest.update(line.encode())
    assert digest.hexdigest() == "5047ccc33ce59e26e738b27867cd12d1c6592eb4c633cbaa70210e14e86b043d"


def test_nurand_has_the_distribution_of_its_formula() -> None:
    exact = Counter(((a | x) + C_LAST_NAME) % 1000 for a in range(256) for x in range(1000))
    numbers: list[int] = Chance([1], 200_000).nurand(255, 0, 999, C_LAST_NAME).tolist()
    drawn = Counter(numbers)
    assert sum(abs(drawn[n] / 200_000 - exact[n] / 256_000) for n in range(1000)) < 0.06
    assert max(exact.values()) > 50 * min(exact[n] for n in exact)


@pytest.mark.parametrize(("loaded", "run"), [(208, 208), (208, 112), (208, 96), (100, 36), (0, 120)])
def test_constants_of_last_names_keep_their_distance(loaded: int, run: int) -> None:
    message = refused(f"constants = {{ last_name_loaded = {loaded}, last_name = {run} }}")
    assert "must differ by 65 to 119, and by neither 96 nor 112" in message


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ("warehouses = 0", "warehouses"),
        ('[factors.home]\nscope = "client"\nlevels = { A = "fixed", B = "anywhere" }', "home"),
        (f'{KEYS}setting = "foreign"\nlevels = {{ A = true, B = false }}', 'no setting "foreign"; did you'),
        (f'{KEYS}setting = "foreign_keys"\nlevels = {{ A = 1, B = 0 }}', "expected true or false"),
    ],
)
def test_what_the_workload_does_not_have_is_refused(keys: str, words: str) -> None:
    assert words in refused(keys)


def test_more_warehouses_than_the_disk_has_room_for_are_refused_with_a_number_that_fits() -> None:
    _, options = plan_study(f"{STUDY}warehouses = 10_000", "orders.toml")
    with pytest.raises(InputError, match=r"a scale of 10,000 warehouses needs about 4e\+03 GB") as error:
        work_of(options[0].workload)
    assert re.fullmatch(r"warehouses = \d+ fits", str(error.value.hint))


def test_a_server_at_an_address_is_refused_as_its_data_cannot_be_restored() -> None:
    text = STUDY.replace('subject.kind = "postgres"', 'subject = { kind = "postgres", dsn = "host=nowhere" }')
    study, options = plan_study(text, "orders.toml")
    with pytest.raises(InputError, match="the lab cannot restore its data for each block"):
        check(study, options)
    with pytest.raises(InputError, match="are loaded from files: warehouse, district, customer") as error:
        load_statements(study)
    assert str(error.value.hint).startswith("leave subject.dsn out")


def test_the_statements_of_both_ways_to_read_are_tried_before_the_first_run() -> None:
    levels = '[factors.reads]\nscope = "client"\nlevels = { A = "single", B = "list" }'
    _, options = plan_study(STUDY + levels, "orders.toml")
    texts = [{one.sql for one in work_of(option.workload).statements.values()} for option in options]
    assert sum("from item where i_id in (" in sql for sql in texts[1] - texts[0]) == 1
    assert len({texts_key(option, work_of(option.workload)) for option in options}) == 2


def test_all_ways_to_work_are_plans_of_the_engine() -> None:
    for warehouses in (1, 3):
        for keys in ('reads = "list"', 'home = "free"\nwaits = true', 'handle = "none"\nmix = "weights"'):
            study, options = plan_study(f"{STUDY}warehouses = {warehouses}\n{keys}", "orders.toml")
            work = work_of(options[0].workload)
            for protocol in ("postgres", "mysql"):
                check_load(study, options[0], work, anywhere(protocol))
            waits = [(one.keying_ms, one.think_ms) for one in work.transactions.values()]
            specified = [(18e3, 12e3), (3e3, 12e3), (2e3, 10e3), (2e3, 5e3), (2e3, 5e3)]
            assert waits == (specified if "waits" in keys else [(0, 0)] * 5)
            assert bool(why_one_after_another(study, options * 2)) == ("waits" in keys)
            assert [one.weight for one in work.transactions.values()] == [45, 43, 4, 4, 4]
            assert len(work.files) == 9 and len(work.conditions) == 12
            assert "not a TPC benchmark" in work.remarks[0] and "tpmC" not in "".join(work.remarks)
