"""Order entry at a PostgreSQL at an address: in a schema of the lab's own, which comes anew for each run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from laboratory import Lab
from servers import Server, postgres

from steelyard.bundle.reader import Bundle
from steelyard.errors import InputError
from steelyard.study.load_study import parse_study, plan_study
from steelyard.subjects import check

STUDY = """\
name = "there"
question = "?"
[subject]
kind = "postgres"
dsn = "host={host} port={port} user=postgres dbname=postgres"
{restore}
[workload]
kind = "{kind}"
[factors.isolation]
scope = "session"
setting = "default_transaction_isolation"
levels = {{ RC = "read committed", RR = "repeatable read" }}
[plan]
clients = [4]
warm_up_s = 0.2
measure_s = 1
cool_down_s = 0
blocks = 1
turns = false
"""
RELOAD = 'restore = "reload"\nwrites = true'


def text(restore: str = RELOAD, kind: str = "order-entry", host: str = "x", port: int = 1) -> str:
    return STUDY.format(restore=restore, kind=kind, host=host, port=port)


def refused(study: str) -> str:
    with pytest.raises(InputError) as error:
        check(*plan_study(study, "study.toml"))
    return f"{error.value}; {error.value.hint}"


def test_without_the_choice_it_is_refused_with_the_way_to_choose() -> None:
    found = refused(text(restore=""))
    assert "the lab cannot restore its data" in found and 'restore = "reload"' in found


def test_the_choice_is_refused_where_it_does_nothing() -> None:
    assert "runs add nothing to the data" in refused(text(kind="lookup"))
    with pytest.raises(InputError, match=r"subject\.restore: has no effect: there is no dsn"):
        parse_study(text().replace('dsn = "host=x', '# "'), "study.toml")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with postgres() as running:
        yield running


def test_each_run_has_the_data_as_loaded_and_nothing_of_them_stays(lab: Lab, server: Server) -> None:
    # a table of the same name elsewhere is not touched
    server.ask("create table warehouse (untouched int)")
    study = lab.folder / "there.toml"
    study.write_text(text(host=str(server.folder), port=server.port))
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    bundle = Bundle(lab.bundle)
    assert bundle.columns("select status from runs")["status"].tolist() == ["done"] * 2
    rows = bundle.columns("select run, value from samples where entity = 'orders' and metric = 'rows_loaded'")
    assert rows["value"].tolist() == [30_000] * 2
    assert server.ask("select count(*) from pg_namespace where nspname = 'steelyard_load'") == 0
    assert server.ask("select count(*) from warehouse") == 0


def test_a_schema_that_is_not_the_labs_stays_and_stops_the_study(lab: Lab, server: Server) -> None:
    server.ask("create schema steelyard_load")
    server.ask("create table steelyard_load.mine (a int)")
    study = lab.folder / "there.toml"
    study.write_text(text(host=str(server.folder), port=server.port))
    done = lab.run("run", study, "--bundle", lab.bundle)
    said = " ".join((done.stdout + done.stderr).split())
    assert done.returncode != 0 and "a schema steelyard_load that Steelyard did not make" in said
    assert server.ask("select count(*) from steelyard_load.mine") == 0
    server.ask("drop schema steelyard_load cascade")
