"""Logs in the shape of public reports, which were once replayed wrong; each with its right result."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from pathlib import Path

import pytest
from postgres_logs import as_csv, record

from steelyard.captures.entry import CALLED, FAILED, INCOMPLETE, Records
from steelyard.captures.folder import capture
from steelyard.captures.formats.registry import format_of
from steelyard.captures.mix import write_mix
from steelyard.errors import InputError
from steelyard.study.load_study import find_study
from steelyard.study.workloads.statements import StatementWorkload
from steelyard.workloads.replay import Capture, sessions

CASES = Path(__file__).parent / "cases"


def captured(folder: Path, *names: str, database: str = "") -> tuple[Capture, list[str]]:
    """The header, and what is executed: texts, and values of classes that bind them."""
    file = folder / "load.capture"
    header = capture([CASES / name for name in names], file, database)
    said = [
        (values[0] or "") if header.classes[number].takes != "values" else header.classes[number].sql
        for one in sessions(file)
        for _, number, values in one
    ]
    assert len(said) == header.events == sum(one.executions for one in header.classes)
    return header, said


def log(folder: Path, records: list[dict[str, str]], name: str = "log.csv") -> Path:
    (folder / name).write_text(as_csv(records), encoding="utf-8")
    return folder / name


WHOLE = [("and-chain.csv", 8), ("autocommit-toggle.log", 32), ("ddl-commits.log", 23), ("dots.csv", 5)]


@pytest.mark.parametrize(("name", "count"), WHOLE)
def test_nothing_is_left_out_of_these(tmp_path: Path, name: str, count: int) -> None:
    header, said = captured(tmp_path, name)
    assert (len(said), header.left_out) == (count, {})


def test_rolled_back_work_stays_rolled_back(tmp_path: Path) -> None:
    _, said = captured(tmp_path, "rollback-deallocate.csv")
    assert [text.lower() for text in said[:3]] == [
        "begin",
        "update account set balance = 0 where id = 1",
        "rollback",
    ]
    assert [text.lower() for text in said[3:]] == [
        "begin",
        "select balance from account where id = 2",
        "commit",
    ]


def test_an_error_without_its_text_undoes_its_transaction(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no statement to execute") as refused:
        captured(tmp_path, "error-without-text.csv")
    assert FAILED in refused.value.hint


def test_a_name_with_a_colon_is_a_name(tmp_path: Path) -> None:
    header, said = captured(tmp_path, "colon-name.csv")
    assert (len(said), len(header.classes)) == (4, 3)


def test_calls_of_the_fast_path_are_counted(tmp_path: Path) -> None:
    header, said = captured(tmp_path, "fastpath.csv")
    assert (said, header.left_out) == (["select 1"], {CALLED: 1})
    assert header.first[CALLED] == f"{CASES / 'fastpath.csv'}:1"


def test_messages_in_another_language_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"french\.csv:1: a record that is not understood") as refused:
        captured(tmp_path, "french.csv")
    assert "lc_messages = 'C'" in refused.value.hint


@pytest.mark.parametrize("back", [False, True])
def test_the_hour_of_the_clock_is_no_pause(tmp_path: Path, back: bool) -> None:
    text = (CASES / "clock-change.csv").read_text(encoding="utf-8")
    if not back:
        # in spring: 01:59 CET, then 03:00 CEST
        text = re.sub(r" 02:(5\d):(\S+) CEST", r" 01:\1:\2 CET", text)
        text = re.sub(r" 02:(0\d):(\S+) CET", r" 03:\1:\2 CEST", text)
    (tmp_path / "log.csv").write_text(text, encoding="utf-8")
    header = capture([tmp_path / "log.csv"], tmp_path / "c")
    assert round(header.duration_s) == 300
    assert [one[0][2] for one in sessions(tmp_path / "c")] == [[f"select {n}"] for n in range(6)]


def test_times_that_go_back_are_named(tmp_path: Path) -> None:
    line = "duration: 1 ms  statement: select {}"
    records = [record(n, line.format(n)) for n in (200, 10, 11)]
    with pytest.raises(InputError, match=r"log\.csv:2: the times go back by 190 s"):
        capture([log(tmp_path, records)], tmp_path / "c")
    local = "261025  2:{}:00\t     3 Query\tselect 1\n"
    (tmp_path / "general.log").write_text(local.format(59) + local.format("00"), encoding="utf-8")
    with pytest.raises(InputError, match=r"general\.log:2: the times go back by 3540 s"):
        capture([tmp_path / "general.log"], tmp_path / "c")


@pytest.mark.parametrize("names", [("day-Mon.csv", "day-Sun.csv"), ("day-Sun.csv", "day-Mon.csv")])
def test_files_are_taken_in_the_order_of_their_times(tmp_path: Path, names: tuple[str, str]) -> None:
    header, said = captured(tmp_path, *names)
    assert (said[0].lower(), said[-1].lower(), header.left_out) == ("select 7", "commit", {})


@pytest.mark.parametrize("other", ["twice.json", "twice.csv"])
def test_the_same_lines_count_once(tmp_path: Path, other: str) -> None:
    header, said = captured(tmp_path, "twice.csv", other)
    assert said == [f"insert into item values ({n})" for n in range(5)]
    assert list(header.left_out.values()) in ([5], [])


def test_the_same_general_log_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "b.log").write_bytes((CASES / "ddl-commits.log").read_bytes())
    with pytest.raises(InputError, match="has the records of"):
        captured(tmp_path, "ddl-commits.log", str(tmp_path / "b.log"))


def test_percona_names_databases_and_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"shop \(3\), stock \(2\)"):
        captured(tmp_path, "slow-two-databases.log")
    header, said = captured(tmp_path, "slow-two-databases.log", database="shop")
    assert len(said) == 2 and header.left_out[FAILED] == 1


def traced(executions: int, lengths: int) -> list[dict[str, str]]:
    """A statement whose texts differ in a trace id, and in the length of a list."""
    found: list[dict[str, str]] = []
    for n in range(executions):
        size = n % lengths + 1
        items = ", ".join(f"${at + 1}" for at in range(size))
        sql = f"select balance from account where id in ({items}) /*traceparent='00-{n:032x}-01'*/"
        detail = "Parameters: " + ", ".join(f"${at + 1} = '{at}'" for at in range(size))
        found.append(record(n / 1000, f"duration: 1.000 ms  execute <unnamed>: {sql}", detail=detail))
    return found


def test_comments_and_lengths_of_lists_make_no_classes_and_each_text_is_sent(tmp_path: Path) -> None:
    header = capture([log(tmp_path, traced(300, 40))], tmp_path / "c")
    (one,) = header.classes
    assert (one.name, one.takes, one.count, one.executions) == (
        "select balance from account where id in (?)", "text-values", 40, 300,
    )  # fmt: skip
    sent = [values for session in sessions(tmp_path / "c") for _, _, values in session]
    assert len({values[0] for values in sent}) == 300
    assert [len(values) - 1 for values in sent] == [n % 40 + 1 for n in range(300)]


def test_classes_in_memory_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.captures.selection._TEXTS_MAX", 5)
    records = [record(n, f"duration: 1 ms  statement: select {'a' * n} from t") for n in range(1, 21)]
    header = capture([log(tmp_path, records)], tmp_path / "c")
    assert {one.name: one.executions for one in header.classes}["other statements"] == 15
    assert header.events == 20


def test_each_record_is_a_statement_or_counted(tmp_path: Path) -> None:
    messages = [
        "duration: 1 ms  parse <unnamed>: select $1", "duration: 1 ms  bind <unnamed>: select $1",
        "duration: 1 ms  execute <unnamed>: select 1", "statement: select 2", "duration: 2 ms",
        "connection authorized: user=app", "duration: 1 ms  execute fetch from a/C_1: select 1",
        "automatic vacuum of table \"t\": index scans: 0, elapsed: 0.100 ms", "checkpoint starting: time",
    ]  # fmt: skip
    records = [record(n, message) for n, message in enumerate(messages)]
    records.append(record(20, "duplicate key", error_severity="ERROR", statement="insert into t values (1)"))
    records.append(record(21, "terminating connection", error_severity="FATAL"))
    file = log(tmp_path, records)
    found = Records()
    entries = list(format_of(file).read(file, found))
    assert len(entries) + found.left_out.total() + found.beside.total() == len(records)
    assert found.beside.total() == 3 + 4 and sum(bool(one.flaw) for one in entries) == 2
    for name in ("autocommit-toggle.log", "slow-two-databases.log", "ddl-commits.log"):
        text = (CASES / name).read_text(encoding="utf-8")
        found = Records()
        count = len(list(format_of(CASES / name).read(CASES / name, found)))
        heads = re.findall(r"^# User@Host|^(?:\d{6} [ \d:]{8})?\t+ +\d+ ", text, re.MULTILINE)
        assert count + found.left_out.total() + found.beside.total() == len(heads)


def test_plans_and_times_of_connections_are_no_statements(tmp_path: Path) -> None:
    plan = "duration: 4.401 ms  plan:\nQuery Text: select 1\nResult  (cost=0.00..0.01 rows=1 width=4)"
    ready = "connection ready: setup total=8.123 ms, fork=1.111 ms, authentication=2.123 ms"
    messages = [ready, "duration: 1 ms  statement: select 1", plan]
    header = capture([log(tmp_path, [record(n, one) for n, one in enumerate(messages)])], tmp_path / "c")
    assert (header.events, header.left_out, sum(header.beside.values())) == (1, {}, 2)


def test_an_error_is_of_the_statement_that_it_names(tmp_path: Path) -> None:
    # log_statement = 'all' without log_duration; what cannot be parsed has no line of its own
    begun = record(1, "statement: insert into t values (1)")
    for other in (
        record(2, "syntax error", error_severity="ERROR", statement="selec 1"),
        record(2, "terminating connection due to administrator command", error_severity="FATAL"),
    ):
        header = capture([log(tmp_path, [begun, other])], tmp_path / "c")
        assert header.events == 1
        assert header.left_out.get(FAILED, 0) == (other["error_severity"] == "ERROR")


def test_a_duration_alone_is_a_statement_that_the_log_leaves_out(tmp_path: Path) -> None:
    # log_duration = on, and log_min_duration_statement = 250
    records = [
        record(1, "duration: 0.1 ms", ps="PARSE"),
        record(2, "duration: 0.1 ms", ps="BIND"),
        record(3, "duration: 0.1 ms", ps="SELECT"),
        record(4, "duration: 260 ms  statement: select 1", ps="SELECT"),
        # log_statement = 'all': each of these has the duration behind it
        record(5, "statement: select 2", ps="idle"),
        record(6, "duration: 0.1 ms", ps="SELECT"),
        record(7, "execute fetch from a/C_1: select 3", ps="SELECT"),
        record(8, "duration: 0.1 ms", ps="SELECT"),
    ]
    header = capture([log(tmp_path, records)], tmp_path / "c")
    assert header.events == 2 and sum(header.beside.values()) == 4
    assert [(count, reason[:24]) for reason, count in header.left_out.items()] == [
        (1, "statements with a durati"), (1, "partial fetches of a res"),
    ]  # fmt: skip


def test_errors_of_processes_of_the_server_are_no_statements(tmp_path: Path) -> None:
    own = {"error_severity": "ERROR", "dbname": "", "session_id": "p"}
    records = [
        record(1, "duration: 1 ms  statement: select 1"),
        record(2, "canceling autovacuum task", **own),
        record(3, "WAL segment has been removed", **own, statement="START_REPLICATION 0/3 TIMELINE 1"),
    ]
    header = capture([log(tmp_path, records)], tmp_path / "c")
    assert (header.events, header.left_out, sum(header.beside.values())) == (1, {}, 2)


def general(folder: Path, name: str, *lines: tuple[str, str]) -> Path:
    """Of thread 12, behind the header that FLUSH LOGS writes as well."""
    text = "mysqld, Version: 8.0.36 (MySQL). started with:\nTcp port: 3306\nTime   Id Command    Argument\n"
    for command, argument in lines:
        text += f"2024-05-01T10:00:00.123+02:00\t   12 {command}\t{argument}\n"
    (folder / name).write_text(text)
    return folder / name


CONNECT = ("Connect", "app@localhost on shop using TCP/IP")
WORK = (("Query", "begin"), ("Query", "update t set a = 1"))


def test_a_change_of_the_user_undoes_what_is_open(tmp_path: Path) -> None:
    change = ("Change user", "app@localhost on shop")
    file = general(tmp_path, "a.log", CONNECT, *WORK, change, *WORK, ("Query", "commit"))
    header = capture([file], tmp_path / "c")
    assert (header.events, sum(header.left_out.values()), len(header.sessions)) == (3, 2, 1)


def test_a_session_goes_on_in_the_next_file_and_ends_with_the_server(tmp_path: Path) -> None:
    first = general(tmp_path, "a.log", CONNECT, *WORK)
    # mysqladmin flush-logs, of a log that was moved, and of one that was not
    second = general(tmp_path, "b.log", ("Query", "commit"))
    assert capture([first, second], tmp_path / "c").events == 3
    first.write_text(first.read_text() + second.read_text())
    assert capture([first], tmp_path / "c").events == 3
    # the server was started again
    second = general(tmp_path, "b.log", CONNECT, ("Query", "select 1"), ("Query", "commit"))
    header = capture([general(tmp_path, "a.log", CONNECT, *WORK), second], tmp_path / "c")
    assert list(header.left_out.values()) == [2, 1] and header.events == 1


def test_sessions_whose_database_is_not_known_are_not_lost(tmp_path: Path) -> None:
    file = general(tmp_path, "a.log", ("Query", "update t set a = 1"), CONNECT, ("Query", "select 1"))
    header = capture([file], tmp_path / "c")
    assert (header.events, header.left_out) == (2, {})
    change = ("Change user", "app@localhost on stock")
    file = general(tmp_path, "a.log", WORK[1], CONNECT, WORK[1], change, WORK[1])
    with pytest.raises(InputError, match="several databases"):
        capture([file], tmp_path / "c")
    assert capture([file], tmp_path / "c", "shop").left_out == {"statements of other databases": 2}


def slow(sql: str, *heads: str, ids: str = "") -> str:
    return (
        "# Time: 2024-05-01T10:00:00.123456Z\n# User@Host: app[app] @ localhost []  Id:     8\n"
        "# Query_time: 0.000123  Lock_time: 0.000001 Rows_sent: 0  Rows_examined: 0"
        + "".join(f"{head}\n" for head in heads or ("",))
        + f"SET {ids}timestamp=1714550400;\n{sql};\n"
    )


def test_a_slow_log_has_ids_of_inserts_deadlocks_and_statements_of_procedures(tmp_path: Path) -> None:
    file = tmp_path / "slow.log"
    work = [slow("begin"), slow("insert into t values (null)", ids="last_insert_id=4,insert_id=5,")]
    victim = slow("update t set a = 1", " Thread_id: 8 Errno: 1213 Killed: 0 Bytes_received: 1")
    nested = slow("update t set a = 2", "", "# Stored_routine: shop.p")
    file.write_text("".join([*work, victim, *work, slow("commit"), slow("call p()"), nested]))
    header = capture([file], tmp_path / "c")
    assert header.events == 4 and list(header.left_out.values()) == [2, 1, 1]
    assert any(note.startswith("calls of procedures") for note in header.notes)


def test_a_slow_log_with_a_sample_of_statements_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "slow.log"
    rate = "# Log_slow_rate_type: query  Log_slow_rate_limit: "
    file.write_text(slow("select 1", "", f"{rate}1") + slow("select 2", "", f"{rate}100"))
    with pytest.raises(InputError, match=r"slow\.log:8: some of the statements") as refused:
        capture([file], tmp_path / "c")
    assert "log_slow_rate_limit = 1" in refused.value.hint


def test_a_mix_says_which_lists_were_cut_and_has_no_savepoints(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text(
        'query,calls\n"select a from t where b in ($1 /*, ... */)",10\nsavepoint $1,90\nfetch $1 from c,9\n'
    )
    said = write_mix([tmp_path / "s.csv"], tmp_path / "out", None)
    assert "1 statements with lists that pg_stat_statements has cut: one value stands for a list" in said
    assert any("left out: 2 texts that are no statement to repeat" in line for line in said)


def test_a_log_of_stderr_is_refused_with_the_setting(tmp_path: Path) -> None:
    file = tmp_path / "postgresql.log.2026-11-22-10"
    file.write_text(
        "2026-11-22 10:00:00 UTC:192.0.2.1(5432):app@shop:[4711]:LOG:  duration: 1.000 ms  statement: x\n"
    )
    with pytest.raises(InputError, match="stderr") as refused:
        format_of(file)
    assert "log_destination = 'csvlog'" in refused.value.hint


def test_users_of_a_log_are_said(tmp_path: Path) -> None:
    text = log(tmp_path, [record(n, f"duration: 1 ms  statement: select {n}") for n in range(2)]).read_text()
    rows = list(csv.reader(io.StringIO(text)))
    rows[1][1] = "reports"
    with (tmp_path / "log.csv").open("w", newline="") as out:
        csv.writer(out).writerows(rows)
    header = capture([tmp_path / "log.csv"], tmp_path / "c")
    assert [count for note, count in header.notes.items() if note.startswith("users")] == [2]


def test_a_mix_draws_values_as_often_as_the_log_has_them(tmp_path: Path) -> None:
    sql = "duration: 1 ms  execute <unnamed>: select balance from account where id = $1"
    values = [1] * 380 + list(range(1000, 1020))
    records = [record(n / 100, sql, detail=f"Parameters: $1 = '{value}'") for n, value in enumerate(values)]
    write_mix([CASES / "mix-skew.csv", log(tmp_path, records)], tmp_path / "out", None)
    workload = find_study(str(tmp_path / "out" / "study.toml"))[0].workload
    assert isinstance(workload, StatementWorkload)
    drawn = Counter(workload.statements["q1"].parameters["p1"].model_dump()["values"])
    assert drawn["1"] / drawn.total() == 0.95


def test_a_mix_takes_one_database_and_no_statement_twice(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text(
        "datname,toplevel,query,calls\nshop,t,select 1,10\nbank,t,select 1,90\nshop,f,select 2,5\n"
    )
    with pytest.raises(InputError, match=r"shop \(10 calls\), bank \(90 calls\)"):
        write_mix([tmp_path / "s.csv"], tmp_path / "out", None)
    said = write_mix([tmp_path / "s.csv"], tmp_path / "out", None, "shop")
    assert any("left out: 1 statements within functions" in line for line in said)
    assert find_study(str(tmp_path / "out" / "study.toml"))[0].workload.model_dump()["statements"].keys() == {
        "q1"
    }


def test_a_record_that_is_cut_is_counted_with_its_place(tmp_path: Path) -> None:
    file = log(tmp_path, [record(n, f"duration: 1 ms  statement: select {n}") for n in range(3)])
    file.write_text(file.read_text()[:-20])
    header = capture([file], tmp_path / "c")
    assert (header.left_out, header.first) == ({INCOMPLETE: 1}, {INCOMPLETE: f"{file}:3"})
