"""No option wins that did other work: cases that need more blocks, and further ways to count alike."""

from __future__ import annotations

import pytest
from equal_work import AUDIT, FLAT_OUT, SALES, C, audited, differs_by_choice, judged, session, study
from laboratory import Lab


def test_rows_that_may_differ_leave_a_leader_without_a_win(lab: Lab) -> None:
    path = study(
        lab.folder, schema=SALES, sql="select id from sale where c = :c", blocks="5", workload=FLAT_OUT,
        parameters=f"{C}\nrows = 'may differ'", factor=session("search_path", '"live"', '"stage"'),
    )  # fmt: skip
    judgement = judged(lab, path)
    assert (judgement["verdict"]["outcome"], judgement["verdict"]["winner"]) == ("leaning", None)
    assert [one["meant"] for one in judgement["work"]] == [True]


def test_a_trigger_that_waits_for_the_commit_counts(lab: Lab) -> None:
    deferred = AUDIT.replace("create trigger", "create constraint trigger").replace(
        "on job for", "on job deferrable initially deferred for"
    )
    path = audited(lab, session("session_replication_role", '"origin"', '"replica"'), deferred)
    (one,) = judged(lab, path, code=1)["work"]
    assert (one["how"], one["rows"], one["baseline_rows"]) == ("writes", 1, 2)


def test_an_option_that_counts_nothing_beside_the_clock_does_not_win(lab: Lab) -> None:
    more = "[workload.statements.first]\nsql = 'set transaction isolation level repeatable read'\n"
    more += "[workload.transactions.t]\nbegin = true\nstatements = ['first', 'look']"
    path = study(
        lab.folder, schema=SALES, sql="select count(*) from sale where c = :c and now() is not null",
        parameters=C, more=more, factor=session("search_path", '"live"', '"stage"'),
    )  # fmt: skip
    assert [one["how"] for one in judged(lab, path, code=1)["work"]] == ["value"]


@pytest.mark.parametrize(
    ("schema", "sql"),
    [
        # chance behind a name
        (
            "create view live.seen as select * from live.sale where random() < 0.999;",
            "select id from live.seen where c = :c",
        ),
        # the sum of floats depends on their order
        (
            "create table live.m as select n % 10 as c, (n * 7919 % 1000003 / 7.0)::real as v"
            " from generate_series(1, 20000) n; create index on live.m (c, v);",
            "select sum(v) from live.m where c = :c % 10",
        ),
    ],
)
def test_what_a_server_may_choose_is_no_other_work(lab: Lab, schema: str, sql: str) -> None:
    differs_by_choice(lab, schema, sql)


def test_a_server_that_does_not_count_rows_is_no_other_work(lab: Lab) -> None:
    assert judged(lab, audited(lab, session("track_counts", "true", "false")))["work"] == []
