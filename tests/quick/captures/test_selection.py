"""Which statements of a session are executed again, and classes of what differs in its values alone."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.captures.entry import COPIED, CUT, FAILED, UNDOING, Entry
from steelyard.captures.selection import GIVES, SERVER_VALUES, STATE, WRITES, Selection
from steelyard.captures.statements import Dialect, normalised, tokens


def entry(sql: str, flaw: str = "", xact: str = "") -> Entry:
    return Entry("s", 0, None, sql, flaw=flaw, xact=xact)


def selected(
    statements: Sequence[str | Entry], dialect: Dialect = "postgresql"
) -> tuple[list[str], Selection]:
    selection = Selection(dialect)
    entries = [one if isinstance(one, Entry) else entry(one) for one in statements]
    return [one.sql for one in selection.session(entries)], selection


def test_a_transaction_that_did_not_end_is_left_out() -> None:
    kept, selection = selected(["select 1", "BEGIN", "update t set a = 1"])
    assert kept == ["select 1"]
    assert sum(selection.records.left_out.values()) == 2


def test_a_transaction_with_an_error_is_left_out_whole_and_the_rest_is_kept() -> None:
    failed = entry("insert into t values (1)", FAILED)
    kept, selection = selected(["begin", "update t set a = 1", failed, "rollback", failed, "select 2"])
    assert kept == ["select 2"]
    assert selection.records.left_out[FAILED] == 2
    assert sum(selection.records.left_out.values()) == 5
    # what came before the savepoint was not undone
    kept, _ = selected(["begin", "update t set a = 1", "savepoint s", failed, "rollback to s", "commit"])
    assert kept == ["begin", "update t set a = 1", "savepoint s", "rollback to s", "commit"]
    # of MariaDB's statements only the failed one is undone
    kept, _ = selected(["begin", "update t set a = 1", failed, "commit"], "mysql")
    assert kept == ["begin", "update t set a = 1", "commit"]


def test_an_error_behind_a_savepoint_undoes_all_but_for_a_rollback_to_it() -> None:
    failed = entry("insert into t values (1)", FAILED)
    kept, selection = selected(["begin", "update t set a = 1", "savepoint s", failed, "commit", "select 1"])
    assert kept == ["select 1"]
    assert sum(selection.records.left_out.values()) == 5


def test_a_rollback_to_a_savepoint_that_failed_mends_nothing() -> None:
    failed = entry("rollback to other", FAILED)
    assert selected(["begin", "update t set a = 1", failed, "commit", "select 1"])[0] == ["select 1"]


@pytest.mark.parametrize("dialect", ["postgresql", "mysql"])
def test_a_begin_that_failed_begins_no_transaction(dialect: Dialect) -> None:
    failed = entry("start transaction read write", FAILED)
    assert selected([failed, "update t set a = 1"], dialect)[0] == ["update t set a = 1"]


def test_statements_without_a_begin_that_shared_a_transaction_end_as_it_did() -> None:
    batch = [entry("update t set a = 1", xact="3/7"), entry("update t set a = 2", xact="3/7")]
    failed = entry("insert into t values (1)", FAILED, "3/7")
    kept, selection = selected([*batch, failed, entry("select 1", xact="3/8")])
    assert kept == ["select 1"]
    assert sum(selection.records.left_out.values()) == 3
    kept, _ = selected([*batch, entry("deallocate p", xact="3/7"), failed, "select 1"])
    assert kept == ["select 1"]
    # each in a transaction of its own
    assert selected([batch[0], entry("insert into t values (1)", FAILED, "3/8")])[0] == [batch[0].sql]
    # a begin takes in what the batch did before it
    begun = [*batch, entry("begin", xact="3/7"), entry("select 2", xact="3/7"), entry("commit", xact="3/7")]
    assert len(selected(begun)[0]) == 5


def test_a_deadlock_undoes_the_transaction_of_its_victim() -> None:
    work, victim = ["begin", "update t set a = 1"], entry("update t set a = 2", UNDOING)
    kept, selection = selected([*work, victim, *work, "commit"], "mysql")
    assert kept == [*work, "commit"]
    assert selection.records.left_out[UNDOING] == 1 and selection.records.left_out.total() == 3
    assert selected([*work, entry("commit", UNDOING)], "mysql")[0] == []
    # it has ended: what follows is committed by itself
    assert selected([*work, victim, "update t set a = 3"], "mysql")[0] == ["update t set a = 3"]


def test_a_transaction_of_xa_ends_where_it_is_prepared() -> None:
    work = ["xa start 'a'", "update t set a = 1", "xa end 'a'"]
    assert selected(work, "mysql")[0] == []
    prepared = [*work, "xa prepare 'a'"]
    assert selected(prepared, "mysql")[0] == prepared
    for end in ("xa commit 'a'", "xa rollback 'a'"):
        assert selected([*prepared, end], "mysql")[0] == [*prepared, end]
        # by another session
        assert selected([end], "mysql")[0] == [end]
    assert len(selected([*work, "xa commit 'a' one phase"], "mysql")[0]) == 4


@pytest.mark.parametrize(
    "off",
    [
        "set autocommit=0, session_track_schema=1, sql_mode = concat(@@sql_mode, ',STRICT_TRANS_TABLES')",
        "SET sql_mode = '', SESSION autocommit = OFF",
        "SET LOCAL autocommit := 0",
        "set names utf8mb4, @@session.autocommit = 0",
        "/*!40101 SET autocommit=0 */",
    ],
)
def test_autocommit_is_seen_wherever_a_list_sets_it(off: str) -> None:
    kept, _ = selected([off, "update t set a = 1", "commit", "update t set a = 2"], "mysql")
    assert kept == [off, "update t set a = 1", "commit"]
    kept, _ = selected([off, "update t set a = 1", "set autocommit=default", "update t set a = 2"], "mysql")
    assert len(kept) == 4
    assert len(selected(["set global autocommit=0", "update t set a = 1"], "mysql")[0]) == 2


def test_a_chained_transaction_begins_where_the_one_before_it_ends() -> None:
    chain = ["begin", "update t set a = 1", "commit and chain", "update t set a = 2", "rollback"]
    assert selected(chain)[0] == chain
    # the second failed: what the first did is kept, and the chain still ends
    failed = entry("insert into t values (1)", FAILED)
    kept, _ = selected([*chain[:4], failed, "rollback", "select 1"])
    assert kept == [*chain[:3], "rollback", "select 1"]
    # the second did not end
    kept, selection = selected([*chain[:4], "select 1"])
    assert kept == chain[:3] and sum(selection.records.left_out.values()) == 2


@pytest.mark.parametrize(
    ("statements", "kept"),
    [
        (["ROLLBACK; DEALLOCATE ALL"], []),
        (["begin", "select 1", "ROLLBACK; DEALLOCATE ALL"], ["begin", "select 1", "ROLLBACK"]),
        (["begin", "COMMIT; DISCARD ALL", "select 2"], ["begin", "COMMIT", "select 2"]),
        (["deallocate all"], []),
        (["begin", "prepare transaction 'a'", "deallocate all"], ["begin", "prepare transaction 'a'"]),
    ],
)  # fmt: skip
def test_a_release_beside_an_end_leaves_the_end(statements: list[str], kept: list[str]) -> None:
    assert selected(statements)[0] == kept


def test_the_server_of_mariadb_commits_where_its_manual_says_so() -> None:
    toggled = ["set autocommit=0", "update t set a = 1", "SET SESSION autocommit = 1", "update t set a = 2"]
    assert selected(toggled, "mysql")[0] == toggled
    defined = ["begin", "update t set a = 1", "create table c (a int)", "update t set a = 2", "commit"]
    assert selected(defined, "mysql")[0] == defined
    dumped = [
        "/*!40100 begin */",
        "update t set a = 1",
        "/*!40000 ALTER TABLE `t` DISABLE KEYS */",
        "rollback",
    ]
    assert selected(dumped, "mysql")[0] == dumped
    assert selected([*dumped[:2], "select 1"], "mysql")[0] == []
    temporary = ["begin", "create temporary table c (a int)", "update t set a = 2"]
    assert selected(temporary, "mysql")[0] == []
    # a transaction that begins ends the one that is open
    begun = ["begin", "update t set a = 1", "start transaction", "update t set a = 2"]
    assert selected(begun, "mysql")[0] == begun[:3]


def test_without_autocommit_what_was_not_committed_is_left_out() -> None:
    kept, _ = selected(["SET AUTOCOMMIT = 0", "update t set a = 1", "commit", "update t set a = 2"], "mysql")
    assert kept == ["SET AUTOCOMMIT = 0", "update t set a = 1", "commit"]


def test_a_commit_whose_begin_was_not_captured_is_left_out_and_one_without_effect_is_not() -> None:
    kept, selection = selected(["commit", "select 1", "begin; update t set a = 1; commit", "rollback"])
    assert [*selection.records.left_out] == ["commits without a begin in the capture"]
    assert kept == ["select 1", "begin; update t set a = 1; commit", "rollback"]


def test_reasons_and_notes_are_counted() -> None:
    kept, selection = selected(
        [
            "copy t from stdin",
            "select 'it",
            "insert into t values (now()) returning id",
            "select nextval('s')",
            "set work_mem = '4MB'",
            "create temporary table x (a int)",
            "select 1",
        ]
    )
    assert len(kept) == 5
    assert selection.records.left_out == {COPIED: 1, CUT: 1}
    found = {name: selection.notes[name] for name in (SERVER_VALUES, GIVES, STATE, WRITES)}
    assert found == {SERVER_VALUES: 2, GIVES: 2, STATE: 2, WRITES: 2}
    assert not selection.read_only


@pytest.mark.parametrize(
    ("sql", "is_read"),
    [
        ("select * from t where a = 'insert into'", True),
        ("with a as (select 1) select * from a", True),
        ("with a as (delete from t returning *) select * from a", False),
        ("select * from t for update", False),
        ("select a into b from t", False),
        ("explain analyze update t set a = 1", False),
        ("select nextval('s')", False),
        ("begin; select 1; commit", True),
        ("truncate t", False),
        ("vacuum t", False),
    ],
)
def test_a_capture_is_read_only_where_no_statement_may_write(sql: str, is_read: bool) -> None:
    assert selected([sql])[1].read_only == is_read


@pytest.mark.parametrize(
    ("dialect", "sql", "classed"),
    [
        ("postgresql", "SELECT  a FROM T\n WHERE b=1 -- w\n OR c=-1.5;", "select a from t where b=? or c=?"),
        ("postgresql", "select 1 /* a /* b */ c */ + 2", "select ? + ?"),
        ("postgresql", "select /*+ SeqScan(t) */ a -- id=7", "select /*+ SeqScan(t) */ a"),
        ("postgresql", "select * from t where a in (1, 2,3)", "select * from t where a in (?)"),
        ("postgresql", "insert into t values (1, 'a'), (2, 'b')", "insert into t values (?)"),
        ("postgresql", "select $1, $body$ it's $body$, E'a\\'b', \"A b\"", 'select ?, ?, ?, "A b"'),
        ("postgresql", "select a[1:2], b::int from c1", "select a[?:?], b::int from c1"),
        ("postgresql", "select 5 - 3", "select ? - ?"),
        ("mysql", "select \"a\\\"b\", `c d` # x\n where e = 'f\\'g'", "select ?, `c d` where e = ?"),
        ("mysql", "select 0x1F, @a := 3 -- b", "select ?, @a := ?"),
    ],
)  # fmt: skip
def test_a_class_is_the_text_without_its_values(dialect: Dialect, sql: str, classed: str) -> None:
    assert normalised(sql, dialect) == classed


@given(sql=st.text(), dialect=st.sampled_from(["postgresql", "mysql"]))
def test_tokens_together_are_the_text(sql: str, dialect: Dialect) -> None:
    assert "".join(token.text for token in tokens(sql, dialect)) == sql


@given(
    values=st.lists(st.integers() | st.text(st.characters(exclude_characters="\\\0")), min_size=1),
    other=st.lists(st.integers() | st.text(st.characters(exclude_characters="\\\0")), min_size=1),
    dialect=st.sampled_from(["postgresql", "mysql"]),
)
def test_statements_that_differ_in_their_values_are_of_one_class(
    values: list[int | str], other: list[int | str], dialect: Dialect
) -> None:
    def sql(found: list[int | str]) -> str:
        texts = (str(v) if isinstance(v, int) else "'" + v.replace("'", "''") + "'" for v in found)
        return f"select * from t where a in ({', '.join(texts)}) and b = 1"

    if (len(values) > 1) == (len(other) > 1):
        assert normalised(sql(values), dialect) == normalised(sql(other), dialect)
