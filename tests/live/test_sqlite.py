"""SQLite as the engine drives it and as a subject: threads or processes on one file."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from laboratory import Lab, small_study

from steelyard import _core
from steelyard.bundle.reader import Bundle
from steelyard.subjects.sqlite.database import load_statements
from steelyard.workloads import Column, DataTable, Work

ROWS = 500


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "data.sqlite"
    table = DataTable("item", ROWS, (Column("id", "integer", "n"), Column("quantity", "integer", "0")))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("pragma journal_mode = wal")
        for statement in load_statements(Work({}, tables=(table,))):
            connection.execute(statement)
        connection.execute("create table made (id integer primary key, by_tag integer)")
    return path


def database(where: Path, **changes: Any) -> dict[str, Any]:
    return {
        "file": str(where),
        "workers": "threads",
        "threading": "serialized",
        "shared_cache": False,
        "begin": "immediate",
        "memory_status": True,
        "pragmas": [["journal_mode", "wal"], ["synchronous", "off"]],
        **changes,
    }


def statement(name: str, sql: str, **parameters: Any) -> dict[str, Any]:
    return {"name": name, "sql": sql, "parameters": parameters}


LOOKUP = statement(
    "lookup",
    "select quantity as q{tag} from item where id = :id",
    id={"kind": "uniform", "low": 1, "high": ROWS},
)


def plan(database: dict[str, Any], *statements: dict[str, Any], **changes: Any) -> dict[str, Any]:
    statements = statements or (LOOKUP,)
    names = [one["name"] for one in statements]
    return {
        "sqlite": database,
        "text": "identical",
        "distinct_texts": 1,
        "parameters": "client",
        "handle": "named",
        "statements": list(statements),
        "transactions": [{"name": "t", "weight": 1, "statements": names, "begin": False}],
        "arrival": {"kind": "closed", "think_ms": 0, "think": "fixed"},
        "points": [3],
        "warm_up_s": 0.1,
        "measure_s": 0.4,
        "cool_down_s": 0.05,
        "deadline_ms": 5000,
        "threads": 1,
        "seed": 1,
        **changes,
    }


def told(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """By a process of its own, as the lab does: the engine sets what holds for a whole process."""
    done = subprocess.run(
        [sys.executable, "-m", "steelyard.lab.engines.process", "load", str(os.getpid())],
        input=json.dumps(plan) + "\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def run(plan: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    *events, last = told(plan)
    assert last["event"] == "result", last
    return last["result"], events


@pytest.mark.parametrize("workers", ["threads", "processes"])
def test_clients_that_wait_for_a_lock_are_waited_for_by_an_engine_that_says_it_is_alive(
    file: Path, workers: str
) -> None:
    write = statement("write", "update item set quantity = 1 where id = 1")
    holder = sqlite3.connect(file, isolation_level=None, timeout=60)
    with closing(holder):
        # without its pragmas a client opens the file while it is locked
        asked = plan(database(file, workers=workers, pragmas=[]), write, deadline_ms=2500, measure_s=0.1)
        holder.execute("begin immediate")
        result, events = run(asked)
    phases = [event["phase"] for event in events if event["event"] == "alive"]
    assert phases and set(phases) == {"measure"}
    assert sum(result["clients"]["transactions"]) == 0


@pytest.mark.parametrize("workers", ["threads", "processes"])
def test_both_kinds_of_clients_tell_phases_counts_and_what_they_used(file: Path, workers: str) -> None:
    result, events = run(plan(database(file, workers=workers), points=[1, 3]))
    phases = [event["phase"] for event in events if event["event"] == "phase"]
    assert phases == ["connect", "warm-up", "measure"] * 2 + ["cool-down", "disconnect"]
    assert result["clients"]["point"] == [0, 1, 1, 1] and result["clients"]["client"] == [0, 0, 1, 2]
    assert min(result["clients"]["transactions"]) > 0 and result["errors"]["code"] == []
    latency = dict(zip(result["latency"]["point"], result["latency"]["count"], strict=True))
    for point in (0, 1):
        rows = zip(
            *(result["throughput"][name] for name in ("point", "second", "statement", "count")), strict=True
        )
        counted = sum(
            n for at, second, name, n in rows if (at, name) == (point, "transaction") and second >= 0
        )
        clients = zip(result["clients"]["point"], result["clients"]["transactions"], strict=True)
        assert counted == latency[point] == sum(n for at, n in clients if at == point)
    used = set(zip(result["samples"]["entity"], result["samples"]["metric"], strict=True))
    assert ("point1/client2", "cpu_user_ns") in used and ("point0/client0", "switches_voluntary") in used
    assert result["engine"]["io"] == "sqlite" and result["engine"]["connections_made"] == 4
    held = dict(zip(result["inspect"]["metric"], result["inspect"]["value"], strict=True))
    assert held["cache_hits"] > 0 and held["statements_used_bytes"] > 0


@pytest.mark.parametrize("workers", ["threads", "processes"])
def test_a_sequence_gives_no_value_twice_whoever_draws_it(file: Path, workers: str) -> None:
    insert = statement(
        "insert", "insert into made values (:id, {tag})", id={"kind": "sequence", "start": 1, "step": 1}
    )
    result, _ = run(plan(database(file, workers=workers), insert, points=[2, 3]))
    # a value drawn twice would break the primary key
    assert result["errors"]["code"] == []
    with closing(sqlite3.connect(file)) as connection:
        rows, highest = connection.execute("select count(*), max(id) from made").fetchone()
    assert sum(result["clients"]["transactions"]) <= rows <= highest


@pytest.mark.parametrize("workers", ["threads", "processes"])
def test_transactions_of_several_writers_lose_no_update(file: Path, workers: str) -> None:
    add = statement("add", "update item set quantity = quantity + 1 where id = 7")
    work = plan(database(file, workers=workers), add, handle="per-use", warm_up_s=0)
    work["transactions"][0]["begin"] = True
    result, _ = run(work)
    with closing(sqlite3.connect(file)) as connection:
        (quantity,) = connection.execute("select quantity from item where id = 7").fetchone()
    done = sum(result["clients"]["transactions"])
    # what ended after the end of the load is in the file and not among the counted: one a client
    assert 0 < done <= quantity <= done + 3


@pytest.mark.parametrize(
    ("handle", "text", "parameters"),
    [("none", "unique", "none"), ("per-use", "distinct", "client"), ("left", "unique", "client"),
     ("named", "distinct", "none")],
)  # fmt: skip
def test_every_way_of_handling_statements_works(file: Path, handle: str, text: str, parameters: str) -> None:
    result, _ = run(plan(database(file), handle=handle, text=text, parameters=parameters, distinct_texts=5))
    assert min(result["clients"]["transactions"]) > 0 and result["errors"]["code"] == []


def test_statements_left_behind_stay_in_memory(file: Path) -> None:
    def kept(handle: str) -> float:
        result, _ = run(plan(database(file), handle=handle, points=[1]))
        held = dict(zip(result["inspect"]["metric"], result["inspect"]["value"], strict=True))
        return held["statements_used_bytes"] / result["clients"]["transactions"][0]

    # a prepared lookup takes about 3 KB
    assert kept("left") > 1000 and kept("per-use") < 100


def test_a_lock_not_got_in_time_is_an_error_by_its_code(file: Path) -> None:
    add = statement("add", "update item set quantity = quantity + 1 where id = 7")
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("begin immediate")
        result, _ = run(plan(database(file), LOOKUP, points=[2]))
        assert result["errors"]["code"] == []  # who reads does not wait for who writes
        result, _ = run(plan(database(file), add, points=[2], deadline_ms=50))
    assert result["errors"]["code"] == ["SQLITE_BUSY"]
    assert result["errors"]["message"] == ["database is locked"]
    assert sum(result["clients"]["transactions"]) == 0 and min(result["clients"]["errors"]) > 0


def test_a_read_that_becomes_a_write_after_anothers_is_told_apart(file: Path) -> None:
    add = statement("add", "update item set quantity = quantity + 1 where id = 7")
    work = plan(database(file, begin="deferred"), LOOKUP, add, measure_s=1)
    work["transactions"][0]["begin"] = True
    result, _ = run(work)
    assert "SQLITE_BUSY_SNAPSHOT" in result["errors"]["code"]


def test_a_statement_over_its_deadline_is_interrupted(file: Path) -> None:
    endless = statement(
        "endless", "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n"
    )
    result, _ = run(plan(database(file), endless, points=[1], deadline_ms=100))
    assert result["errors"]["code"] == ["deadline"] and min(result["clients"]["errors"]) > 0


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"pragmas": [["page_size", "8192"]]}, "SQLite did not take page_size = 8192: it has 4096"),
        ({"pragmas": [["no_such", "1"]]}, "SQLite did not take no_such = 1: it has nothing"),
        ({"file": "/nowhere/x.sqlite"}, "/nowhere/x.sqlite: unable to open database file"),
    ],
)
def test_what_is_not_taken_is_named(file: Path, changes: dict[str, Any], said: str) -> None:
    asked = database(file, **changes)
    with pytest.raises(_core.LoadError) as refused:
        _core.sqlite_facts(json.dumps(asked))
    assert said in str(refused.value)
    assert said in told(plan(asked))[-1]["cause"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"transactions_max": 5}, "transactions_max: clients of SQLite"),
        ({"handle": "unnamed"}, "handle: every statement of SQLite is a handle"),
        ({"arrival": {"kind": "open", "rate_per_s": 5, "spacing": "even"}}, "arrival: clients of SQLite"),
    ],
)
def test_a_plan_that_sqlite_cannot_run_is_refused(file: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(_core.PlanError, match=said):
        _core.load_run(json.dumps(plan(database(file), **changes)), lambda line: None)


def test_the_library_is_built_as_its_authors_build_it(file: Path) -> None:
    facts = json.loads(_core.sqlite_facts(json.dumps(database(file))))
    # one page cache for all connections of a process would stand in the way of its threads
    assert "ENABLE_MEMORY_MANAGEMENT" not in facts["compile_options"]
    assert "THREADSAFE=1" in facts["compile_options"]
    assert facts["settings"]["journal_mode"] == "wal" and facts["settings"]["synchronous"] == "0"


MODES = """
[factors.mode]
scope = "server"
setting = "workers"
levels = { THR = "threads", PRO = "processes" }
"""


def study_of(folder: Path, settings: str = "", factors: str = MODES, workload: str = "rows = 1000") -> Path:
    path = small_study(folder, "sqlite", blocks=1, think_ms=0)
    text = path.read_text()
    head, _, rest = text.partition("[factors.handle]")
    text = head.replace("rows = 1000", workload) + factors + "\n[plan]" + rest.partition("[plan]")[2]
    path.write_text(text.replace('"sqlite"', f'"sqlite"\nsettings = {{ {settings} }}'))
    return path


def test_a_study_runs_to_a_verdict_and_its_bundle_tells_what_ran(lab: Lab) -> None:
    settings = "mmap_size = 1048576, auto_vacuum = 'full', encoding = 'UTF-16'"
    done = lab.run("run", study_of(lab.folder, settings), "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    assert "THR" in done.stdout and "PRO" in done.stdout
    assert "those of the load engine" in " ".join(done.stdout.split())
    bundle = Bundle(lab.bundle)
    clients = bundle.columns(
        "select o.option, max(s.value) as processes from samples s join runs o using (run)"
        " where s.metric = 'processes' and s.entity = 'server' group by all order by o.option"
    )
    by_option = dict(zip(clients["option"], clients["processes"], strict=True))
    assert by_option == {"THR": 1, "PRO": 3}  # two clients and who waits for them
    assert bundle.environment["server"]["version"].startswith("SQLite 3.")
    # what the study leaves as it is, the lab's own defaults among it, is not told as set
    told_as_set = bundle.environment["servers"]["PRO"]["set"]
    assert set(told_as_set) == {
        *("mmap_size", "auto_vacuum", "encoding", "workers"),
        *("journal_mode", "synchronous"),
    }
    # no load comes from outside: all CPUs are the clients'
    assert not bundle.environment["placement"]["apart"]
    assert lab.ours() == [] and lab.traces() == []


@pytest.mark.parametrize(
    ("settings", "factors", "workload", "said"),
    [
        ("jurnal_mode = 'wal'", MODES, "", 'did you mean "journal_mode"?'),
        ("threading = 'single'", MODES, "", "threading = single: expected serialized, multi-thread"),
        ("shared_cache = true", MODES, "", "processes cannot share a cache"),
        ("", MODES, 'arrival = { kind = "open", rate_per_s = 9 }', "it has no open one"),
        ("", MODES, 'handle = "unnamed"', "handle 'per-use' is the same work"),
        ("", MODES, "threads = 2", "no thread of the engine drives them"),
        ("", MODES.replace("server", "session"), "", "scope 'session' cannot act on SQLite"),
    ],
)
def test_what_sqlite_has_not_is_refused_before_anything_starts(
    lab: Lab, settings: str, factors: str, workload: str, said: str
) -> None:
    done = lab.run("run", study_of(lab.folder, settings, factors, workload), "--bundle", lab.bundle)
    assert done.returncode == 2 and said in " ".join(done.stderr.split()) and not lab.bundle.exists()


def test_a_pragma_that_does_not_take_fails_the_run_by_name(lab: Lab) -> None:
    # there is no such mode of locking: SQLite stays silently as it was
    done = lab.run("run", study_of(lab.folder, "locking_mode = 'no-such'"), "--bundle", lab.bundle)
    assert done.returncode != 0
    assert "did not take locking_mode = no-such: it has normal" in " ".join(done.stderr.split())


@pytest.mark.parametrize("kind", ["orders", "storm"])
def test_the_other_workloads_run_too(lab: Lab, kind: str) -> None:
    workload = f'kind = "{kind}"\nrows = 1000' + ('\nhandle = "per-use"\ntext = "unique"' * (kind == "storm"))
    done = lab.run("run", study_of(lab.folder, workload=workload), "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    failed = Bundle(lab.bundle).columns("select code from errors")
    assert list(failed["code"]) == []


@pytest.fixture
def running(lab: Lab) -> Iterator[int]:
    path = study_of(lab.folder)
    path.write_text(path.read_text().replace("measure_s = 0.3", "measure_s = 60"))
    yield lab.start("run", path, "--bundle", lab.bundle).pid


def test_a_lab_that_is_killed_leaves_no_client(lab: Lab, running: int) -> None:
    lab.wait_for(lambda: lab.ours("steelyard.lab.engines.process"), "clients run")
    os.kill(running, signal.SIGKILL)
    lab.wait_for(lambda: not lab.ours("steelyard.lab.engines.process"), "the clients have gone")
    lab.wait_for(lambda: not lab.traces(), "the folder has gone")
