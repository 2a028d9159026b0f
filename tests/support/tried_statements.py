"""Studies with a statement that the server tries before the first run."""

from __future__ import annotations

from pathlib import Path

from laboratory import Lab

STUDY = """\
name = "own"
question = "Which way?"

[subject]
kind = "{subject}"

[workload]
kind = "sql"
schema_sql = "create table item (id integer primary key, v varchar(9))"

[workload.statements.good]
sql = "select v from item where id = :id"
parameters = {{ id = {{ kind = "uniform", low = 1, high = 9 }} }}

[workload.statements.tried]
{tried}

[factors.one]
{factor}

[plan]
clients = [2]
warm_up_s = 0.1
measure_s = 0.2
cool_down_s = 0
blocks = 1
"""
FACTOR = 'scope = "client"\nsetting = "handle"\nlevels = { P = "per-use", N = "named" }'
LINE = 16  # of the statement that is tried


def own_study(folder: Path, subject: str, tried: str, factor: str = FACTOR) -> Path:
    path = folder / "own.toml"
    path.write_text(STUDY.format(subject=subject, tried=tried, factor=factor))
    return path


def refuses_the_statement(lab: Lab, subject: str, sql: str, words: str) -> None:
    """With its line, and without a bundle."""
    study = own_study(lab.folder, subject, f'sql = "{sql}"')
    refused = lab.run("run", study, "--bundle", lab.bundle)
    assert refused.returncode == 2, refused.stderr
    assert f"{study}:{LINE}: workload.statements.tried.sql: option P: statement" in refused.stderr
    assert words in refused.stderr
    assert not lab.bundle.exists() and not lab.ours() and not lab.traces()
    assert not refused.stdout
