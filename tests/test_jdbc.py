"""The Java engine: the native engine's statements and values, on real servers, and its failures."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from java_engine import PGJDBC, by_java, class_path, jdbc, jdbc_of, needs_java
from laboratory import Lab
from servers import Server, plan, postgres
from steelyard import _core
from steelyard.bundle.reader import Bundle
from steelyard.lab.engines.process import LoadProcess
from steelyard.lab.engines.registry import LoadFailed
from steelyard.study.errors import InputError
from steelyard.study.passwords import password_written
from steelyard.subjects.drivers.jars import jars

pytestmark = needs_java
DRAWN = "create table drawn (nth serial, kind text, a bigint, b bigint, c int, d text, e text)"
FIRST = "select kind, a, b, c, d, e from drawn order by nth limit 400"
INSERT = "insert into drawn (kind, a, b, c, d, e) values ('{kind}', :a, :b, :c, :d, :e)"
GENERATORS = {
    "a": {"kind": "uniform", "low": -5, "high": 10**15},
    "b": {"kind": "zipf", "low": 1, "high": 10_000, "exponent": 0.9},
    "c": {"kind": "nurand", "a": 255, "low": 1, "high": 3000, "constant": 123},
    "d": {"kind": "text", "length": 12},
    "e": {"kind": "choice", "values": ["it's", "b", "c"]},
}
OWN = {"d": GENERATORS["d"], "e": GENERATORS["e"]}
WORK = {
    "statements": [
        {"name": "one", "sql": INSERT.format(kind="one"), "parameters": GENERATORS},
        {"name": "two", "sql": INSERT.format(kind="two"), "parameters": OWN},
        {"name": "many", "sql": "select {tag}, :a::bigint", "parameters": {"a": GENERATORS["a"]}},
    ],
    "transactions": [
        {"name": "plain", "weight": 3, "statements": ["one", "many"], "begin": False},
        {
            "name": "shared",
            "weight": 1,
            "statements": ["two", "two"],
            "begin": True,
            "values": {key: value for key, value in GENERATORS.items() if key not in OWN},
        },
    ],
    "text": "distinct",
    "distinct_texts": 7,
}


@pytest.fixture(scope="module")
def pgjdbc() -> list[str]:
    return class_path(PGJDBC)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with postgres() as running:
        running.ask(DRAWN)
        yield running


def drawn(server: Server) -> list[tuple[Any, ...]]:
    with server.connect() as connection:
        rows = connection.execute(FIRST.encode()).fetchall()
        connection.execute("truncate drawn restart identity")
        return rows


def first_client(**changes: Any) -> dict[str, Any]:
    return {**WORK, "points": [1], "measure_s": 1, **changes}


@pytest.mark.parametrize("handle", ["none", "named", "per-use"])
def test_the_values_are_those_of_the_native_engine(server: Server, pgjdbc: list[str], handle: str) -> None:
    """Every generator, two kinds of transactions, shared values, several texts."""
    sends = {"handle": handle, "parameters": "none" if handle == "none" else "client"}
    work = first_client(**sends)
    _core.load_run(json.dumps(plan(server.endpoint(), **work)), lambda _line: None)
    expected = drawn(server)
    result = by_java(plan(server.endpoint(), **work), jdbc(server, pgjdbc))
    assert result.tables["errors"]["code"] == []
    found = drawn(server)
    both = min(len(found), len(expected))
    assert both >= 50 and found[:both] == expected[:both]


def test_what_is_counted_is_what_the_server_has(server: Server, pgjdbc: list[str]) -> None:
    work = {
        "statements": [{"name": "book", "sql": "insert into drawn (kind) values ('x')"}],
        "transactions": [{"name": "book", "weight": 1, "statements": ["book"], "begin": True}],
        "handle": "named", "points": [3], "measure_s": 1,
    }  # fmt: skip
    result = by_java(plan(server.endpoint(), **work), jdbc(server, pgjdbc))
    done = sum(result.tables["clients"]["transactions"])
    assert done > 100
    assert server.ask("select count(*) from drawn") == done
    latency = dict(zip(result.tables["latency"]["statement"], result.tables["latency"]["count"], strict=True))
    assert latency["transaction"] == latency["begin"] == done
    # each counts where it begins: a client's last commit may begin after the end
    assert done - 3 <= latency["commit"] <= latency["book"] <= done
    server.ask("truncate drawn restart identity")


def test_errors_are_counted_by_sqlstate_and_the_load_goes_on(server: Server, pgjdbc: list[str]) -> None:
    work = {
        "statements": [
            {"name": "good", "sql": "select 1"},
            {"name": "bad", "sql": "select 1 / (:n - 1)",
             "parameters": {"n": {"kind": "uniform", "low": 1, "high": 2}}},
        ],
        "transactions": [
            {"name": "good", "weight": 1, "statements": ["good"], "begin": False},
            {"name": "bad", "weight": 1, "statements": ["bad"], "begin": True},
        ],
        "handle": "named", "parameters": "client",
    }  # fmt: skip
    tables = by_java(plan(server.endpoint(), **work), jdbc(server, pgjdbc)).tables
    assert tables["errors"]["code"] == ["22012"]
    assert "division by zero" in tables["errors"]["message"][0]
    by_kind = dict(zip(tables["transactions"]["transaction"], tables["transactions"]["errors"], strict=True))
    assert by_kind["good"] == 0 < by_kind["bad"] == sum(tables["errors"]["count"])


def test_a_statement_beyond_its_deadline_is_an_error_and_its_client_connects_again(
    server: Server, pgjdbc: list[str]
) -> None:
    work = {
        "statements": [{"name": "slow", "sql": "select pg_sleep(5)"}],
        "transactions": [{"name": "slow", "weight": 1, "statements": ["slow"], "begin": False}],
        "deadline_ms": 200, "measure_s": 1, "points": [1],
    }  # fmt: skip
    result = by_java(plan(server.endpoint(), **work), jdbc(server, pgjdbc))
    assert result.tables["errors"]["code"] == ["deadline"]
    assert result.facts.reconnections > 0


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"user": "scrammed", "password": "wrong", "sslmode": "require"}, "password authentication failed"),
        ({"url": "jdbc:postgresql://127.0.0.1:1/postgres"}, "refused"),
        ({"url": "jdbc:oracle:thin:@//127.0.0.1:1/x"}, "No suitable driver"),
        ({"driver_class": "org.example.Driver"}, "no class org.example.Driver"),
    ],
)
def test_a_driver_that_cannot_connect_says_why(
    server: Server, pgjdbc: list[str], changes: dict[str, str], cause: str
) -> None:
    connection = jdbc(server, pgjdbc)
    for key, value in changes.items():
        (connection if key in connection else connection["properties"])[key] = value
    with pytest.raises(LoadFailed, match=cause):
        by_java(plan(server.endpoint()), connection)


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"handle": "unnamed"}, "none, named or per-use"),
        ({"arrival": {"kind": "rounds"}}, "a closed or an open loop"),
        ({"text": "unique", "handle": "named"}, "unique texts kept open"),
    ],
)
def test_what_the_java_engine_lacks_is_refused(
    server: Server, pgjdbc: list[str], changes: dict[str, Any], cause: str
) -> None:
    with pytest.raises(LoadFailed, match=cause):
        by_java(plan(server.endpoint(), **changes), jdbc(server, pgjdbc))


def test_a_heap_that_is_too_small_is_named(server: Server, pgjdbc: list[str]) -> None:
    names = [f"s{number}" for number in range(1_000)]
    of = plan(
        server.endpoint(),
        statements=[{"name": name, "sql": "select 1"} for name in names],
        transactions=[{"name": "all", "weight": 1, "statements": names, "begin": False}],
        measure_s=30,
    )
    with pytest.raises(LoadFailed, match=r"heap of the Java engine is full.*raise workload\.driver_heap_mib"):
        by_java(of, {**jdbc(server, pgjdbc), "heap_mib": 32})


def test_a_killed_jvm_is_a_failed_run(server: Server, pgjdbc: list[str]) -> None:
    of = plan(server.endpoint(), measure_s=30)
    engine = LoadProcess("jdbc", {**of, "jdbc": jdbc(server, pgjdbc)}, frozenset(os.sched_getaffinity(0)))
    measuring = threading.Event()
    killer = threading.Thread(target=lambda: (measuring.wait(60), os.kill(engine.pid, signal.SIGKILL)))
    killer.start()
    try:
        with pytest.raises(LoadFailed, match="SIGKILL"):
            engine.result(lambda event: measuring.set() if event.get("phase") == "measure" else None, 60)
    finally:
        measuring.set()
        killer.join()
        engine.stop()


def test_sessions_that_the_server_ends_are_counted_as_lost(server: Server, pgjdbc: list[str]) -> None:
    work = {"measure_s": 3, "points": [2]}

    def end_sessions() -> None:
        for _ in range(100):
            time.sleep(0.1)
            if server.ask(
                "select count(pg_terminate_backend(pid)) from pg_stat_activity"
                " where application_name = 'PostgreSQL JDBC Driver'"
            ):
                return

    ender = threading.Thread(target=end_sessions)
    ender.start()
    result = by_java(plan(server.endpoint(), **work), jdbc(server, pgjdbc))
    ender.join()
    assert result.facts.connections_lost >= 1
    assert result.facts.reconnections >= 1


@pytest.mark.parametrize(("max_s", "quiet"), [(0.2, 0), (90, 1)])
def test_the_warm_up_ends_when_the_jvm_is_quiet_or_its_time_is_over(
    server: Server, pgjdbc: list[str], max_s: float, quiet: int
) -> None:
    """Quiet takes two half seconds with little to compile: little load has that soon."""
    rest = {"kind": "closed", "think_ms": 100, "think": "fixed"}
    of = plan(server.endpoint(), warm_up_s=0.3, points=[1], arrival=rest)
    tables = by_java(of, {**jdbc(server, pgjdbc), "warm_up_max_s": max_s}).tables
    found = dict(zip(tables["samples"]["metric"], tables["samples"]["value"], strict=True))
    assert found["quiet"] == quiet
    assert found["warm_up_s"] == 0.3 if not quiet else 1 <= found["warm_up_s"] <= max_s
    if quiet:
        assert found["compiled_methods_per_s"] < 20 and found["compiling_percent"] < 5
    else:
        assert found["compiled_methods_per_s"] > 0
    said = " ".join(tables["notices"]["text"])
    assert ("was not quiet after 0.3 s of warm-up at 1 clients" in said) == (not quiet)


def test_cpu_within_the_process_is_by_group_of_threads() -> None:
    """A database in the process works in the clients' threads."""
    of = plan(
        {},
        statements=[{"name": "sum", "sql": "select sum(x) from system_range(1, 20000)"}],
        transactions=[{"name": "sum", "weight": 1, "statements": ["sum"], "begin": False}],
        points=[1, 2], measure_s=0.5,
    )  # fmt: skip
    tables = by_java(of, jdbc_of("com.h2database:h2:2.3.232", "jdbc:h2:mem:own")).tables
    metrics = zip(*(tables["samples"][name] for name in ("entity", "metric", "value")), strict=True)
    found = {entity: value for entity, metric, value in metrics if metric == "cpu_ns_per_transaction"}
    groups = ("clients", "other threads", "JVM")
    assert list(found) == [f"point{point}:{group}" for point in (0, 1) for group in groups]
    assert min(found.values()) >= 0
    # a thread has no more CPU than time
    longest = max(tables["clients"]["mean_ns"])
    assert 0 < found["point0:clients"] < 1.5 * longest
    assert found["point0:clients"] > found["point0:other threads"]


def test_a_jar_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no file .*/driver\.jar"):
        jars("driver.jar", tmp_path)


def run(lab: Lab, study: str, *more: str) -> subprocess.CompletedProcess[str]:
    file = lab.folder / "study.toml"
    file.write_text(study)
    return lab.run("run", file, "--bundle", lab.bundle, *more)


PLAN = "[plan]\nclients = [2]\nwarm_up_s = 0\nmeasure_s = 0.5\ncool_down_s = 0\nblocks = 1\n"
EMBEDDED = """
name = "own"
question = "Does it work?"
[subject]
kind = "jdbc"
[subject.facts]
rows = "select count(*) from item"
[workload]
kind = "sql"
schema_sql = "create table item (id int primary key, note char(3)); insert into item values (1, 'a;b'); -- ;"
driver = "{driver}"
driver_heap_mib = 64
driver_url = "{url}"
[workload.statements.find]
sql = "select note from item where id = 1"
"""


@pytest.mark.parametrize(
    ("driver", "url"),
    [
        ("com.h2database:h2:2.3.232", "jdbc:h2:{folder}/own"),
        ("org.hsqldb:hsqldb:2.7.3", "jdbc:hsqldb:file:{folder}/own;hsqldb.lock_file=false;shutdown=true"),
        ("org.apache.derby:derby:10.16.1.1", "jdbc:derby:{folder}/own;create=true"),
    ],
)
def test_a_database_in_the_engines_process_has_the_studys_data(lab: Lab, driver: str, url: str) -> None:
    study = EMBEDDED.replace("{driver}", driver).replace("{url}", url) + PLAN
    done = run(lab, study)
    assert done.returncode == 0, done.stderr
    bundle = Bundle(lab.bundle)
    ((option, facts),) = bundle.environment["servers"].items()
    assert bundle.setting(option, "fact.rows") == "1"
    assert driver.split(":")[1][:2] in facts["version"].lower()
    assert {path.name for path in lab.folder.iterdir()} == {"study.toml", lab.bundle.name}


def test_a_property_of_the_driver_is_a_factor_and_options_take_turns(lab: Lab) -> None:
    study = f"""
name = "driver"
question = "Which?"
subject.kind = "postgres"
[workload]
kind = "lookup"
rows = 1000
[factors.client]
scope = "client"
[factors.client.levels]
NATIVE = {{ driver = "" }}
PGJDBC = {{ driver = "{PGJDBC}" }}
{PLAN}"""
    done = run(lab, study)
    assert done.returncode == 0, done.stderr
    assert "take turns" in done.stderr


def test_a_property_that_the_driver_does_not_list_is_named(server: Server, pgjdbc: list[str]) -> None:
    given = jdbc(server, pgjdbc)
    properties = {**given["properties"], "prepareTreshold": "1", "PREPARETHRESHOLD": "2", "loginTimeout": "3"}
    notices = by_java(plan(server.endpoint()), {**given, "properties": properties}).tables["notices"]
    said = [
        text for code, text in zip(notices["code"], notices["text"], strict=True) if code == "driver-property"
    ]
    assert [text.partition(" (")[0] for text in said] == [
        "the driver does not list the property PREPARETHRESHOLD",
        "the driver does not list the property prepareTreshold",
    ]


@pytest.mark.parametrize(
    ("lines", "cause"),
    [
        ('driver_properties = { password = "secret" }', "driver_properties.password: write ${NAME}"),
        ('driver_url = "jdbc:postgresql://u:secret@h/d"', "driver_url holds a password"),
        ('driver_url = "postgresql://h/d"', "a URL of JDBC begins with jdbc:"),
        (
            'driver_url = "jdbc:x:y"\ndriver_properties = { user = "${NOT_SET_HERE}" }',
            "NOT_SET_HERE is not set",
        ),
        ('driver_url = "jdbc:postgresql://127.0.0.1:1/d"', "the driver cannot connect"),
    ],
)
def test_bad_keys_of_a_driver_are_errors_of_the_study(lab: Lab, lines: str, cause: str) -> None:
    study = EMBEDDED.replace('driver_url = "{url}"', lines).replace("{driver}", PGJDBC) + PLAN
    done = run(lab, study)
    assert done.returncode == 2
    assert cause in " ".join(done.stderr.split())
    assert "secret" not in done.stderr


@pytest.mark.parametrize("study", ["ase-kernel-mode", "ase-statements", "oracle-result-cache"])
def test_a_study_of_a_server_of_yours_shows_its_plan_and_says_what_it_needs(lab: Lab, study: str) -> None:
    plan = lab.run("run", study, "--dry-run")
    assert "6 blocks" in plan.stderr
    needs = lab.run("run", study, "--bundle", lab.bundle)
    assert needs.returncode == 2
    assert "is not set" in needs.stderr
    assert "hint: export" in needs.stderr


def test_a_password_in_an_oracle_url_is_refused() -> None:
    assert password_written("jdbc:oracle:thin:scott/tiger@//db.example:1521/sales")
    assert not password_written("jdbc:oracle:thin:scott/${TIGER}@//db.example:1521/sales")
    assert not password_written("jdbc:oracle:thin:@//db.example:1521/sales")


def test_settings_of_a_session_are_sent_to_each_session(lab: Lab) -> None:
    study = EMBEDDED.replace("{driver}", "com.h2database:h2:2.3.232").replace("{url}", "jdbc:h2:{folder}/own")
    study += (
        '[factors.timeout]\nscope = "session"\nsetting = "{name}"\nlevels = { A = 1000, B = 2000 }\n' + PLAN
    )
    assert run(lab, study.replace("{name}", "lock_timeout")).returncode == 0
    lab.bundle.rename(lab.folder / "first.bundle")
    refused = run(lab, study.replace("{name}", "no_such_setting"))
    assert refused.returncode == 1
    assert "NO_SUCH_SETTING" in refused.stderr.upper()


def test_another_subject_without_drivers_refuses_one(lab: Lab) -> None:
    study = f"""
name = "s"
question = "?"
subject.kind = "sqlite"
workload = {{ kind = "lookup", rows = 10, driver = "{PGJDBC}" }}
{PLAN}"""
    done = run(lab, study)
    assert done.returncode == 2
    assert "SQLite takes no JDBC driver" in done.stderr
