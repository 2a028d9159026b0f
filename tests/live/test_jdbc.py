"""The Java engine: the native engine's statements and values, on real servers, and its failures."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator

import pytest
from drawn_values import DRAWN, both_draw_the_same
from java_engine import PGJDBC, by_java, class_path, jdbc, jdbc_of, needs_java
from laboratory import Lab
from servers import Server, plan, postgres

from steelyard.bundle.reader import Bundle
from steelyard.lab.engines.process import LoadProcess
from steelyard.lab.engines.result import LoadFailed

pytestmark = needs_java
CONNECTOR_J = "org.mariadb.jdbc:mariadb-java-client:3.4.1"


@pytest.fixture(scope="module")
def pgjdbc() -> list[str]:
    return class_path(PGJDBC)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with postgres() as running:
        running.ask(DRAWN)
        yield running


def test_the_values_are_those_of_the_native_engine(server: Server, pgjdbc: list[str]) -> None:
    both_draw_the_same(server, pgjdbc, "named")


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


def test_errors_are_counted_by_sqlstate_and_a_client_past_its_deadline_connects_again(
    server: Server, pgjdbc: list[str]
) -> None:
    work = {
        "statements": [
            {"name": "good", "sql": "select 1"},
            {"name": "bad", "sql": "select 1 / (:n - 1)",
             "parameters": {"n": {"kind": "uniform", "low": 1, "high": 2}}},
            {"name": "slow", "sql": "select pg_sleep(5)"},
        ],
        "transactions": [
            {"name": "good", "weight": 20, "statements": ["good"], "begin": False},
            {"name": "bad", "weight": 20, "statements": ["bad"], "begin": True},
            {"name": "slow", "weight": 1, "statements": ["slow"], "begin": False},
        ],
        "handle": "named", "parameters": "client", "deadline_ms": 200, "measure_s": 1,
    }  # fmt: skip
    result = by_java(plan(server.endpoint(), **work), jdbc(server, pgjdbc))
    errors, transactions = result.tables["errors"], result.tables["transactions"]
    by_code = dict(zip(errors["code"], errors["count"], strict=True))
    by_kind = dict(zip(transactions["transaction"], transactions["errors"], strict=True))
    # on a busy machine others miss the deadline too
    assert by_kind["slow"] <= by_code["deadline"] and by_code["22012"] <= by_kind["bad"]
    assert sum(by_kind.values()) == sum(by_code.values())
    assert "division by zero" in errors["message"][errors["code"].index("22012")]
    assert min(by_code.values()) > 0 < result.facts.reconnections


def test_a_handle_that_jdbc_cannot_express_is_refused(server: Server, pgjdbc: list[str]) -> None:
    with pytest.raises(LoadFailed, match="none, named or per-use"):
        by_java(plan(server.endpoint(), handle="unnamed"), jdbc(server, pgjdbc))


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


def test_the_warm_up_ends_when_the_jvm_is_quiet(server: Server, pgjdbc: list[str]) -> None:
    """Quiet takes two half seconds with little to compile: little load has that soon."""
    rest = {"kind": "closed", "think_ms": 100, "think": "fixed"}
    of = plan(server.endpoint(), warm_up_s=0.3, points=[1], arrival=rest)
    tables = by_java(of, {**jdbc(server, pgjdbc), "warm_up_max_s": 90}).tables
    found = dict(zip(tables["samples"]["metric"], tables["samples"]["value"], strict=True))
    assert found["quiet"] == 1 and 1 <= found["warm_up_s"] <= 90
    assert found["compiled_methods_per_s"] < 20 and found["compiling_percent"] < 5
    assert "was not quiet" not in " ".join(tables["notices"]["text"])


def test_cpu_within_the_process_is_by_group_of_threads() -> None:
    """A database in the process works in the clients' threads."""
    of = plan(
        {},
        statements=[{"name": "sum", "sql": "select sum(x) from system_range(1, 20000)"}],
        transactions=[{"name": "sum", "weight": 1, "statements": ["sum"], "begin": False}],
        points=[1, 2], measure_s=0.3,
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


def run(lab: Lab, study: str, *more: str) -> subprocess.CompletedProcess[str]:
    file = lab.folder / "study.toml"
    file.write_text(study)
    return lab.run("run", file, "--bundle", lab.bundle, *more)


PLAN = "[plan]\nclients = [1]\nwarm_up_s = 0\nmeasure_s = 0.3\ncool_down_s = 0\nblocks = 1\n"
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


def test_a_database_in_the_engines_process_has_the_studys_data_and_sessions_their_settings(lab: Lab) -> None:
    levels = "levels = { A = 1234, B = 2345 }"
    factor = f'[factors.timeout]\nscope = "session"\nsetting = "lock_timeout"\n{levels}\n'
    study = EMBEDDED.replace("{driver}", "com.h2database:h2:2.3.232").replace("{url}", "jdbc:h2:{folder}/own")
    # divides by zero in a session without its setting
    found = "id = 1 / case when lock_timeout() in (1234, 2345) then 1 else 0 end"
    study = study.replace("where id = 1", f"where {found}") + factor + PLAN
    done = run(lab, study)
    assert done.returncode == 0, done.stderr
    bundle = Bundle(lab.bundle)
    for option, facts in bundle.environment["servers"].items():
        assert bundle.setting(option, "fact.rows") == "1"
        assert "h2" in facts["version"].lower()
    assert set(bundle.columns("select errors from clients")["errors"]) == {0}
    assert {path.name for path in lab.folder.iterdir()} == {"study.toml", lab.bundle.name}


@pytest.mark.needs("MariaDB")
def test_the_driver_is_a_factor_and_takes_turns_with_the_native_engine(lab: Lab) -> None:
    study = f"""
name = "driver"
question = "Which?"
subject.kind = "mariadb"
[workload]
kind = "lookup"
rows = 1000
[factors.client]
scope = "client"
[factors.client.levels]
NATIVE = {{ driver = "" }}
DRIVER = {{ driver = "{CONNECTOR_J}" }}
{PLAN}"""
    done = run(lab, study)
    assert done.returncode == 0, done.stderr
    assert "take turns" in done.stderr
    rows = Bundle(lab.bundle).columns("select sum(errors) as errors from clients group by run")
    assert list(rows["errors"]) == [0, 0]


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


def test_a_study_of_a_server_of_yours_says_which_variable_it_needs(lab: Lab) -> None:
    done = lab.run("run", "oracle-result-cache", "--bundle", lab.bundle)
    assert done.returncode == 2
    assert "is not set" in done.stderr and "hint: export" in done.stderr
