"""Order entry, logged by the server and replayed on the same data: both logs have the same statements."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import psycopg
import pymysql
from mariadb_server import mariadb
from pymysql.constants import CLIENT
from servers import postgres

from steelyard import _core
from steelyard.captures.folder import capture
from steelyard.study.load_study import parse_study
from steelyard.study.plan import options
from steelyard.subjects.mariadb import data_directory
from steelyard.subjects.postgres import workload_tables
from steelyard.workloads import Work, work_of
from steelyard.workloads.load_plan import load_plan
from steelyard.workloads.replay import Capture, read_capture, sessions

ORDERS = """\
name = "orders"
question = "?"
subject.kind = "{kind}"
plan = {{ clients = [2], warm_up_s = 0, cool_down_s = 0, measure_s = 60 }}
[workload]
kind = "order-entry"
warehouses = 1
deadline_ms = 120_000
"""
REPLAY = """\
name = "again"
question = "?"
subject.kind = "{kind}"
plan = {{ clients = [1], warm_up_s = 0, cool_down_s = 0, measure_s = 120 }}
workload = {{ kind = "replay", capture = "{file}", pace = "asap" }}
"""


def played(text: str, endpoint: dict[str, Any], **changes: Any) -> dict[str, Any]:
    study = parse_study(text, "study.toml")
    option = options(study)[0]
    plan = {**load_plan(study, option, work_of(option.workload)), "server": endpoint, **changes}
    return json.loads(_core.load_run(json.dumps(plan), lambda _: True))


def work(kind: str) -> Work:
    return work_of(parse_study(ORDERS.format(kind=kind), "study.toml").workload)


def sent(file: Path) -> list[tuple[str, list[str | None]]]:
    classes = read_capture(file).classes
    return [(classes[number].sql, values) for session in sessions(file) for _, number, values in session]


def same(folder: Path, kind: str, endpoint: dict[str, Any], log: Path, reload: Any) -> Capture:
    """Runs 300 transactions, captures their log, replays it on the data as loaded, captures that log."""
    reload()
    begin = log.stat().st_size
    played(ORDERS.format(kind=kind), endpoint, transactions_max=300)
    time.sleep(1.1)
    first, again = folder / f"first{log.suffix}", folder / f"again{log.suffix}"
    first.write_bytes(log.read_bytes()[begin:])
    file = folder / "load.capture"
    header = capture([first], file)
    reload()
    begin = log.stat().st_size
    result = played(REPLAY.format(kind=kind, file=file), endpoint)
    assert result["errors"]["message"] == []
    time.sleep(1.1)
    again.write_bytes(log.read_bytes()[begin:])
    capture([again], folder / "again.capture")
    assert sent(folder / "again.capture") == sent(file)
    assert len(header.sessions) == 2 and header.events > 3000
    return header


def test_a_replay_of_order_entry_is_logged_as_it_was_captured_by_postgresql(tmp_path: Path) -> None:
    how = {"log_destination": "csvlog", "logging_collector": "on", "log_directory": "log"}
    with postgres(**how, log_filename="a.log", log_min_duration_statement="0", fsync="off") as server:

        def reload() -> None:
            with psycopg.connect(server.connect().info.dsn, autocommit=True) as connection:
                connection.execute("set log_min_duration_statement = -1")
                connection.execute("drop schema public cascade")
                connection.execute("create schema public")
                workload_tables.load(connection, work("postgres"), tmp_path, lambda _: None)
            time.sleep(0.3)

        header = same(
            tmp_path, "postgres", server.endpoint(), server.folder / "data" / "log" / "a.csv", reload
        )
        assert not header.left_out


def test_a_replay_of_order_entry_is_logged_as_it_was_captured_by_mariadb(tmp_path: Path) -> None:
    with mariadb("--general-log=1", "--general-log-file=general.log") as server:
        (server.folder / "load").mkdir()
        (server.folder / "load").chmod(0o777)

        def reload() -> None:
            connection = pymysql.connect(
                unix_socket=server.socket, user="root", client_flag=CLIENT.MULTI_STATEMENTS
            )
            with connection, connection.cursor() as cursor:
                cursor.execute("set session sql_log_off = 1")
                cursor.execute("drop database lab")
                while cursor.nextset():
                    pass
                cursor.execute("create database lab")
                cursor.execute("use lab")
                data_directory.load(connection, work("mariadb"), server.folder / "load", lambda _: None)
            time.sleep(1.1)

        same(tmp_path, "mariadb", server.endpoint(), server.folder / "data" / "general.log", reload)
