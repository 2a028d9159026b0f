"""Studies of schemas: factors whose levels are SQL after the data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from in_process import assert_done, measured
from laboratory import Lab

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
measure_s = 0.2
cool_down_s = 0
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


TEXTS = """[factors.text]
scope = "client"
setting = "statements.one.sql"
[factors.text.levels]
A = "select note from item where branch = :b"
B = "{b}"
"""


def is_refused(lab: Lab, study: Path, *words: str, line: int = LINE) -> None:
    """By the server, before the first run."""
    refused = lab.run("run", study, "--bundle", lab.bundle)
    assert refused.returncode == 2, refused.stderr
    assert f"{study}:{line}: " in refused.stderr
    for word in words:
        assert word in refused.stderr
    assert not refused.stdout
    assert not lab.bundle.exists() and not lab.ours() and not lab.traces()


def ran(lab: Lab, study: Path) -> Bundle:
    """The bundle of a study whose runs are all done."""
    bundle = measured(study.read_text(), str(study), lab.folder)
    assert_done(bundle)
    return bundle


def schemas(bundle: Bundle) -> dict[str, dict[str, Any]]:
    """What is known of the tables, by option."""
    return {label: server["schema"] for label, server in bundle.environment["servers"].items()}


def has_an_index_as_a_level(lab: Lab, subject: str) -> Bundle:
    """Its bytes and seconds are in the bundle."""
    bundle = ran(lab, own_study(lab.folder, subject, IX))
    found = schemas(bundle)
    assert found["NONE"]["tables_bytes"] == pytest.approx(found["IX"]["tables_bytes"], rel=0.2)
    assert found["IX"]["indexes_bytes"] >= found["NONE"]["indexes_bytes"] + 16384
    assert found["NONE"]["sql_s"] == 0 < found["IX"]["sql_s"] < 30
    return bundle


def refuses_sql_that_cannot_run(lab: Lab, subject: str, sql: str, words: str) -> None:
    """By option, level and line."""
    study = own_study(lab.folder, subject, INDEX.format(sql=sql))
    is_refused(lab, study, "factors.index.levels.IX: option IX: the SQL of level IX cannot run: ", words)


def refuses_sql_of_a_file_that_cannot_run(lab: Lab, subject: str, line: int) -> None:
    """By the line of the file."""
    (lab.folder / "ix.sql").write_text("create index i on item (branch);\n\ncreat table b ();\n")
    factor = '[factors.index]\nscope = "schema"\nlevels = { NONE = "", IX = { sql_file = "ix.sql" } }'
    words = f"{lab.folder}/ix.sql:{line}: option IX: the SQL of level IX cannot run: "
    is_refused(lab, own_study(lab.folder, subject, factor), words, "creat")


def fails_by_its_schema(lab: Lab, subject: str, n: int, label: str) -> None:
    """Each option has the schema of its level alone: here the option with another one fails."""
    failed = lab.run("run", own_study(lab.folder, subject, IX, INDEXES[subject].format(n=n)))
    # SQLite's check fails with any value, so already when the statement is tried
    assert failed.returncode == (2 if subject == "sqlite" else 1)
    assert f"option {label}: " in failed.stderr
