"""Captured traffic executed again: the engine's replay, and the rows of the capture on real servers."""

from __future__ import annotations

import base64
import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pymysql
import pytest
from laboratory import Lab
from mariadb_server import Server as MariaDB
from mariadb_server import mariadb
from postgres_logs import as_csv, record
from servers import Server, postgres

from steelyard import _core
from steelyard.captures.folder import capture
from steelyard.errors import InputError
from steelyard.study.load_study import parse_study
from steelyard.study.plan import options
from steelyard.workloads import work_of
from steelyard.workloads.load_plan import load_plan
from steelyard.workloads.replay import Capture, read_capture, sessions

STUDY = """\
name = "r"
question = "?"
subject.kind = "{subject}"
[plan]
clients = [{clients}]
warm_up_s = 0
measure_s = {measure_s}
cool_down_s = 0
[workload]
kind = "replay"
capture = "{file}"
{more}
"""


def replayed(
    file: Path, endpoint: dict[str, Any], clients: int = 2, measure_s: float = 20, more: str = ""
) -> dict[str, Any]:
    """The engine's result."""
    subject = "mariadb" if endpoint.get("protocol") == "mysql" else "postgres"
    text = STUDY.format(subject=subject, clients=clients, measure_s=measure_s, file=file, more=more)
    study = parse_study(text, str(file.parent / "study.toml"))
    option = options(study)[0]
    plan = load_plan(study, option, work_of(option.workload))
    return json.loads(_core.load_run(json.dumps({**plan, "server": endpoint}), lambda _: True))


def executed(result: dict[str, Any]) -> dict[str, int]:
    """Executions by class."""
    latency = result["latency"]
    return dict(zip(latency["statement"], latency["count"], strict=True))


def hand_made(folder: Path, session_events: Sequence[Sequence[tuple[int, int, list[str | None]]]]) -> Path:
    """A capture of `select` texts (class 0) and of `insert` with two bound values (class 1)."""
    lines = [
        "".join(json.dumps(event, separators=(",", ":")) + "\n" for event in one) for one in session_events
    ]
    index: list[tuple[int, int, int]] = []
    at = 0
    for one, text in zip(session_events, lines, strict=True):
        index.append((one[0][0], at, len(text)))
        at += len(text)
    header = Capture.model_validate(
        {
            "source": "by hand", "dialect": "postgresql", "read_only": False, "clients": 2,
            "duration_us": 1, "events": sum(map(len, session_events)), "left_out": {}, "notes": {},
            "sessions": index,
            "classes": [
                {"name": "reads", "sql": "select ?", "takes": "text", "executions": 1, "captured_us": 0},
                {"name": "writes", "sql": "insert into seen values ($1, $2)", "takes": "values", "count": 2,
                 "executions": 1, "captured_us": 0},
            ],
        }
    )  # fmt: skip
    file = folder / "load.capture"
    file.write_text(header.model_dump_json() + "\n" + "".join(lines), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def server() -> Any:
    with postgres() as found:
        found.ask("create table seen (a int, b text, at timestamptz default clock_timestamp())")
        yield found


def test_texts_and_values_arrive_as_they_were_captured(server: Server, tmp_path: Path) -> None:
    server.ask("truncate seen")
    odd = "it's :a {tag} $1 \\ \u00e9\n"
    events = [
        [(0, 1, ["1", odd]), (0, 0, [f"insert into seen values (2, {_quoted(odd)}); select ':x'"])],
        [(0, 1, [None, None])],
    ]
    result = replayed(hand_made(tmp_path, events), server.endpoint())
    assert executed(result) == {"reads": 1, "writes": 2, "transaction": 3}
    with server.connect() as connection:
        rows = connection.execute("select a, b from seen order by a nulls last").fetchall()
    # the server's encoding is SQL_ASCII
    assert rows == [(1, odd.encode()), (2, odd.encode()), (None, None)]
    assert not result["notices"]["code"]


def _quoted(text: str) -> str:
    return "E'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


@pytest.mark.parametrize("handle", ["unnamed", "named", "per-use", "left"])
def test_bound_values_are_sent_by_every_handle(server: Server, tmp_path: Path, handle: str) -> None:
    server.ask("truncate seen")
    file = hand_made(tmp_path, [[(0, 1, [str(n), "x"]) for n in range(50)]])
    result = replayed(file, server.endpoint(), more=f'handle = "{handle}"')
    assert executed(result)["writes"] == 50
    assert server.ask("select sum(a) from seen") == sum(range(50))


def test_texts_with_bound_values_differ_in_number_and_comment(server: Server, tmp_path: Path) -> None:
    server.ask("truncate seen")
    file = hand_made(
        tmp_path,
        [
            [
                (0, 1, ["insert into seen values ($1, $2) /* a */", "1", "x"]),
                (0, 1, ["insert into seen values ($1) /* b */", "2"]),
                (0, 1, ["insert into seen values (3, current_query())"]),
                (0, 0, ["select 1"]),
            ]
        ],
    )
    file.write_text(file.read_text().replace('"takes":"values"', '"takes":"text-values"'))
    result = replayed(file, server.endpoint(), clients=1)
    assert executed(result) == {"reads": 1, "writes": 3, "transaction": 4}
    with server.connect() as connection:
        rows = connection.execute("select a, b from seen order by a").fetchall()
    assert rows[:2] == [(1, b"x"), (2, None)] and rows[2][1].startswith(b"insert into seen values (3")


def test_a_session_keeps_its_order_and_its_transactions_on_one_connection(
    server: Server, tmp_path: Path
) -> None:
    server.ask("truncate seen")
    steps = ["begin", "insert into seen values (1, pg_backend_pid()::text)", "commit"]
    one = [(0, 0, [step]) for step in steps * 20]
    result = replayed(hand_made(tmp_path, [one] * 8), server.endpoint(), clients=3)
    assert executed(result)["reads"] == 480
    assert server.ask("select count(distinct b) from seen") <= 3
    assert server.ask("select count(*) from seen") == 160


def test_after_an_error_a_transaction_goes_on_as_it_was_captured(server: Server, tmp_path: Path) -> None:
    server.ask("truncate seen")
    texts = ["begin", "insert into seen values (1)", "select 1/0", "insert into seen values (2)", "commit"]
    events = [(0, 0, [text]) for text in (*texts, "insert into seen values (3)")]
    result = replayed(hand_made(tmp_path, [events]), server.endpoint(), clients=1)
    assert dict(zip(result["errors"]["code"], result["errors"]["count"], strict=True)) == {
        "22012": 1,
        "25P02": 1,
    }
    assert server.ask("select array_agg(a) from seen") == [3]


def test_statements_start_at_their_pace_and_latency_counts_from_then(server: Server, tmp_path: Path) -> None:
    server.ask("truncate seen")
    # the second is due while the first still runs: it is late by 0.3 s, its execution takes nothing
    events = [(0, 0, ["select pg_sleep(0.4)"]), (100_000, 1, ["1", "x"]), (1_200_000, 1, ["2", "x"])]
    begin = time.monotonic()
    result = replayed(hand_made(tmp_path, [events]), server.endpoint(), clients=1)
    assert time.monotonic() - begin > 1.2
    assert executed(result)["transaction"] == 3
    writes = result["latency"]["statement"].index("writes")
    packed = base64.b64decode(result["latency"]["histogram_base64"][writes])
    ns = _core.histogram_quantiles(packed, [0.01, 1.0])
    assert ns[0] < 290e6 < ns[1]
    gap = server.ask("select extract(epoch from max(at) - min(at)) from seen")
    assert 0.7 < float(gap) < 1.1
    for more in ('pace = "asap"', "speed = 10"):
        server.ask("truncate seen")
        replayed(hand_made(tmp_path, [events[1:]]), server.endpoint(), clients=1, more=more)
        assert float(server.ask("select extract(epoch from max(at) - min(at)) from seen")) < 1.1


def test_statements_that_the_time_leaves_over_are_said(server: Server, tmp_path: Path) -> None:
    file = hand_made(tmp_path, [[(0, 0, ["select 1"]), (60_000_000, 0, ["select 2"])]])
    notices = replayed(file, server.endpoint(), measure_s=0.5)["notices"]
    assert notices["code"] == ["replay-cut"]
    assert notices["text"][0].startswith("1 of 2 captured statements")


def test_a_damaged_capture_is_refused_or_its_session_given_up(server: Server, tmp_path: Path) -> None:
    file = hand_made(tmp_path, [[(0, 0, ["select 1"])] * 3, [(0, 0, ["select 1"])]])
    text = file.read_text(encoding="utf-8")
    file.write_text(text[:-5], encoding="utf-8")
    with pytest.raises(_core.PlanError, match="truncated"):
        replayed(file, server.endpoint())
    file.write_text(text.replace('[0,0,["select 1"]]', '[0,9,["select 1"]]', 1), encoding="utf-8")
    result = replayed(file, server.endpoint(), clients=1)
    assert result["errors"]["code"] == ["capture"]
    assert executed(result)["transaction"] == 1
    file.write_text("{}\n", encoding="utf-8")
    with pytest.raises(InputError, match="no file of a capture"):
        read_capture(file)


SCHEMA = """
drop table if exists stock, sale;
create table stock (id int primary key, left_over int not null);
insert into stock select n, 1000 from generate_series(1, 20) n;
create table sale (id serial primary key, item int, note text, total numeric);
"""
STATE = [
    "select * from stock order by id",
    "select item, note, total, count(*) from sale group by 1, 2, 3 order by 1, 2, 3",
]


def sell(server: Server, seller: int) -> None:
    """A session: transactions, bound and inlined values, an error, a transaction that is rolled back."""
    with server.connect() as connection:
        for number in range(30):
            item = (seller * 7 + number) % 20 + 1
            with connection.transaction():
                connection.execute(
                    "update stock set left_over = left_over - %s where id = %s", (number, item)
                )
                connection.execute(
                    "insert into sale (item, note, total) values (%s, %s, %s)",
                    (item, f"it's {seller}", None if number % 5 == 0 else 1.5 * number),
                )
            connection.execute(f"select * from stock where id = {item}")
        with pytest.raises(psycopg.errors.UniqueViolation), connection.transaction():
            connection.execute("update stock set left_over = 0")
            connection.execute("insert into stock values (1, 1)")
        with pytest.raises(ZeroDivisionError), connection.transaction():
            connection.execute("update stock set left_over = -1")
            raise ZeroDivisionError


def rows(server: Server) -> list[list[Any]]:
    with server.connect() as connection:
        return [connection.execute(sql).fetchall() for sql in STATE]


def sent(file: Path) -> list[tuple[str, list[str | None]]]:
    """Statements and values of all sessions, one after another."""
    classes = read_capture(file).classes
    return [(classes[number].sql, values) for session in sessions(file) for _, number, values in session]


@pytest.mark.parametrize("logged", ["log_min_duration_statement", "log_statement"])
@pytest.mark.parametrize("form", ["csvlog", "jsonlog"])
def test_a_replay_has_the_row_effects_of_the_capture(tmp_path: Path, form: str, logged: str) -> None:
    how = {"log_statement": "all", "log_duration": "on"}
    if logged == "log_min_duration_statement":
        how = {logged: "0"}
    settings = {"logging_collector": "on", "log_destination": form, "log_directory": "log", **how}
    with postgres(**settings, log_filename="a.log") as server:
        log = server.folder / "data" / "log" / f"a.{form.removesuffix('log')}"

        def logged_since(begin: int) -> Path:
            time.sleep(0.3)
            (tmp_path / log.name).write_bytes(log.read_bytes()[begin:])
            return tmp_path / log.name

        server.ask(SCHEMA)
        begin = len(logged_since(0).read_bytes())
        for seller in range(3):
            sell(server, seller)
        file = tmp_path / "load.capture"
        header = capture([logged_since(begin)], file)
        before = rows(server)
        assert sum(header.left_out.values()) > 0
        played = Counter(event[1] for one in sessions(file) for event in one)
        assert dict(played) == {n: one.executions for n, one in enumerate(header.classes)}
        server.ask(SCHEMA)
        begin = len(logged_since(0).read_bytes())
        result = replayed(file, server.endpoint(), clients=1, more='pace = "asap"')
        assert result["errors"]["message"] == []
        assert executed(result)["transaction"] == header.events
        # the log of the replay is that of the capture
        capture([logged_since(begin)], tmp_path / "again.capture")
        assert sent(tmp_path / "again.capture") == sent(file)
        assert rows(server) == before


MARIADB_SCHEMA = (
    "drop table if exists stock, sale",
    "create table stock (id int primary key, left_over int not null)",
    "insert into stock select seq, 1000 from seq_1_to_20",
    "create table sale (id int auto_increment primary key, item int, note text, total decimal(9, 2))",
)


@contextmanager
def shop(server: MariaDB) -> Iterator[Any]:
    connection = pymysql.connect(unix_socket=server.socket, user="root", database="lab", charset="utf8mb4")
    with closing(connection), connection.cursor() as cursor:
        yield cursor
        connection.commit()


def sell_at_mariadb(server: MariaDB, seller: int) -> None:
    with shop(server) as cursor:
        for number in range(30):
            item = (seller * 7 + number) % 20 + 1
            cursor.execute("update stock set left_over = left_over - %s where id = %s", [number, item])
            note = f"it's \\ \n{seller} é"
            cursor.execute("insert into sale (item, note, total) values (%s, %s, 1.5)", [item, note])
            cursor.connection.commit()
        with pytest.raises(pymysql.err.IntegrityError):
            cursor.execute("insert into stock values (1, 1)")
        cursor.execute("update stock set left_over = -1")
        cursor.connection.rollback()
        cursor.execute("prepare p from 'update stock set left_over = left_over + ? where id = 1'")
        cursor.execute("set @n = 5")
        cursor.execute("execute p using @n")


def mariadb_rows(server: MariaDB) -> list[Any]:
    found: list[Any] = []
    with shop(server) as cursor:
        for sql in STATE:
            cursor.execute(sql)
            found.append(cursor.fetchall())
    return found


@pytest.mark.parametrize("log", ["general", "slow"])
def test_a_replay_has_the_row_effects_of_the_capture_on_mariadb(tmp_path: Path, log: str) -> None:
    names = ("--general-log-file=general.log", "--slow-query-log-file=slow.log", "--long-query-time=0")
    with mariadb(*names) as server:
        switch = "general_log" if log == "general" else "slow_query_log"
        with shop(server) as cursor:
            for sql in MARIADB_SCHEMA:
                cursor.execute(sql)
            cursor.execute(f"set global {switch} = on")
        for seller in range(3):
            sell_at_mariadb(server, seller)
        file = tmp_path / "load.capture"
        path = server.folder / "data" / f"{log}.log"
        header = capture([path], file, database="lab")
        before = mariadb_rows(server)
        with shop(server) as cursor:
            for sql in MARIADB_SCHEMA:
                cursor.execute(sql)
        # the log has whole seconds
        time.sleep(1.1)
        result = replayed(file, server.endpoint(), clients=1, more='pace = "asap"')
        # a general log does not say which statements failed: they fail again
        assert set(result["errors"]["code"]) <= {"23000"}
        assert executed(result)["transaction"] + sum(result["errors"]["count"]) == header.events
        # the log of the replay is that of the capture
        capture([path], tmp_path / "again.capture", database="lab")
        assert sent(tmp_path / "again.capture")[-header.events :] == sent(file)
        assert mariadb_rows(server) == before


def test_a_captured_hour_replays_at_sixty_minutes_in_three_seconds_and_without_pauses(
    server: Server, tmp_path: Path
) -> None:
    log = tmp_path / "hour.csv"
    log.write_text(
        as_csv(
            [
                record(
                    second,
                    "duration: 0.300 ms  execute a: insert into seen values ($1, $2)",
                    detail=f"parameters: $1 = '{second}', $2 = 'x'",
                    session_id=f"s{second % 7}",
                )
                for second in range(0, 3600, 3)
            ]
        ),
        encoding="utf-8",
    )
    file = tmp_path / "load.capture"
    header = capture([log], file)
    assert (header.events, len(header.sessions), round(header.duration_s)) == (1200, 7, 3597)
    for more, shortest_s in [("speed = 1200", 2.9), ('pace = "asap"', 0.0)]:
        server.ask("truncate seen")
        begin = time.monotonic()
        result = replayed(file, server.endpoint(), clients=header.clients, more=more)
        assert time.monotonic() - begin > shortest_s
        assert executed(result)["transaction"] == 1200
        assert server.ask("select sum(a) from seen") == sum(range(0, 3600, 3))


def test_sessions_that_wait_for_a_connection_are_said(server: Server, tmp_path: Path) -> None:
    file = hand_made(tmp_path, [[(0, 0, ["select pg_sleep(0.4)"])], [(0, 0, ["select 1"])]])
    notices = replayed(file, server.endpoint(), clients=1)["notices"]
    assert notices["code"] == ["replay-late"]
    assert notices["text"][0].startswith("1 of 2 sessions")
    assert not replayed(file, server.endpoint(), clients=2)["notices"]["code"]
    assert not replayed(file, server.endpoint(), clients=1, more='pace = "asap"')["notices"]["code"]


CHECKED = """\
name = "r"
question = "?"
subject.kind = "postgres"
plan = {{ clients = [1], warm_up_s = 0, measure_s = 5, cool_down_s = 0, blocks = 1 }}
[workload]
kind = "replay"
capture = "load.capture"
pace = "asap"
schema_sql = "{schema}"
"""


def test_a_capture_without_its_tables_is_refused_before_the_first_run(lab: Lab) -> None:
    hand_made(lab.folder, [[(0, 0, ["select a from seen"]), (0, 1, ["1", "x"])]])
    study = lab.folder / "r.toml"
    study.write_text(CHECKED.format(schema=""))
    done = lab.run("run", study, "--bundle", lab.bundle)
    said = " ".join(done.stderr.split())
    assert done.returncode == 2 and not lab.bundle.exists()
    assert 'cannot run: relation "seen" does not exist (42P01)' in said


def test_a_class_that_needs_its_session_does_not_stop_a_replay(lab: Lab) -> None:
    # refused here, as it would be beside a table of its session: half of the executions, not more
    one = [(0, 0, ["insert into other values (1)"]), (0, 1, ["1", "x"])]
    hand_made(lab.folder, [one])
    study = lab.folder / "r.toml"
    study.write_text(CHECKED.format(schema="create table seen (a int, b text)"))
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
