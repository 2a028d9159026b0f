"""Answers of servers to the queries of decision support, beside those of DuckDB and the published ones."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pymysql
from laboratory import Lab
from needs import needs

from steelyard.host.cpus.scheduling import place
from steelyard.host.processes.guard import Guard
from steelyard.study.load_study import parse_study, plan_study
from steelyard.subjects import Bench, Server, kind_of
from steelyard.workloads import decision_support, work_of

STUDY = """\
name = "small-queries"
question = "Does it matter?"

[subject]
kind = "{subject}"

[workload]
kind = "queries"
scale_factor = 0.01

[factors.size]
scope = "session"
setting = "{setting}"
levels = {{ small = {small}, large = {large} }}

[plan]
clients = [1, 2]
warm_up_s = 0
measure_s = 0.1
cool_down_s = 0
blocks = 1

[monitors]
processes = 5
"""
POSTGRES = STUDY.format(subject="postgres", setting="work_mem", small="'4MB'", large="'64MB'")
MARIADB = STUDY.format(subject="mariadb", setting="join_buffer_size", small=262144, large=8388608)

# of dbgen at scale factor 0.01
ROWS = {
    "customer": 1500, "lineitem": 60175, "nation": 25, "orders": 15000, "part": 2000, "partsupp": 8000,
    "region": 5, "supplier": 100,
}  # fmt: skip
ANSWERS: dict[str, list[str]] = json.loads(
    (Path(__file__).parent / "answers" / "decision_support_sf0.01.json").read_text(encoding="utf-8")
)["answers"]

# addresses and comments are random text, and another text in each version of dbgen; two queries look into it
ASK_FREE_TEXT = {"q13", "q16"}

Answers = dict[str, list[tuple[Any, ...]]]
Ask = Callable[[str], list[tuple[Any, ...]]]


@contextmanager
def server(text: str, folder: Path) -> Iterator[Server]:
    study, found = plan_study(text, "study")
    # a Unix socket's name has to be short
    with Guard() as guard:
        bench = Bench(
            study, found, {o.label: work_of(o.workload) for o in found}, folder, place(1, False), guard
        )
        subject = kind_of(study).make(bench)
        try:
            load = subject.start(found[0])
            subject.reset()
            assert load.server is not None
            yield load.server
        finally:
            subject.stop()


@contextmanager
def postgres(folder: Path) -> Iterator[Ask]:
    with server(POSTGRES, folder) as endpoint, psycopg.connect(endpoint.dsn) as connection:
        yield lambda sql: connection.execute(sql.encode()).fetchall()


@contextmanager
def mariadb(folder: Path) -> Iterator[Ask]:
    needs("MariaDB")
    with server(MARIADB, folder) as endpoint:
        connection = pymysql.connect(unix_socket=endpoint.socket, user="root", database=endpoint.database)
        with closing(connection), connection.cursor() as cursor:

            def ask(sql: str) -> list[tuple[Any, ...]]:
                cursor.execute(sql)
                return list(cursor.fetchall())

            yield ask


def duckdb_answers(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Another engine's answers from the same files."""
    with duckdb.connect() as connection:
        for table in work_of(parse_study(POSTGRES, "study").workload).files:
            connection.execute(f"create table {table.name} ({table.columns})")
            connection.execute(f"copy {table.name} from '{table.write(folder)}' (header)")
        return {name: connection.execute(q.sql).fetchall() for name, q in decision_support.queries().items()}


def alike(cell: Any, expected: Any) -> bool:
    """Numbers to the digits that all servers give: an average of two decimals has at least four."""
    try:
        return math.isclose(float(cell), float(expected), rel_tol=1e-6, abs_tol=1e-4)
    except (TypeError, ValueError):
        return _text(cell) == _text(expected)


def _text(cell: Any) -> str:
    return "" if cell is None else str(cell).strip()


def check_answers(start: Callable[[Path], Any], lab: Lab, elsewhere: Answers) -> None:
    folder = lab.folder / "s"
    folder.mkdir()
    with start(folder) as ask:
        assert {name: ask(f"select count(*) from {name}")[0][0] for name in ROWS} == ROWS
        given = {name: ask(query.sql) for name, query in decision_support.queries().items()}
    assert len(given) == 22
    for name, rows in given.items():
        assert len(rows) == len(elsewhere[name]), name
        for row, expected in zip(rows, elsewhere[name], strict=True):
            assert len(row) == len(expected) and all(map(alike, row, expected)), (name, row, expected)
    for name in ANSWERS.keys() - ASK_FREE_TEXT:
        head, *published = (line.split("|") for line in ANSWERS[name])
        told = [i for i, column in enumerate(head) if not column.endswith(("_address", "_comment"))]
        assert len(given[name]) == len(published), name
        for row, expected in zip(given[name], published, strict=True):
            assert all(alike(row[i], expected[i]) for i in told), (name, row, expected)
