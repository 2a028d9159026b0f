"""No option wins that did other work: rows, commits and keys, on real servers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import servers
from at_address import direct
from equal_work import (
    FLAT_OUT,
    ID,
    KEYS,
    PAUSE,
    SALES,
    C,
    audited,
    differs_by_choice,
    judged,
    session,
    study,
    sums,
)
from java_engine import PGJDBC, needs_java
from laboratory import Lab

from steelyard.bundle.reader import Bundle


def test_an_option_that_finds_no_rows_does_not_win(lab: Lab) -> None:
    path = study(
        lab.folder, schema=SALES, sql="select id from sale where c = :c", parameters=C,
        factor=session("search_path", '"live"', '"stage"'),
    )  # fmt: skip
    judgement = judged(lab, path, code=1)
    assert judgement["verdict"]["outcome"] == "unequal work"
    (one,) = judgement["work"]
    assert (one["statement"], one["option"], one["rows"], one["baseline_rows"]) == ("look", "B", 0, 50)


def test_rows_that_are_meant_to_differ_are_no_unequal_work(lab: Lab) -> None:
    path = study(
        lab.folder, schema=SALES, sql="select id from sale where c = :c",
        parameters=f"{C}\nrows = 'may differ'", factor=session("search_path", '"live"', '"stage"'),
    )  # fmt: skip
    judgement = judged(lab, path)
    assert judgement["verdict"]["outcome"] != "unequal work" and judgement["verdict"]["winner"] is None
    assert [one["meant"] for one in judgement["work"]] == [True]


def test_another_number_in_a_single_row_is_other_work(lab: Lab) -> None:
    path = study(
        lab.folder, schema=SALES, sql="select count(*) from sale",
        factor=session("search_path", '"live"', '"stage"'),
    )  # fmt: skip
    assert [one["how"] for one in judged(lab, path, code=1)["work"]] == ["value"]


def test_a_hundredth_of_rows_is_seen_under_load(lab: Lab) -> None:
    # the rehearsal's 40 draws of 5,000 keys seldom meet one of the 50 that are not there
    fewer = SALES + "insert into stage.sale select * from live.sale where id % 100 <> 7;"
    path = study(
        lab.folder, schema=fewer, sql="select id from sale where id = :c", workload=FLAT_OUT,
        parameters="parameters = { c = { kind = 'uniform', low = 1, high = 5000 } }",
        factor=session("search_path", '"live"', '"stage"'),
    )  # fmt: skip
    (one,) = judged(lab, path, code=1)["work"]
    assert one["how"] == "rows" and 0.95 < one["rows"] < 1 == one["baseline_rows"]


@pytest.mark.parametrize("how", ["--dry-run", "--quick"])
def test_a_transaction_that_nothing_ends_is_refused(lab: Lab, how: str) -> None:
    more = "[workload.statements.put]\nsql = 'insert into job values (1, 1)'\n"
    more += "[workload.transactions.pay]\nstatements = ['look', 'put']"
    factor = 'scope = "client"\nsetting = "statements.look.sql"\nlevels = { ONE = "select 1", BEG = "begin" }'
    done = lab.run("run", study(lab.folder, schema=KEYS, more=more, factor=factor), how)
    assert done.returncode == 2 and "workload.transactions.pay: option BEG" in done.stderr


@pytest.mark.needs("MariaDB")
def test_a_session_without_autocommit_is_refused(lab: Lab) -> None:
    path = study(
        lab.folder, kind="mariadb", schema=KEYS, sql="insert into job values (:id, 1)",
        parameters=ID.format("unique"), factor=session("autocommit", "true", "false"),
    )  # fmt: skip
    done = lab.run("run", path, "--bundle", lab.bundle)
    assert done.returncode == 2 and "option B" in done.stderr and "begin = true" in done.stderr
    assert not lab.bundle.exists()


def test_options_that_write_have_keys_of_their_own(lab: Lab) -> None:
    path = study(
        lab.folder, schema=KEYS + "insert into job select n, 0 from generate_series(1, 20000) n;",
        sql="update job set done = 1 where id = :id and done = 0",
        parameters=ID.format("sequence"), blocks="2",
    )  # fmt: skip
    judged(lab, path)
    found = sums(lab)
    assert len(found) == 4 and all(executions == rows > 0 == empty for executions, rows, empty in found)


def test_a_function_that_writes_is_found_by_the_server(lab: Lab) -> None:
    schema = KEYS + (
        "create function put(id bigint) returns void language sql as $$ insert into job values (id, 1) $$;"
    )
    judged(lab, study(lab.folder, schema=schema, sql="select put(:id)", parameters=ID.format("unique")))
    bundle = Bundle(lab.bundle)
    assert bundle.columns("select statement from rehearsal where step = 'write'")["statement"].tolist() == [
        "look"
    ]
    assert all(executions > 0 for executions, _, _ in sums(lab))
    assert bundle.columns("select sum(errors) as n from transactions")["n"].tolist() == [0]


def test_a_trigger_that_does_not_fire_is_other_work(lab: Lab) -> None:
    path = audited(lab, session("session_replication_role", '"origin"', '"replica"'))
    (one,) = judged(lab, path, code=1)["work"]
    assert (one["how"], one["rows"], one["baseline_rows"]) == ("writes", 1, 2)


def test_an_option_that_counts_nothing_does_not_win(lab: Lab) -> None:
    more = "[workload.statements.first]\nsql = 'set transaction isolation level repeatable read'\n"
    more += "[workload.transactions.t]\nbegin = true\nstatements = ['first', 'look']"
    path = study(
        lab.folder, schema=SALES, sql="select sum(id) from sale where c = :c", parameters=C, more=more,
        factor=session("search_path", '"live"', '"stage"'),
    )  # fmt: skip
    assert [one["how"] for one in judged(lab, path, code=1)["work"]] == ["value"]


def test_what_a_server_may_choose_is_no_other_work(lab: Lab) -> None:
    # any row, chosen by the plan
    index = "create index on live.sale (c, id desc);"
    differs_by_choice(lab, index, "select id from live.sale where c = :c limit 1")


def test_sqlite_counts_what_foreign_keys_delete(lab: Lab) -> None:
    schema = """
    create table parent (id integer primary key);
    create table child (id integer primary key, parent int references parent (id) on delete cascade);
    create index child_parent on child (parent);
    with recursive s(n) as (select 1 union all select n + 1 from s where n < 1000)
    insert into parent select n from s;
    insert into child select id, id from parent;
    """
    factor = "scope = 'server'\nsetting = 'foreign_keys'\nlevels = { A = 1, B = 0 }"
    path = study(
        lab.folder, kind="sqlite", schema=schema, sql="delete from parent where id = :id", factor=factor,
        parameters="parameters = { id = { kind = 'uniform', low = 1, high = 1000 } }",
    )  # fmt: skip
    differences = judged(lab, path, code=1)["work"]
    assert ("writes", 1, 2) in [(one["how"], one["rows"], one["baseline_rows"]) for one in differences]


@pytest.mark.needs("MariaDB")
def test_an_engine_that_cannot_roll_back_is_no_other_work(lab: Lab) -> None:
    path = study(
        lab.folder, kind="mariadb", schema=KEYS + "insert into job select seq, 0 from seq_1_to_50;",
        sql="insert into job values (:id, 1) on duplicate key update done = if(done >= 1, 0, done + 1)",
        parameters="parameters = { id = { kind = 'uniform', low = 1, high = 100 } }",
        factor="scope = 'schema'\nlevels = { A = 'select 1', B = 'alter table job engine = aria' }",
    )  # fmt: skip
    assert judged(lab, path)["work"] == []


def test_a_transaction_that_is_rolled_back_keeps_no_rows(lab: Lab) -> None:
    more = "[workload.statements.open]\nsql = 'begin'\n[workload.statements.put]\n"
    more += "sql = 'insert into job select count(*), 1 from job'\n"
    more += "[workload.transactions.pay]\nstatements = ['open', 'put', 'look']"
    factor = 'scope = "client"\nsetting = "statements.look.sql"\nlevels = { A = "commit", B = "rollback" }'
    path = study(lab.folder, schema=KEYS.replace("primary key", ""), sql="commit", more=more, factor=factor)
    (one,) = judged(lab, path, code=1)["work"]
    assert (one["how"], one["statement"], one["rows"], one["baseline_rows"]) == ("writes", "pay", 0, 1)


@pytest.mark.needs("MariaDB")
def test_errors_that_a_procedure_catches_are_other_work(lab: Lab) -> None:
    procedure = (
        "create procedure pay(k bigint) begin declare continue handler for sqlexception begin end;"
        " update job set done = done + 1 where id + 0 = k; end"
    )
    path = study(
        lab.folder, kind="mariadb", sql="call pay(:k)",
        schema=f"{KEYS} insert into job select seq, 0 from seq_1_to_300; {procedure}",
        parameters="parameters = { k = { kind = 'uniform', low = 1, high = 300 } }",
        factor=session("sql_safe_updates", "0", "1"),
    )  # fmt: skip
    (one,) = judged(lab, path, code=1)["work"]
    assert (one["how"], one["rows"]) == ("writes", 0)


@pytest.fixture
def server() -> Iterator[servers.Server]:
    with servers.postgres() as running:
        running.ask("create table job (id bigint primary key, done int not null)")
        yield running


def test_at_an_address_numbers_are_dealt_and_never_begin_again(lab: Lab, server: servers.Server) -> None:
    def at(generator: str) -> Path:
        return study(
            lab.folder, subject=f'dsn = "{direct(server)}"\nwrites = true', blocks="2",
            sql="insert into job values (:id, 1)", parameters=f"parameters = {{ id = {{ {generator} }} }}",
        )  # fmt: skip

    done = lab.run("run", at("kind = 'unique'"), "--dry-run")
    assert done.returncode == 2 and "unique needs start" in done.stderr
    judged(lab, at("kind = 'unique', start = 1000"))
    assert Bundle(lab.bundle).columns("select sum(errors) as n from transactions")["n"].tolist() == [0]
    assert server.ask("select min(id) from job") == 1000
    again = lab.run("run", at("kind = 'unique', start = 1000"), "--bundle", lab.folder / "again")
    assert again.returncode == 2 and "duplicate key" in again.stderr and "start of unique" in again.stderr


def test_a_sequence_that_ends_has_run_out(lab: Lab) -> None:
    path = study(
        lab.folder, schema=KEYS + "insert into job select n, 0 from generate_series(1, 100) n;",
        sql="update job set done = 1 where id = :id", workload=FLAT_OUT,
        parameters="parameters = { id = { kind = 'sequence', to = 100 } }",
    )  # fmt: skip
    assert {one["how"] for one in judged(lab, path, code=1)["work"]} == {"ran out"}


@needs_java
def test_a_driver_does_the_same_work_as_the_native_engine(lab: Lab) -> None:
    path = study(
        lab.folder,
        schema=SALES + "create table kind (f float8, n numeric(9, 3), d date, t text, b bool);"
        " insert into kind select n / 7.0, n / 3.0, date '2024-01-01' + n, null, n > 3"
        " from generate_series(1, 9) n;",
        sql="select * from kind, live.sale where c = :c", parameters=C, workload=f'handle = "named"\n{PAUSE}',
        factor=f'scope = "client"\nsetting = "driver"\nlevels = {{ NATIVE = "", JDBC = "{PGJDBC}" }}',
    )  # fmt: skip
    assert judged(lab, path)["work"] == []
    answers = Bundle(lab.bundle).columns(
        "select option, answer from rehearsal where step = 'work' order by 1"
    )
    assert answers["answer"].tolist() == ["", ""]


def test_new_connections_have_executed_their_statements_before_their_load(lab: Lab) -> None:
    path = study(
        lab.folder, schema=KEYS, sql="insert into job values (:id, 1)", parameters=ID.format("unique"),
        factor='scope = "client"\nsetting = "handle"\nlevels = { A = "named", B = "none" }',
    )  # fmt: skip
    judged(lab, path)
    # what they have executed is rolled back, and takes no number
    assert all(executions == rows for executions, rows, _ in sums(lab))
