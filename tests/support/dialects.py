"""A study whose texts and values are read alike by one dialect alone."""

from __future__ import annotations

from laboratory import Lab

from steelyard.bundle.reader import Bundle

CONNECTOR_J = "org.mariadb.jdbc:mariadb-java-client:3.4.1"
# the table takes the right values alone: a number from 1 to 10, and C:\\t'X
STUDY = '''\
name = "dialect"
question = "?"
subject = {{ kind = "mariadb", session = {{ sql_mode = "{mode}" }} }}
plan = {{ clients = [1], warm_up_s = 0.1, measure_s = 0.3, cool_down_s = 0.1, blocks = 1 }}
[workload]
kind = "sql"
text = "distinct"
driver = "{driver}"
schema_sql = """
create table shelf (n int, p varchar(20) not null,
    check (n between 1 and 10), check (hex(p) = '433A5C742758'))"""
[workload.statements.put]
sql = """
insert into shelf (n, p) # it's of :n
/* :p */ select :n, `x:n` from (select :p as `x:n`) of_{{tag}} -- :n
"""
parameters.n = {{ kind = "uniform", low = 1, high = 10 }}
parameters.p = {{ kind = "choice", values = ["C:\\\\t'X"] }}
[factors.handle]
scope = "client"
levels = {{ NAMED = "named", EACH = "per-use", TEXT = "none" }}
'''


def runs_without_errors(lab: Lab, mode: str, driver: str) -> None:
    """Each way of sending the statement puts the rows that the table takes."""
    (lab.folder / "d.toml").write_text(STUDY.format(mode=mode, driver=driver))
    ended = lab.run("run", "d.toml", "--bundle", "d.bundle")
    assert ended.returncode == 0, ended.stderr
    rows = Bundle(lab.folder / "d.bundle").columns("select transactions, errors from clients")
    assert set(rows["errors"]) == {0} and min(rows["transactions"]) > 0
