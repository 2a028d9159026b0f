"""Factors of scope schema: SQL after the data, a copy of the data per combination; texts of a statement."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from laboratory import Lab
from mariadb_server import needs_mariadb
from steelyard.bundle.reader import Bundle

STUDY = """\
name = "own"
question = "Is it worth it?"

[subject]
kind = "{subject}"

[workload]
kind = "sql"
schema_sql = '''
create table item (id integer primary key, branch integer not null, note varchar(60) not null);
{rows}
'''

[workload.statements.one]
sql = "{one}"
parameters = {{ b = {{ kind = "uniform", low = 0, high = 9 }} }}

{factors}

[plan]
clients = [2]
warm_up_s = 0.1
measure_s = 0.3
cool_down_s = 0.1
blocks = 1
disturbed = "keep"
"""
_NUMBERS = {
    "postgres": "generate_series(1, 2000) as numbers(n)",
    "mariadb": "(select seq as n from seq_1_to_2000) as numbers",
    "sqlite": "(with recursive s(n) as (select 1 union all select n + 1 from s where n < 2000)"
    " select n from s)",
}
ONE = "select note from item where branch = :b"
INDEX = '[factors.index]\nscope = "schema"\nlevels = {{ NONE = "", IX = "{sql}" }}'
IX = INDEX.format(sql="create index by_branch on item (branch)")
LINE = 20  # of the levels
# fails where the index is not the one of the option
INDEXES = {
    "postgres": "select 1 / (count(*) = {n})::int, :b from pg_indexes where indexname = 'by_branch'",
    "sqlite": "select abs(iif((select count(*) from sqlite_master where name = 'by_branch') = {n}, 1,"
    " -9223372036854775808)), :b",
}


def own_study(folder: Path, subject: str, factors: str, one: str = ONE) -> Path:
    rows = f"insert into item select n, n % 10, 'x' from {_NUMBERS[subject]};"
    path = folder / "own.toml"
    path.write_text(STUDY.format(subject=subject, rows=rows, one=one, factors=factors))
    return path


def schemas(lab: Lab) -> dict[str, dict[str, Any]]:
    servers = json.loads((lab.bundle / "environment.json").read_text())["servers"]
    return {label: server["schema"] for label, server in servers.items()}


def runs(lab: Lab, study: Path) -> None:
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    assert set(Bundle(lab.bundle).columns("select status from runs")["status"]) == {"done"}
    assert not lab.ours() and not lab.traces()


def is_refused(lab: Lab, study: Path, *words: str, line: int = LINE, dry: bool = False) -> None:
    refused = lab.run("run", study, *(["--dry-run"] if dry else ["--bundle", lab.bundle]))
    assert refused.returncode == 2, refused.stderr
    assert f"{study}:{line}: " in refused.stderr
    for word in words:
        assert word in refused.stderr
    assert not refused.stdout
    assert not lab.bundle.exists() and not lab.ours() and not lab.traces()


@pytest.mark.parametrize("subject", ["postgres", "mariadb", "sqlite"])
def test_an_index_is_a_level_and_its_bytes_and_seconds_are_in_the_bundle(lab: Lab, subject: str) -> None:
    if subject == "mariadb":
        needs_mariadb()
    runs(lab, own_study(lab.folder, subject, IX))
    found = schemas(lab)
    assert found["NONE"]["tables_bytes"] == pytest.approx(found["IX"]["tables_bytes"], rel=0.2)
    assert found["IX"]["indexes_bytes"] >= found["NONE"]["indexes_bytes"] + 16384
    assert found["NONE"]["sql_s"] == 0 < found["IX"]["sql_s"] < 30
    page = (lab.bundle / "report.html").read_text()
    assert "create index by_branch on item (branch)" in page and "as loaded" in page
    assert "its SQL took" in page


@pytest.mark.parametrize("subject", ["postgres", "sqlite"])
@pytest.mark.parametrize(("n", "label"), [(0, "IX"), (1, "NONE")])
def test_each_option_has_the_schema_of_its_level_alone(lab: Lab, subject: str, n: int, label: str) -> None:
    failed = lab.run("run", own_study(lab.folder, subject, IX, INDEXES[subject].format(n=n)))
    # SQLite's check fails with any value, so already when the statement is tried
    assert failed.returncode == (2 if subject == "sqlite" else 1)
    assert f"option {label}: " in failed.stderr


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
    runs(lab, study)
    found = schemas(lab)
    assert set(found) == {"C_F100", "C_F50"}
    assert found["C_F50"]["tables_bytes"] > 1.5 * found["C_F100"]["tables_bytes"]


def test_sql_of_a_file_runs_and_is_kept_in_the_bundle(lab: Lab) -> None:
    (lab.folder / "ix.sql").write_text("-- the one\ncreate index by_branch on item (branch);\n")
    factor = '[factors.index]\nscope = "schema"\nlevels = { NONE = "", IX = { sql_file = "ix.sql" } }'
    study = own_study(lab.folder, "sqlite", factor)
    runs(lab, study)
    assert [place.name for place in (lab.bundle / "files").iterdir()] == ["1-ix.sql"]
    (lab.folder / "ix.sql").unlink()
    shown = lab.run("report", lab.bundle)
    assert shown.returncode == 0
    assert "sql_file" not in shown.stdout and str(lab.folder / "ix.sql") not in shown.stdout


BROKEN = [
    ("postgres", "create index on item (brunch)", 'column "brunch" does not exist'),
    ("mariadb", "create index i on item (brunch)", "Key column 'brunch' doesn't exist in table"),
    ("sqlite", "create index i on item (brunch)", "brunch"),
]


@pytest.mark.parametrize(("subject", "sql", "words"), BROKEN)
def test_sql_that_cannot_run_names_option_level_line_and_leaves_nothing(
    lab: Lab, subject: str, sql: str, words: str
) -> None:
    if subject == "mariadb":
        needs_mariadb()
    study = own_study(lab.folder, subject, INDEX.format(sql=sql))
    is_refused(lab, study, "factors.index.levels.IX: option IX: the SQL of level IX cannot run: ", words)


@pytest.mark.parametrize("subject", ["postgres", "mariadb"])
def test_sql_of_a_file_that_cannot_run_is_named_by_the_files_line(lab: Lab, subject: str) -> None:
    if subject == "mariadb":
        needs_mariadb()
    (lab.folder / "ix.sql").write_text("create index i on item (branch);\n\ncreat table b ();\n")
    factor = '[factors.index]\nscope = "schema"\nlevels = { NONE = "", IX = { sql_file = "ix.sql" } }'
    study = own_study(lab.folder, subject, factor)
    line = ":3" if subject == "postgres" else ":1"
    is_refused(lab, study, f"{lab.folder}/ix.sql{line}: option IX: the SQL of level IX cannot run: ", "creat")


def test_a_statement_that_a_level_breaks_is_found_before_the_first_run(lab: Lab) -> None:
    study = own_study(lab.folder, "postgres", INDEX.format(sql="alter table item drop branch"))
    is_refused(lab, study, 'option IX: the statement "one" cannot run: column "branch" does not', line=15)


WRONG = [
    ('levels = { A = "", B = 7 }', LINE, "factors.index.levels.B: expected SQL, a text in quotes"),
    ('levels = { A = "", B = { sq = "x" } }', LINE, 'unknown key "sq"; did you mean "sql"?'),
    ('levels = { A = "", B = { sql_file = "no.sql" } }', LINE, "no.sql: no such file"),
    ('setting = "x"\nlevels = { A = "", B = "x" }', LINE, "setting: has no effect: a level of scope schema"),
]


@pytest.mark.parametrize(("lines", "line", "words"), WRONG)
def test_a_wrong_level_is_an_error_with_its_line(lab: Lab, lines: str, line: int, words: str) -> None:
    study = own_study(lab.folder, "sqlite", f'[factors.index]\nscope = "schema"\n{lines}')
    is_refused(lab, study, words, line=line, dry=True)


@pytest.mark.parametrize("subject", ["postgres", "mariadb"])
def test_the_schema_of_a_server_at_an_address_is_never_changed(lab: Lab, subject: str) -> None:
    study = own_study(lab.folder, subject, IX)
    dsn = {"postgres": "postgresql://localhost/d", "mariadb": "mysql://root@localhost/d"}[subject]
    study.write_text(study.read_text().replace("\n\n[workload]", f'\ndsn = "{dsn}"\n\n[workload]', 1))
    words = (
        "factors.index.scope: scope 'schema' would change the tables of a server that the lab did not start"
    )
    is_refused(lab, study, words, line=LINE, dry=True)


def test_a_subject_without_tables_has_no_schema(lab: Lab) -> None:
    study = own_study(lab.folder, "sqlite", IX)
    study.write_text(study.read_text().replace('kind = "sqlite"', 'kind = "null"'))
    is_refused(lab, study, "scope 'schema' cannot act on", line=LINE - 1, dry=True)


TEXTS = """[factors.text]
scope = "client"
setting = "statements.one.sql"
[factors.text.levels]
A = "select note from item where branch = :b"
B = "{b}"
"""


def test_two_texts_of_a_statement_are_compared(lab: Lab) -> None:
    study = own_study(
        lab.folder, "postgres", TEXTS.format(b="select note from item where 1 / (branch - branch) = :b")
    )
    failed = lab.run("run", study, "--bundle", lab.bundle)
    assert failed.returncode == 1
    assert "option B: " in failed.stderr
    assert "division by zero" in failed.stderr


@pytest.mark.parametrize(
    ("b", "words"),
    [
        ("select missing, :b from item", 'option B: the statement "one" cannot run: no such column: missing'),
        ("select 1", 'option B: statement "one": the SQL has no :b'),
    ],
)
def test_a_text_that_cannot_run_is_named_by_its_level(lab: Lab, b: str, words: str) -> None:
    study = own_study(lab.folder, "sqlite", TEXTS.format(b=b))
    is_refused(lab, study, f"factors.text.levels.B: {words}", line=LINE + 3)
