"""Statements that write are told by their text, with the tables that they write."""

from __future__ import annotations

import pytest
from at_address import READ, STUDY

from steelyard.errors import InputError
from steelyard.study.load_study import parse_study, plan_study
from steelyard.study.workloads.statements import Statement
from steelyard.subjects import check
from steelyard.subjects.servers.by_address import written
from steelyard.workloads import Work


def test_consent_is_for_addresses_alone_and_reload_needs_it() -> None:
    text = STUDY.format(
        kind="postgres", dsn="host=x", subject="writes = true", workload="", factor="", more="", sql=READ
    )
    with pytest.raises(InputError, match=r"subject\.writes: has no effect: there is no dsn"):
        parse_study(text.replace('dsn = "host=x"', ""), "study.toml")
    reload = text.replace("writes = true", 'restore = "reload"').replace('"sql"', '"order-entry"')
    head, tail = reload.split("[workload.statements.own]")
    with pytest.raises(InputError, match="the schema of restore"):
        check(*plan_study(head + tail[tail.index("[plan]") :], "study.toml"))


@pytest.mark.parametrize(
    ("sql", "table"),
    [
        ('update only s."Big Table" set a = 1', 's."Big Table"'),
        ("update only big set a = 1", "big"),
        ("insert into s.evt select * from other", "s.evt"),
        ("with a as (select * from x) update evt set a = 1", "evt"),
        ("delete from evt", "evt"),
        ("drop table if exists evt", "evt"),
        ("replace into evt values (1)", "evt"),
        ("select lo_create(0)", ""),
        ("select lo_orderdate from lineorder", None),
        ("select dblink_exec('x', 'y')", ""),
        ("select 1 into outfile '/tmp/x'", ""),
        ("select 1; commit; insert into evt values (1)", "evt"),
        ("select updated from update_log", None),
    ],
)
def test_a_text_that_writes_is_named_with_its_table(sql: str, table: str | None) -> None:
    found = written([Work({"own": Statement(sql=sql)})], "postgresql")
    assert found == ({} if table is None else {"own": f"own ({table})" if table else "own"})
