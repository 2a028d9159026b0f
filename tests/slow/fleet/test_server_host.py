"""The server on a host of its own, loaded by three others, for a lab on a fifth."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fleet_hosts import (
    ALL_IN_ONE,
    APART,
    DB,
    LAB,
    LOADS,
    Fleet,
    command_of,
    fleet,
    until,
)
from java_engine import PGJDBC, needs_java
from namespaces import permitted
from needs import needs

from steelyard import _core
from steelyard.bundle.reader import Bundle

pytestmark = [
    pytest.mark.skipif(not permitted(), reason="network namespaces need root"),
    pytest.mark.timeout(600),
]
# of a network namespace, so each host has its own
KNOB = "net.ipv4.tcp_slow_start_after_idle"
MAIN = "steelyard.workflow.on_server_host"

STUDY = """
name = "apart"
question = "Does the host of the server do what one machine does?"
[subject]
kind = "SUBJECT"
[workload]
kind = "lookup"
rows = 200
[host]
sysctl.KNOB = 0
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
turns = TURNS
""".replace("KNOB", KNOB)
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
SQLITE = """
name = "beside"
question = "Is the load within the server's host?"
[subject]
kind = "sqlite"
[workload]
kind = "lookup"
rows = 200
[plan]
clients = [2]
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


def study(subject: str, turns: str = "false") -> str:
    return STUDY.replace("SUBJECT", subject).replace("TURNS", turns)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """The folder for temporary files of all hosts: a short path, for the sockets of servers."""
    folder = Path(tempfile.mkdtemp(prefix="fl"))
    folder.chmod(0o755)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("TMPDIR", str(folder))
        yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def temporary() -> Iterator[Path]:
    with temporary_folder() as folder:
        yield folder


@pytest.fixture
def doomed(tmp_path: Path, temporary: Path) -> Iterator[Fleet]:
    """A fleet for one test, which harms it."""
    with fleet(tmp_path, roles=APART) as made:
        yield made


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Fleet, Path]]:
    with temporary_folder() as folder, fleet(tmp_path_factory.mktemp("apart"), roles=APART) as made:
        yield made, folder


@pytest.fixture
def apart(lasting: tuple[Fleet, Path]) -> Fleet:
    """The fleet of all tests that do it no harm."""
    return lasting[0]


@pytest.fixture
def of_all(lasting: tuple[Fleet, Path]) -> Path:
    """Its folder for temporary files."""
    return lasting[1]


def knob(made: Fleet, host: str) -> str:
    path = f"/proc/sys/{KNOB.replace('.', '/')}"
    return subprocess.check_output([*made.net.reach(host), "cat", path], text=True).strip()


def servers(made: Fleet, program: str = "postgres") -> list[int]:
    """Processes of the server on its host."""
    return [pid for pid in made.net.processes(DB) if Path(command_of(pid).split(" ")[0]).name == program]


def main_of(made: Fleet) -> int:
    (pid,) = [pid for pid in made.net.processes(DB) if MAIN in command_of(pid)]
    return pid


def under_load(made: Fleet) -> None:
    until(lambda: all(map(made.engines, LOADS)), 240)
    time.sleep(2)
    assert servers(made)
    assert (knob(made, DB), knob(made, LAB)) == ("0", "1")


def of_studies(temporary: Path) -> set[Path]:
    return {*temporary.glob("steelyard-*")} - {*temporary.glob("steelyard-worker-*")}


def clean(made: Fleet, temporary: Path, limit_s: float = 40) -> None:
    """Neither server nor load, no files, and the setting as before."""
    until(lambda: not servers(made), limit_s)
    until(lambda: not any(MAIN in command_of(pid) for pid in made.net.processes(DB)), 20)
    until(lambda: not any(map(made.engines, LOADS)), 40)
    until(lambda: not of_studies(temporary), 20)
    assert knob(made, DB) == "1"


def lost(made: Fleet, bundle: str) -> list[tuple[str, str]]:
    rows = Bundle(made.folder / bundle).columns("select status, cause from runs")
    return [(str(status), str(cause)) for status, cause in zip(rows["status"], rows["cause"], strict=True)]


@pytest.mark.parametrize("subject", ["postgres", "mariadb"])
def test_a_server_on_its_own_host_is_started_watched_and_stopped_there(
    apart: Fleet, of_all: Path, subject: str
) -> None:
    if subject == "mariadb":
        needs("MariaDB")
    bundle = apart.run(subject, measure_s=1, blocks=2, study=study(subject, '"auto"'))
    assert bundle.environment["server host"] == {"name": DB}
    done = bundle.columns("select count(*) as n from runs where status = 'done'")["n"]
    assert done == [4]
    loads = bundle.columns("select distinct host from host_load order by host")["host"]
    assert list(map(str, loads)) == list(LOADS)
    cpu = bundle.duckdb.execute(
        "select max(value) - min(value) from samples where monitor = 'processes' and entity = 'server'"
        " and metric like 'cpu%total' group by run, metric"
    ).fetchall()
    assert cpu and any(used > 0 for (used,) in cpu)
    own = bundle.columns(f"select count(*) as n from samples where monitor like '{subject}%'")["n"]
    assert own[0] > 0
    facts = bundle.environment["server"]
    assert facts["settings"] and facts["version"]
    assert bundle.evidence().study.fleet is not None
    clean(apart, of_all)


def test_a_server_admits_the_load_hosts_and_no_other(apart: Fleet, of_all: Path) -> None:
    running = apart.begin("closed", measure_s=60, study=study("postgres"))
    under_load(apart)
    (command,) = {command_of(pid) for pid in servers(apart) if "--port=" in command_of(pid)}
    port = int(command.partition("--port=")[2].split()[0])
    ask = (
        "import psycopg, sys\ntry: psycopg.connect(host=sys.argv[1], port=sys.argv[2], user='postgres',"
        " password='x', connect_timeout=5)\nexcept psycopg.Error as error: print(error)"
    )
    said = {
        host: subprocess.check_output(
            [*apart.net.reach(host), os.sys.executable, "-c", ask, apart.net.address(DB), str(port)],
            text=True,
        )
        for host in (LAB, LOADS[0])
    }
    assert "no pg_hba.conf entry" in said[LAB]
    assert "password authentication failed" in said[LOADS[0]]
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=60)
    assert running.returncode == 130 or running.returncode != 0
    clean(apart, of_all)


@pytest.mark.parametrize(
    ("own", "program"), [(VALKEY, "valkey-server"), (POOLER, "pgbouncer")], ids=["valkey", "pooler"]
)
def test_other_hosts_load_it_by_password_alone(apart: Fleet, of_all: Path, own: str, program: str) -> None:
    if program == "pgbouncer":
        needs("pgbouncer")
    bundle = apart.run(program, study=own)
    done = bundle.columns("select host, transactions from host_load order by host")
    assert list(map(str, done["host"])) == list(LOADS)
    assert all(done["transactions"] > 0)
    assert not bundle.environment["server"]["settings"].get("requirepass")
    until(lambda: not [pid for pid in apart.net.processes(DB) if program in command_of(pid)], 20)
    clean(apart, of_all)


@needs_java
def test_other_hosts_load_it_by_a_jdbc_driver(apart: Fleet, of_all: Path) -> None:
    bundle = apart.run("driver", study=DRIVER.replace("JARS", PGJDBC).replace("CLIENTS", "6"))
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
    clean(apart, of_all)


@pytest.mark.parametrize(
    ("jars", "clients", "cause"),
    [
        ("/nowhere/driver.jar", "6", "there is no file /nowhere/driver.jar"),
        (PGJDBC, "2", "2 clients cannot be divided among 3 hosts"),
    ],
)
def test_what_hosts_cannot_do_by_a_driver_is_an_error_of_the_study(
    apart: Fleet, jars: str, clients: str, cause: str
) -> None:
    text = DRIVER.replace("JARS", jars).replace("CLIENTS", clients)
    refused = apart.begin("refused", study=text)
    _, error = refused.communicate(timeout=60)
    assert refused.returncode == 2, error
    assert cause in " ".join(error.split())


def test_sqlite_is_loaded_within_its_host(tmp_path: Path, temporary: Path) -> None:
    with fleet(tmp_path, roles=ALL_IN_ONE, loads=()) as made:
        running = made.begin("beside", measure_s=4, study=SQLITE)
        until(lambda: bool(made.engines(DB)), 60)
        out, error = running.communicate(timeout=90)
        assert running.returncode == 0, out + error
        assert Bundle(made.folder / "beside").columns("select status from runs")["status"].tolist() == [
            "done"
        ]
        assert not of_studies(temporary)


def test_a_killed_worker_of_the_server_leaves_nothing_there(doomed: Fleet, temporary: Path) -> None:
    running = doomed.begin("worker", measure_s=60, study=study("postgres"))
    under_load(doomed)
    doomed.kill_worker(DB)
    out, error = running.communicate(timeout=90)
    assert running.returncode == 1, out + error
    assert f"host {DB}" in error and "lost" in error, error
    clean(doomed, temporary)
    assert all(status == "void" and DB in cause for status, cause in lost(doomed, "worker"))


def test_a_killed_process_of_the_server_host_leaves_nothing_and_the_fleet_serves_the_next(
    apart: Fleet, of_all: Path
) -> None:
    running = apart.begin("process", measure_s=60, study=study("postgres"))
    under_load(apart)
    os.kill(main_of(apart), signal.SIGKILL)
    out, error = running.communicate(timeout=90)
    assert running.returncode == 1, out + error
    assert f"host {DB}" in error and "SIGKILL" in error, error
    clean(apart, of_all)
    assert apart.run("next", study=study("null")).columns("select count(*) as n from host_load")["n"] == [6]


def test_a_killed_scheduler_leaves_nothing_on_the_server_host(doomed: Fleet, temporary: Path) -> None:
    running = doomed.begin("headless", measure_s=60, study=study("postgres"))
    under_load(doomed)
    doomed.up.kill()
    out, error = running.communicate(timeout=90)
    assert running.returncode == 1, out + error
    assert "lost" in error, error
    clean(doomed, temporary)


def test_a_killed_lab_leaves_nothing_on_the_server_host(apart: Fleet, of_all: Path) -> None:
    running = apart.begin("orphan", measure_s=100, study=study("postgres"))
    under_load(apart)
    running.kill()
    running.communicate()
    clean(apart, of_all)


def test_a_server_host_that_is_cut_off_voids_the_run_and_stops_its_server(
    doomed: Fleet, temporary: Path
) -> None:
    running = doomed.begin("cut", measure_s=100, study=study("postgres"))
    under_load(doomed)
    doomed.net.cut(DB)
    out, error = running.communicate(timeout=120)
    assert running.returncode == 1, out + error
    assert f"host {DB}" in error and "lost" in error, error
    clean(doomed, temporary)
    assert [status for status, _ in lost(doomed, "cut")] == ["void"]


def test_a_lost_load_host_voids_the_run_and_is_named(doomed: Fleet, temporary: Path) -> None:
    running = doomed.begin("load", measure_s=60, study=study("postgres"))
    under_load(doomed)
    doomed.kill_worker("load2")
    out, error = running.communicate(timeout=90)
    assert running.returncode == 1, out + error
    assert "host load2" in error and "lost" in error, error
    # no second attempt: none takes the place of a lost host
    ((status, cause),) = lost(doomed, "load")
    assert status == "void" and "host load2" in cause
    clean(doomed, temporary)
