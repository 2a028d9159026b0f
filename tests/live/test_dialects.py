"""Texts and values as the server's dialect reads them: the same rows by every way of sending a statement."""

from __future__ import annotations

import pytest
from dialects import CONNECTOR_J, STUDY, runs_without_errors
from java_engine import needs_java
from laboratory import Lab, small_study

from steelyard.bundle.reader import Bundle


@pytest.mark.needs("MariaDB")
@pytest.mark.parametrize(
    ("mode", "driver"),
    [("", ""), ("NO_BACKSLASH_ESCAPES", ""), pytest.param("", CONNECTOR_J, marks=needs_java)],
)
def test_comments_names_and_backslashes_are_those_of_mariadb(lab: Lab, mode: str, driver: str) -> None:
    runs_without_errors(lab, mode, driver)


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("postgres", 'subject.session.client_encoding = "LATIN1"'),
        ("postgres", 'subject.settings.client_encoding = "euc_jp"'),
        pytest.param(
            "mariadb",
            'subject.session.character_set_client = "latin1"',
            marks=pytest.mark.needs("MariaDB"),
        ),
    ],
)
def test_an_encoding_that_is_not_utf8_is_refused_at_its_line(lab: Lab, kind: str, line: str) -> None:
    small_study(lab.folder, kind)
    path = lab.folder / "small.toml"
    text = path.read_text().replace("[subject]", f"[subject]\n{line.removeprefix('subject.')}", 1)
    path.write_text(text)
    ended = lab.run("run", path.name, "--dry-run")
    assert ended.returncode == 2 and "small.toml:" in ended.stderr and "UTF-8" in ended.stderr


@pytest.mark.needs("MariaDB")
def test_another_number_of_parameters_than_the_server_counts_is_refused(lab: Lab) -> None:
    # a server of an earlier version reads this as a comment
    text = STUDY.format(mode="", driver="").replace("of_{tag}", "of_{tag} /*!999999 :n */")
    (lab.folder / "d.toml").write_text(text)
    ended = lab.run("run", "d.toml", "--dry-run")
    assert ended.returncode == 2 and "the server counts 2 parameters, of 3 bound (07001)" in ended.stderr


COMPOUND = '''\
name = "compound"
question = "?"
subject = { kind = "mariadb" }
plan = { clients = [1], warm_up_s = 0.1, measure_s = 0.3, cool_down_s = 0.1, blocks = 1 }
[workload]
kind = "sql"
schema_sql = """
create table shelf (n int);
create procedure fill(in most int) begin
    declare i int default 0;
    while i < most do insert into shelf values (i); set i = i + 1; end while;
    if most > 5 then insert into shelf values (99); end if;
end;
create trigger few before insert on shelf for each row begin
    case when new.n > 5 then begin set new.n = 5; end; else set new.n = new.n; end case;
end"""
[workload.statements.fill]
sql = "call fill(:n)"
parameters.n = { kind = "uniform", low = 1, high = 10 }
[workload.statements.block]
sql = "begin not atomic if 1 then insert into shelf values (7); end if; select 1; end"
[factors.handle]
scope = "client"
levels = { NAMED = "named", TEXT = "none" }
'''


@pytest.mark.needs("MariaDB")
def test_a_compound_statement_is_one_statement(lab: Lab) -> None:
    (lab.folder / "c.toml").write_text(COMPOUND)
    ended = lab.run("run", "c.toml", "--bundle", "c.bundle")
    assert ended.returncode == 0, ended.stderr
    rows = Bundle(lab.folder / "c.bundle").columns("select transactions, errors from clients")
    assert set(rows["errors"]) == {0} and min(rows["transactions"]) > 0
