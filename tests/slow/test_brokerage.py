"""The brokerage on MariaDB; damage to it; its report."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from brokerage_on_server import (
    DAMAGED,
    STUDY,
    conditions_hold_in_the_data_as_loaded,
    damage_during_a_run_makes_it_void,
    the_market_follows_the_orders,
)
from laboratory import Lab
from loaded_server import Running, running
from needs import needs


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    needs("MariaDB")
    with running("mariadb", STUDY.format(kind="mariadb")) as found:
        yield found


def test_all_seven_conditions_hold_in_the_data_as_loaded(server: Running) -> None:
    conditions_hold_in_the_data_as_loaded(server)


def test_the_market_follows_the_orders_and_the_data_stay_consistent(server: Running) -> None:
    the_market_follows_the_orders(server)


@pytest.mark.parametrize("kind", ["postgres", "mariadb"])
def test_damage_during_a_run_makes_it_void_and_names_the_condition(lab: Lab, kind: str) -> None:
    needs(*["MariaDB"] if kind == "mariadb" else [])
    damage_during_a_run_makes_it_void(lab, kind)


def test_a_report_says_that_it_is_no_tpc_benchmark_and_gives_trade_results(lab: Lab) -> None:
    study = lab.folder / "brokerage.toml"
    study.write_text(DAMAGED.format(kind="postgres", damage="select 1"))
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    report = " ".join((lab.bundle / "report.html").read_text().split())
    for text in (" ".join(done.stdout.split()), report):
        assert "not a TPC benchmark; results are not comparable" in text
        assert "rows were added in each" in text and "tpsE" not in text
    assert "orders that the market has executed" in report
    assert "the market's delays of orders are longer than a turn" in " ".join(done.stderr.split())
