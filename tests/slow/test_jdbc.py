"""The Java engine: every handle, every database within its process, and its rarer failures."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from drawn_values import DRAWN, both_draw_the_same
from java_engine import PGJDBC, by_java, class_path, jdbc, needs_java
from laboratory import Lab
from servers import Server, plan, postgres

from steelyard.bundle.reader import Bundle
from steelyard.lab.engines.result import LoadFailed

pytestmark = needs_java


@pytest.fixture(scope="module")
def pgjdbc() -> list[str]:
    return class_path(PGJDBC)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with postgres() as running:
        running.ask(DRAWN)
        yield running


@pytest.mark.parametrize("handle", ["none", "per-use"])
def test_the_values_are_those_of_the_native_engine(server: Server, pgjdbc: list[str], handle: str) -> None:
    both_draw_the_same(server, pgjdbc, handle)


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
        ({"arrival": {"kind": "rounds"}}, "a closed or an open loop"),
        ({"text": "unique", "handle": "named"}, "unique texts kept open"),
    ],
)
def test_what_the_java_engine_lacks_is_refused(
    server: Server, pgjdbc: list[str], changes: dict[str, Any], cause: str
) -> None:
    with pytest.raises(LoadFailed, match=cause):
        by_java(plan(server.endpoint(), **changes), jdbc(server, pgjdbc))


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


def test_the_warm_up_ends_when_its_time_is_over(server: Server, pgjdbc: list[str]) -> None:
    rest = {"kind": "closed", "think_ms": 100, "think": "fixed"}
    of = plan(server.endpoint(), warm_up_s=0.3, points=[1], arrival=rest)
    tables = by_java(of, {**jdbc(server, pgjdbc), "warm_up_max_s": 0.2}).tables
    found = dict(zip(tables["samples"]["metric"], tables["samples"]["value"], strict=True))
    assert found["quiet"] == 0 and found["warm_up_s"] == 0.3
    assert found["compiled_methods_per_s"] > 0
    assert "was not quiet after 0.3 s of warm-up at 1 clients" in " ".join(tables["notices"]["text"])


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
PLAN = "[plan]\nclients = [2]\nwarm_up_s = 0\nmeasure_s = 0.5\ncool_down_s = 0\nblocks = 1\n"


@pytest.mark.parametrize(
    ("driver", "url"),
    [
        ("org.hsqldb:hsqldb:2.7.3", "jdbc:hsqldb:file:{folder}/own;hsqldb.lock_file=false;shutdown=true"),
        ("org.apache.derby:derby:10.16.1.1", "jdbc:derby:{folder}/own;create=true"),
    ],
)
def test_a_database_in_the_engines_process_has_the_studys_data(lab: Lab, driver: str, url: str) -> None:
    file = lab.folder / "study.toml"
    file.write_text(EMBEDDED.replace("{driver}", driver).replace("{url}", url) + PLAN)
    done = lab.run("run", file, "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    bundle = Bundle(lab.bundle)
    ((option, facts),) = bundle.environment["servers"].items()
    assert bundle.setting(option, "fact.rows") == "1"
    assert driver.split(":")[1][:2] in facts["version"].lower()
    assert {path.name for path in lab.folder.iterdir()} == {"study.toml", lab.bundle.name}


def test_a_setting_that_a_session_refuses_fails_the_run_by_name(lab: Lab) -> None:
    study = EMBEDDED.replace("{driver}", "com.h2database:h2:2.3.232").replace("{url}", "jdbc:h2:{folder}/own")
    factor = '[factors.a]\nscope = "session"\nsetting = "no_such_setting"\nlevels = { A = 1, B = 2 }\n'
    file = lab.folder / "study.toml"
    file.write_text(study + factor + PLAN)
    refused = lab.run("run", file, "--bundle", lab.bundle)
    assert refused.returncode == 1
    assert "NO_SUCH_SETTING" in refused.stderr.upper()
