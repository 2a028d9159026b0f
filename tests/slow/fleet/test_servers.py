"""Servers of the lab's machine, loaded by three other hosts."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fleet_hosts import LAB, LOADS, Fleet, command_of, fleet, until
from java_engine import PGJDBC, needs_java
from namespaces import permitted
from needs import needs

from steelyard import _core
from steelyard.bundle.reader import Bundle

pytestmark = [
    pytest.mark.skipif(not permitted(), reason="network namespaces need root"),
    pytest.mark.timeout(600),
]
# neither the lab's host nor one that loads
STRANGER = "stranger"

STUDY = """
name = "served"
question = "Do other hosts reach the server?"
[subject]
kind = "SUBJECT"
[workload]
kind = "lookup"
rows = 200
[factors.prepare]
scope = "client"
levels.U = {{ handle = "unnamed" }}
levels.P = {{ handle = "named" }}
[plan]
clients = [6]
warm_up_s = 0.2
measure_s = {measure_s}
cool_down_s = 0.1
blocks = {blocks}
disturbed = "keep"
"""
VALKEY = """
name = "keys"
question = "Do other hosts reach Valkey?"
[subject]
kind = "valkey"
[workload]
kind = "key-value"
keys = 200
value_bytes = 10
reads_percent = 80
[plan]
clients = [6]
warm_up_s = 0.2
measure_s = {measure_s}
cool_down_s = 0.1
blocks = {blocks}
disturbed = "keep"
"""
POOLER = """
name = "pooled"
question = "Do other hosts reach the pooler?"
[subject]
kind = "postgres"
settings = {{ pooler = "pgbouncer" }}
[workload]
kind = "lookup"
handle = "unnamed"
rows = 200
[plan]
clients = [6]
warm_up_s = 0.2
measure_s = {measure_s}
cool_down_s = 0.1
blocks = {blocks}
disturbed = "keep"
"""
DRIVER = """
name = "driver"
question = "Do other hosts load by a driver?"
[subject]
kind = "postgres"
[workload]
kind = "lookup"
handle = "named"
rows = 200
driver = "JARS"
driver_heap_mib = 64
driver_warm_up_max_s = 1
[plan]
clients = [CLIENTS]
warm_up_s = 0.2
measure_s = {measure_s}
cool_down_s = 0.1
blocks = {blocks}
disturbed = "keep"
"""


def study(subject: str) -> str:
    return STUDY.replace("SUBJECT", subject)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with fleet(tmp_path_factory.mktemp("served"), others=[STRANGER]) as up:
        yield up


def servers(made: Fleet, program: str = "postgres") -> list[int]:
    """Processes of the server."""
    return [pid for pid in made.net.processes(LAB) if Path(command_of(pid).split(" ")[0]).name == program]


@pytest.mark.parametrize("subject", ["postgres", "mariadb"])
def test_a_server_is_loaded_by_three_hosts_and_watched_on_its_own(made: Fleet, subject: str) -> None:
    if subject == "mariadb":
        needs("MariaDB")
    bundle = made.run(subject, measure_s=1, blocks=2, study=study(subject))
    assert bundle.columns("select count(*) as n from runs where status = 'done'")["n"] == [4]
    loads = bundle.columns("select distinct host from host_load order by host")["host"]
    assert list(map(str, loads)) == list(LOADS)
    cpu = bundle.duckdb.execute(
        "select max(value) - min(value) from samples where monitor = 'processes' and entity = 'server'"
        " and metric like 'cpu%total' group by run, metric"
    ).fetchall()
    assert cpu and any(used > 0 for (used,) in cpu)
    own = bundle.columns(f"select count(*) as n from samples where monitor like '{subject}%'")["n"]
    assert own[0] > 0
    assert not servers(made)


def test_a_server_admits_the_load_hosts_and_no_other(made: Fleet) -> None:
    running = made.begin("closed", measure_s=60, study=study("postgres"))
    until(lambda: all(map(made.engines, LOADS)), 240)
    (command,) = {command_of(pid) for pid in servers(made) if "--port=" in command_of(pid)}
    port = int(command.partition("--port=")[2].split()[0])
    ask = (
        "import psycopg, sys\ntry: psycopg.connect(host=sys.argv[1], port=sys.argv[2], user='postgres',"
        " password='x', connect_timeout=5)\nexcept psycopg.Error as error: print(error)"
    )
    said = {
        host: subprocess.check_output(
            [*made.net.reach(host), sys.executable, "-c", ask, made.net.address(LAB), str(port)],
            text=True,
        )
        for host in (STRANGER, LOADS[0])
    }
    assert "no pg_hba.conf entry" in said[STRANGER]
    assert "password authentication failed" in said[LOADS[0]]
    running.kill()
    running.communicate()
    until(lambda: not servers(made) and not any(map(made.engines, LOADS)), 40)


@pytest.mark.parametrize(
    ("own", "program"), [(VALKEY, "valkey-server"), (POOLER, "pgbouncer")], ids=["valkey", "pooler"]
)
def test_other_hosts_load_it_by_the_password_of_the_study(made: Fleet, own: str, program: str) -> None:
    if program == "pgbouncer":
        needs("pgbouncer")
    bundle = made.run(program, study=own)
    done = bundle.columns("select host, transactions from host_load order by host")
    assert list(map(str, done["host"])) == list(LOADS)
    assert all(done["transactions"] > 0)
    if program == "valkey-server":
        assert not bundle.environment["server"]["settings"]["requirepass"]
    assert not servers(made, program)


@needs_java
def test_other_hosts_load_it_by_a_jdbc_driver(made: Fleet) -> None:
    bundle = made.run("driver", study=DRIVER.replace("JARS", PGJDBC).replace("CLIENTS", "6"))
    own = bundle.duckdb
    hosts = own.execute(
        "select host, clients, transactions, histogram from host_load order by host"
    ).fetchall()
    assert [host for host, *_ in hosts] == list(LOADS)
    assert all(clients == 2 and done > 0 for _, clients, done, _ in hosts)
    ((count, whole),) = own.execute(
        "select count, histogram from latency where statement = 'transaction'"
    ).fetchall()
    assert sum(done for _, _, done, _ in hosts) == count
    merged = _core.histogram_merge([histogram for *_, histogram in hosts])
    at = [0.5, 0.99, 0.999]
    assert _core.histogram_quantiles(merged, at) == _core.histogram_quantiles(whole, at)
    of_clients = own.execute(
        "select host, value from host_samples where metric = 'cpu_ns_per_transaction'"
        " and entity = 'point0:clients' order by host"
    ).fetchall()
    assert [host for host, _ in of_clients] == list(LOADS) and all(cpu_ns > 0 for _, cpu_ns in of_clients)


@pytest.mark.parametrize(
    ("jars", "clients", "cause"),
    [
        ("/nowhere/driver.jar", "6", "there is no file /nowhere/driver.jar"),
        (PGJDBC, "2", "2 clients cannot be divided among 3 hosts"),
    ],
)
def test_hosts_that_lack_a_driver_or_clients_are_an_error_of_the_study(
    made: Fleet, jars: str, clients: str, cause: str
) -> None:
    text = DRIVER.replace("JARS", jars).replace("CLIENTS", clients)
    refused = made.begin("refused", study=text)
    _, error = refused.communicate(timeout=60)
    assert refused.returncode == 2, error
    assert cause in " ".join(error.split())


def test_a_lost_load_host_voids_the_run_is_named_and_the_server_stops(tmp_path: Path) -> None:
    with fleet(tmp_path) as doomed:
        running = doomed.begin("load", measure_s=60, study=study("postgres"))
        until(lambda: all(map(doomed.engines, LOADS)), 240)
        time.sleep(2)
        doomed.kill_worker("load2")
        out, error = running.communicate(timeout=90)
        assert running.returncode == 1, out + error
        assert "host load2" in error and "lost" in error, error
        # no second attempt: none takes the place of a lost host
        runs = Bundle(doomed.folder / "load").columns("select status, cause from runs")
        assert [str(status) for status in runs["status"]] == ["void"] and "host load2" in str(
            runs["cause"][0]
        )
        assert not servers(doomed)
        until(lambda: not any(map(doomed.engines, LOADS)), 40)
