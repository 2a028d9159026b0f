"""Factors of scope schema on MariaDB, and on SQLite where PostgreSQL stands for it."""

from __future__ import annotations

import pytest
from laboratory import Lab
from schema_studies import (
    TEXTS,
    fails_by_its_schema,
    has_an_index_as_a_level,
    own_study,
    ran,
    refuses_sql_of_a_file_that_cannot_run,
    refuses_sql_that_cannot_run,
    schemas,
)

mariadb = pytest.param("mariadb", marks=pytest.mark.needs("MariaDB"))


@pytest.mark.parametrize("subject", [mariadb, "sqlite"])
def test_an_index_is_a_level_and_its_bytes_and_seconds_are_in_the_bundle(lab: Lab, subject: str) -> None:
    has_an_index_as_a_level(lab, subject)


@pytest.mark.parametrize(("subject", "n", "label"), [("postgres", 1, "NONE"), ("sqlite", 0, "IX")])
def test_each_option_has_the_schema_of_its_level_alone(lab: Lab, subject: str, n: int, label: str) -> None:
    fails_by_its_schema(lab, subject, n, label)


@pytest.mark.needs("MariaDB")
def test_sql_that_cannot_run_names_option_level_line_and_leaves_nothing(lab: Lab) -> None:
    words = "Key column 'brunch' doesn't exist in table"
    refuses_sql_that_cannot_run(lab, "mariadb", "create index i on item (brunch)", words)


@pytest.mark.needs("MariaDB")
def test_sql_of_a_file_that_cannot_run_is_named_by_the_file(lab: Lab) -> None:
    refuses_sql_of_a_file_that_cannot_run(lab, "mariadb", line=1)


def test_levels_of_two_factors_are_combined_and_plan_with_fresh_statistics(lab: Lab) -> None:
    # fails without the statistics that ANALYZE writes after the SQL
    one = (
        "select 1 / (count(*) > 0)::int, :b from pg_class c, pg_stats s where c.relname = 'item' and"
        " c.reltuples = 2000 and s.tablename = 'item' and s.attname = 'extra'"
    )
    factors = """
[factors.column]
scope = "schema"
levels = { NONE = "", C = "alter table item add extra integer default 7" }
[factors.fill]
scope = "schema"
[factors.fill.levels]
F100 = ""
F50 = "alter table item set (fillfactor = 50); vacuum full item"
"""
    study = own_study(lab.folder, "postgres", factors, one)
    study.write_text(study.read_text() + '\n[[exclude]]\ncolumn = "NONE"\n')
    found = schemas(ran(lab, study))
    assert set(found) == {"C_F100", "C_F50"}
    assert found["C_F50"]["tables_bytes"] > 1.5 * found["C_F100"]["tables_bytes"]


def test_two_texts_of_a_statement_are_compared(lab: Lab) -> None:
    study = own_study(
        lab.folder, "postgres", TEXTS.format(b="select note from item where 1 / (branch - branch) = :b")
    )
    failed = lab.run("run", study, "--bundle", lab.bundle)
    assert failed.returncode == 1
    assert "option B: " in failed.stderr
    assert "division by zero" in failed.stderr
