"""A study of two options that do the same work, or other work, on a real server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from laboratory import Lab

from steelyard.bundle.reader import Bundle

STUDY = """\
name = "equal"
question = "which?"
[subject]
kind = "{kind}"
{subject}
[workload]
kind = "sql"
schema_sql = '''{schema}'''
{workload}
[workload.statements.look]
sql = '''{sql}'''
{parameters}
{more}
[factors.tried]
{factor}
[plan]
clients = [2]
warm_up_s = 0.1
measure_s = 0.3
cool_down_s = 0
blocks = {blocks}
"""
SALES = """
create schema live; create schema stage;
create table live.sale (id int primary key, c int not null);
insert into live.sale select n, n % 100 from generate_series(1, 5000) n;
create table stage.sale (id int primary key, c int not null);
"""
KEYS = "create table job (id bigint primary key, done int not null);"
C = "parameters = { c = { kind = 'uniform', low = 0, high = 99 } }"
ID = "parameters = {{ id = {{ kind = '{}' }} }}"


def session(setting: str, a: str, b: str) -> str:
    return f'scope = "session"\nsetting = "{setting}"\nlevels = {{ A = {a}, B = {b} }}'


# what is counted does not depend on the pace
PAUSE, FLAT_OUT = "arrival.think_ms = 2", ""
COMMIT = session("synchronous_commit", '"on"', '"off"')


def study(folder: Path, **given: str) -> Path:
    keys = {
        "kind": "postgres", "subject": "", "schema": "", "workload": PAUSE, "sql": "select 1",
        "parameters": "", "more": "", "factor": COMMIT, "blocks": "1",
    }  # fmt: skip
    path = folder / "equal.toml"
    path.write_text(STUDY.format(**(keys | given)))
    return path


def judged(lab: Lab, path: Path, code: int = 0) -> dict[str, Any]:
    done = lab.run("run", path, "--json", "--bundle", lab.bundle)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)["judgement"]


def sums(lab: Lab) -> list[tuple[int, int, int]]:
    """Executions, rows and empty executions of each run."""
    table = Bundle(lab.bundle).columns("select executions, rows, empty from executions order by run")
    return list(zip(*(column.tolist() for column in table.values()), strict=True))


AUDIT = (
    KEYS
    + """
create table audit (id bigint);
insert into job select n, 0 from generate_series(1, 1000) n;
create function kept() returns trigger language plpgsql as $$
begin insert into audit values (new.id); return new; end $$;
create trigger kept after update on job for each row execute function kept();
"""
)


def audited(lab: Lab, factor: str, schema: str = AUDIT) -> Path:
    return study(
        lab.folder, schema=schema, sql="update job set done = done + 1 where id = :id", factor=factor,
        parameters="parameters = { id = { kind = 'uniform', low = 1, high = 1000 } }",
    )  # fmt: skip


def differs_by_choice(lab: Lab, schema: str, sql: str) -> None:
    """Asserts that options whose plans choose other rows, where any will do, did no other work."""
    off = "{ enable_indexonlyscan = 'off', enable_indexscan = 'off', enable_bitmapscan = 'off' }"
    factor = f"scope = 'session'\nlevels = {{ A = {{ enable_indexscan = 'on' }}, B = {off} }}"
    path = study(lab.folder, schema=SALES + schema, sql=sql, parameters=C, factor=factor, workload=FLAT_OUT)
    assert judged(lab, path)["work"] == []
