"""Factors of scope schema: SQL after the data, a copy of the data per combination; texts of a statement."""

from __future__ import annotations

import pytest
from laboratory import Lab
from schema_studies import (
    INDEX,
    LINE,
    TEXTS,
    fails_by_its_schema,
    has_an_index_as_a_level,
    is_refused,
    own_study,
    ran,
    refuses_sql_of_a_file_that_cannot_run,
    refuses_sql_that_cannot_run,
)


def test_an_index_is_a_level_and_its_bytes_and_seconds_are_in_the_bundle(lab: Lab) -> None:
    bundle = has_an_index_as_a_level(lab, "postgres")
    shown = lab.run("report", bundle.path)
    assert shown.returncode == 0, shown.stderr
    page = (bundle.path / "report.html").read_text()
    assert "create index by_branch on item (branch)" in page and "as loaded" in page
    assert "its SQL took" in page


@pytest.mark.parametrize(("subject", "n", "label"), [("postgres", 0, "IX"), ("sqlite", 1, "NONE")])
def test_each_option_has_the_schema_of_its_level_alone(lab: Lab, subject: str, n: int, label: str) -> None:
    fails_by_its_schema(lab, subject, n, label)


def test_sql_of_a_file_runs_and_is_kept_in_the_bundle(lab: Lab) -> None:
    (lab.folder / "ix.sql").write_text("-- the one\ncreate index by_branch on item (branch);\n")
    factor = '[factors.index]\nscope = "schema"\nlevels = { NONE = "", IX = { sql_file = "ix.sql" } }'
    bundle = ran(lab, own_study(lab.folder, "sqlite", factor)).path
    assert [place.name for place in (bundle / "files").iterdir()] == ["1-ix.sql"]
    (lab.folder / "ix.sql").unlink()
    shown = lab.run("report", bundle)
    assert shown.returncode == 0
    assert "sql_file" not in shown.stdout and str(lab.folder / "ix.sql") not in shown.stdout


@pytest.mark.parametrize(
    ("subject", "sql", "words"),
    [
        ("postgres", "create index on item (brunch)", 'column "brunch" does not exist'),
        ("sqlite", "create index i on item (brunch)", "brunch"),
    ],
)
def test_sql_that_cannot_run_names_option_level_line_and_leaves_nothing(
    lab: Lab, subject: str, sql: str, words: str
) -> None:
    refuses_sql_that_cannot_run(lab, subject, sql, words)


def test_sql_of_a_file_that_cannot_run_is_named_by_the_files_line(lab: Lab) -> None:
    refuses_sql_of_a_file_that_cannot_run(lab, "postgres", line=3)


def test_a_statement_that_a_level_breaks_is_found_before_the_first_run(lab: Lab) -> None:
    study = own_study(lab.folder, "postgres", INDEX.format(sql="alter table item drop branch"))
    is_refused(lab, study, 'option IX: statement "one" cannot run: column "branch" does not', line=15)


@pytest.mark.parametrize(
    ("b", "words"),
    [
        ("select missing, :b from item", 'option B: statement "one" cannot run: no such column: missing'),
        ("select 1", 'option B: statement "one": the SQL lacks :b'),
    ],
)
def test_a_text_that_cannot_run_is_named_by_its_level(lab: Lab, b: str, words: str) -> None:
    study = own_study(lab.folder, "sqlite", TEXTS.format(b=b))
    is_refused(lab, study, f"factors.text.levels.B: {words}", line=LINE + 3)
