"""Studies whose SQL and data are files of the user's."""

from __future__ import annotations

from pathlib import Path

from in_process import assert_done, measured
from laboratory import Lab

from steelyard.bundle.reader import Bundle
from steelyard.subjects.postgres.binaries import embedded_bindir, installed_bindirs, reachable

STUDY = """\
name = "own"
question = "Which way?"

[subject]
kind = "{subject}"
{lines}

[workload]
kind = "sql"
{data}

[workload.statements.one]
sql_file = "sql/one.sql"
parameters = {{ id = {{ kind = "uniform", low = 1, high = 3 }} }}

[factors.handle]
scope = "client"
levels = {{ P = "per-use", N = "named" }}

[plan]
clients = [2]
warm_up_s = 0.1
measure_s = 0.2
cool_down_s = 0
blocks = 1
"""
# fails unless the row is there
ONE = "-- by its key\nselect 1 / (select count(*) from item where id = :id and v = 'x')\n"
SCHEMA = "create table item (id integer primary key, v varchar(9));\n"
ROWS = "insert into item values (1, 'x'), (2, 'x'), (3, 'x');\n"
COPY = "COPY public.item (id, v) FROM stdin;\n1\tx\n2\tx\n3\tx\n\\.\n"
BROKEN = "create table item (id int);\n\ncreat table b ();"


def own_study(folder: Path, subject: str, data: str, lines: str = "", one: str = ONE) -> Path:
    """own.toml with sql/one.sql beside it; the data are line 10."""
    (folder / "sql").mkdir(exist_ok=True)
    (folder / "sql" / "one.sql").write_text(one)
    path = folder / "own.toml"
    path.write_text(STUDY.format(subject=subject, data=data, lines=lines))
    return path


def runs(lab: Lab, study: Path) -> Bundle:
    """Runs it: every execution of its statement finds its row."""
    bundle = measured(study.read_text(), str(study), lab.folder)
    assert_done(bundle)
    return bundle


def refuses_the_script(lab: Lab, subject: str, key: str, told: str) -> None:
    """A script that cannot run is an error of the study, by the server's words."""
    (lab.folder / "bad.sql").write_text(BROKEN)
    refused = lab.run("run", own_study(lab.folder, subject, f'{key} = "bad.sql"'), "--bundle", lab.bundle)
    assert refused.returncode == 2, refused.stderr
    assert told in refused.stderr and f"{lab.folder}/own.toml:10: workload.{key}" in refused.stderr
    assert not lab.bundle.exists() and not lab.ours() and not lab.traces()


def programs() -> Path:
    """An installed PostgreSQL's programs, or the embedded one's."""
    found = next(iter(installed_bindirs()), None) or embedded_bindir()
    assert found is not None
    return reachable(found)
