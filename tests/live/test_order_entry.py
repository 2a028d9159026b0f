"""Order entry on PostgreSQL: its mix, its rules, consistency after runs, damage that makes a run void."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from laboratory import Lab
from loaded_server import Running, running
from order_entry_on_server import (
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

IN_TURNS = """\
name = "isolation"
question = "?"
subject = { kind = "postgres", durability = "off" }
[workload]
kind = "order-entry"
warehouses = 1
deadline_ms = 120_000
[factors.isolation]
scope = "session"
setting = "default_transaction_isolation"
levels = { RR = "repeatable read", SER = "serializable" }
[plan]
clients = [8]
warm_up_s = 1
measure_s = 1
cool_down_s = 0
blocks = 1
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running("postgres", STUDY.format(kind="postgres")) as found:
        yield found


def test_the_mix_is_exact_keeps_the_conditions_and_has_the_known_effects(server: Running) -> None:
    assert conditions_and_deliveries_hold(server) == EFFECTS_KNOWN


def test_reading_by_lists_has_the_same_effects(server: Running) -> None:
    reading_by_lists_has_the_same_effects(server, EFFECTS_KNOWN)


def test_the_rules_of_the_specification_hold(server: Running) -> None:
    the_rules_of_the_specification_hold(server)


def test_retries_are_counted_and_leave_the_data_consistent(server: Running) -> None:
    retries_are_counted_and_leave_the_data_consistent(server)


def test_in_turns_begins_less_transactions_are_retries(lab: Lab) -> None:
    study = lab.folder / "isolation.toml"
    study.write_text(IN_TURNS)
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    assert "take turns" in done.stderr
    counts = Bundle(lab.bundle).columns(
        "select sum(count + errors) as ended, sum(retries) as retries, (select sum(count) from latency"
        " where statement = 'begin' and latency.run = transactions.run) as begins"
        " from transactions group by run"
    )
    assert sum(counts["retries"]) > 0
    assert (counts["begins"] - counts["ended"]).tolist() == counts["retries"].tolist()


def test_foreign_keys_are_a_level_of_scope_schema(server: Running) -> None:
    foreign_keys_are_a_level_of_scope_schema(server)


def test_damage_during_a_run_makes_it_void_and_names_the_condition(lab: Lab) -> None:
    damage_during_a_run_makes_it_void(lab, "postgres", turns="true")
