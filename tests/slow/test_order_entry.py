"""Order entry on MariaDB: its mix, its rules, consistency after runs; damage that stops a study or a run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from laboratory import Lab
from loaded_server import Running, running
from needs import needs
from order_entry_on_server import (
    DAMAGED,
    EFFECTS_KNOWN,
    STUDY,
    conditions_and_deliveries_hold,
    damage_during_a_run_makes_it_void,
    foreign_keys_are_a_level_of_scope_schema,
    reading_by_lists_has_the_same_effects,
    retries_are_counted_and_leave_the_data_consistent,
    the_rules_of_the_specification_hold,
)

from steelyard.bundle.reader import Bundle


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    needs("MariaDB")
    with running("mariadb", STUDY.format(kind="mariadb")) as found:
        yield found


def test_the_mix_is_exact_keeps_the_conditions_and_has_the_known_effects(server: Running) -> None:
    assert conditions_and_deliveries_hold(server) == EFFECTS_KNOWN


def test_reading_by_lists_has_the_same_effects(server: Running) -> None:
    reading_by_lists_has_the_same_effects(server, EFFECTS_KNOWN)


def test_the_rules_of_the_specification_hold(server: Running) -> None:
    the_rules_of_the_specification_hold(server)


def test_retries_are_counted_and_leave_the_data_consistent(server: Running) -> None:
    retries_are_counted_and_leave_the_data_consistent(server)


def test_foreign_keys_are_a_level_of_scope_schema(server: Running) -> None:
    foreign_keys_are_a_level_of_scope_schema(server)


@pytest.mark.needs("MariaDB")
def test_damage_during_a_run_makes_it_void_and_names_the_condition(lab: Lab) -> None:
    damage_during_a_run_makes_it_void(lab, "mariadb", turns="false")


def test_damage_of_the_data_as_loaded_stops_the_study_before_its_first_run(lab: Lab) -> None:
    study = lab.folder / "damaged.toml"
    damage = "update warehouse set w_ytd = w_ytd + 1"
    study.write_text(DAMAGED.format(kind="postgres", damage=damage, turns="true"))
    done = lab.run("run", study, "--bundle", lab.bundle)
    said = " ".join(done.stderr.split())
    assert "the data are inconsistent as loaded: consistency condition 1 (w_ytd of a warehouse" in said
    assert "consistency condition 8" in said and done.returncode != 0


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
