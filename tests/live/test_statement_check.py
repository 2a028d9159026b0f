"""Statements that cannot run are errors of the study, before the first run, with the server's words."""

from __future__ import annotations

from pathlib import Path

import pytest
import servers
from in_process import assert_done, measured
from laboratory import Lab
from mariadb_server import mariadb
from tried_statements import FACTOR, LINE, own_study, refuses_the_statement

from steelyard.bundle.reader import Bundle


def with_dsn(study: Path, dsn: str) -> None:
    study.write_text(
        study.read_text().replace("\n\n[workload]", f'\ndsn = "{dsn}"\nwrites = true\n\n[workload]', 1)
    )


@pytest.mark.parametrize(
    ("subject", "words"),
    [
        ("postgres", 'relation "nowhere" does not exist (42P01)'),
        pytest.param(
            "mariadb",
            "Table 'steelyard.nowhere' doesn't exist (42S02)",
            marks=pytest.mark.needs("MariaDB"),
        ),
        ("sqlite", "no such table: nowhere"),
    ],
)
def test_a_statement_that_cannot_run_is_an_error_with_its_line_and_leaves_no_bundle(
    lab: Lab, subject: str, words: str
) -> None:
    refuses_the_statement(lab, subject, "select 1 from nowhere", words)


def test_a_statement_of_a_file_is_named_by_the_files_line(lab: Lab) -> None:
    (lab.folder / "sql").mkdir()
    (lab.folder / "sql" / "top.sql").write_text("-- the best ones\n\nselect lacking\nfrom item\n")
    refused = lab.run("run", own_study(lab.folder, "sqlite", 'sql_file = "sql/top.sql"'))
    assert refused.returncode == 2
    assert f"{lab.folder}/own.toml:{LINE}: workload.statements.tried.sql_file: " in refused.stderr
    assert f'{lab.folder}/sql/top.sql:3: option P: statement "tried" cannot run' in refused.stderr
    assert "no such column: lacking" in refused.stderr


def test_all_statements_that_cannot_run_are_named_at_once(lab: Lab) -> None:
    broken = 'sql = "selec 1"\n\n[workload.statements.other]\nsql = "select nothing from item"'
    refused = lab.run("run", own_study(lab.folder, "sqlite", broken))
    assert refused.returncode == 2
    assert f"own.toml:{LINE}: workload.statements.tried.sql" in refused.stderr
    assert "workload.statements.other.sql: option P: statement" in refused.stderr


def test_an_option_whose_session_breaks_a_statement_is_found_before_the_first_run(lab: Lab) -> None:
    factor = 'scope = "session"\nsetting = "search_path"\nlevels = { HERE = "public", NONE = "pg_catalog" }'
    study = own_study(lab.folder, "postgres", 'sql = "select 1 from item"', factor)
    refused = lab.run("run", study, "--bundle", lab.bundle)
    assert refused.returncode == 2
    assert 'option NONE: statement "good" cannot run: relation "item" does not exist' in refused.stderr
    assert "schema_sql, schema_file or data_file makes the tables" in refused.stderr
    assert "; settings of the session: search_path = pg_catalog" in refused.stderr
    assert not lab.bundle.exists()


def test_a_statement_that_depends_on_what_the_transaction_made_before_it_can_run(lab: Lab) -> None:
    made = """sql = "create temp table part on commit drop as select * from item"
[workload.statements.used]
sql = "select count(*) from part"
[workload.transactions.both]
statements = ["tried", "used"]
begin = true"""
    factor = 'scope = "client"\nsetting = "handle"\nlevels = { S = "none", U = "unnamed" }'
    study = own_study(lab.folder, "postgres", made, factor)
    bundle = measured(study.read_text(), str(study), lab.folder)
    assert_done(bundle)


def test_what_a_transaction_block_refuses_or_the_data_refuse_is_left_to_the_runs(lab: Lab) -> None:
    broken = 'sql = "vacuum item"\n[workload.statements.odd]\nsql = "select 1 / (random() > 2)::int"'
    failed = lab.run("run", own_study(lab.folder, "postgres", broken, FACTOR), "--bundle", lab.bundle)
    # the division fails with any value, which only the run can tell
    assert failed.returncode == 1
    assert 'option P: the transaction "odd" never succeeded' in failed.stderr.replace("option N", "option P")
    assert "22012: division by zero" in failed.stderr


def test_a_kind_of_transaction_that_fails_throughout_ends_the_study_without_a_verdict(lab: Lab) -> None:
    # the first of all would succeed, and is rolled back when it is tried
    twice = 'sql = "insert into item values (1, null), (1, null)"'
    failed = lab.run("run", own_study(lab.folder, "sqlite", twice), "--bundle", lab.bundle)
    assert failed.returncode == 1
    assert 'the transaction "tried" never succeeded' in failed.stderr
    assert "UNIQUE constraint failed: item.id" in failed.stderr
    assert set(Bundle(lab.bundle).columns("select status from runs")["status"]) == {"void"}


def test_a_postgres_at_an_address_is_left_as_it_was_and_the_hint_makes_its_tables(lab: Lab) -> None:
    with servers.postgres() as server:
        dsn = f"postgresql://postgres@/postgres?host={server.folder}&port={server.port}"
        study = own_study(lab.folder, "postgres", 'sql = "insert into item values (default, default)"')
        with_dsn(study, dsn)
        server.ask("drop table item")
        missing = lab.run("run", study, "--bundle", lab.bundle)
        assert missing.returncode == 2
        assert f'hint: to make and fill the tables: steelyard data {study} | psql "$DSN"' in missing.stderr
        assert not lab.bundle.exists()
        server.ask("create table item (id serial primary key, v varchar(9))")
        study.write_text(study.read_text().replace("v from", "w from"))
        refused = lab.run("run", study, "--bundle", lab.bundle)
        assert 'column "w" does not exist' in refused.stderr
        # the insert was tried, and rolled back
        assert server.ask("select count(*) from item") == 0


def test_a_mariadb_at_an_address_is_left_as_it_was_and_the_hint_makes_its_tables(lab: Lab) -> None:
    with mariadb() as server:
        study = own_study(lab.folder, "mariadb", 'sql = "delete from item"')
        with_dsn(study, f"mysql://root@/lab?socket={server.socket}")
        study.write_text(study.read_text().replace("v from item", "v from nowhere"))
        refused = lab.run("run", study, "--bundle", lab.bundle)
        assert refused.returncode == 2, refused.stderr
        assert "Table 'lab.nowhere' doesn't exist" in refused.stderr
        assert (
            f"hint: to make and fill the tables: steelyard data {study} | mariadb DATABASE" in refused.stderr
        )
        assert server.ask("select count(*) from lab.item") == 1000
