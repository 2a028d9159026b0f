"""What goes wrong with a driver, as a user meets it: a clear error or a void run, and nothing left behind."""

from __future__ import annotations

import os
import shutil
import signal
import socket
from collections.abc import Iterator

import pytest

from laboratory import Lab, text_of
from servers import Server, free_port, postgres
from steelyard.bundle.reader import Bundle
from test_hardness import nothing_left, parent_is_not_postgres

pytestmark = pytest.mark.skipif(
    not (shutil.which("java") and shutil.which("mvn")), reason="needs Java 17 and Maven"
)
PGJDBC = "org.postgresql:postgresql:42.7.4"
JVM = "steelyard.Main"
ADDRESS = """
name = "address"
question = "Which way?"
[subject]
kind = "jdbc"
dsn = "{url}"
[workload]
kind = "sql"
driver = "{driver}"
driver_class = "{driver_class}"
driver_heap_mib = 64
driver_properties = {{ user = "{user}", password = "${{PASSWORD}}" }}
[workload.statements.find]
sql = "select 1"
"""
OWN = f"""
name = "own"
question = "Which way?"
[subject]
kind = "postgres"
[workload]
kind = "lookup"
rows = 1000
driver = "{PGJDBC}"
driver_heap_mib = 64
"""
PLAN = """
[factors.handle]
scope = "client"
levels = {{ simple = "none", named = "named" }}
[plan]
clients = [2]
warm_up_s = 0
measure_s = {measure_s}
cool_down_s = 0
blocks = {blocks}
turns = false
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with postgres() as running:
        yield running


def study_at(
    port: int, driver: str = PGJDBC, driver_class: str = "", user: str = "postgres", url: str = ""
) -> str:
    url = url or f"jdbc:postgresql://127.0.0.1:{port}/postgres?sslmode=prefer"
    return ADDRESS.format(url=url, driver=driver, driver_class=driver_class, user=user)


def started(lab: Lab, study: str, blocks: int = 1, measure_s: float = 1) -> None:
    file = lab.folder / "study.toml"
    file.write_text(study + PLAN.format(blocks=blocks, measure_s=measure_s))
    lab.start("run", file, "--bundle", lab.bundle, PASSWORD="opensesame")


def engines(lab: Lab) -> list[int]:
    """JVMs of engines, those that only prepare apart."""
    lines = {pid: text_of(pid, "cmdline") for pid in lab.ours(JVM)}
    return [pid for pid, line in lines.items() if JVM in line and f"{JVM}\0prepare" not in line]


def ended(lab: Lab) -> tuple[int, str]:
    """Exit code and messages, once nothing is left."""
    _, err = lab.processes[0].communicate(timeout=150)
    lab.wait_for(lambda: nothing_left(lab), f"the end of {lab.ours()} {lab.traces()}")
    return lab.processes[0].returncode, " ".join(err.split())


def statuses(lab: Lab) -> tuple[list[str], str]:
    """Status of each run, and the cause of the first."""
    rows = Bundle(lab.bundle).columns("select status, cause from runs order by run")
    return list(map(str, rows["status"])), str(rows["cause"][0])


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"user": "scrammed", "password": "wrong"}, "password authentication failed"),
        ({"driver": "no_such.jar"}, "there is no file"),
        ({"driver": "org.postgresql:postgresql:0.0.0"}, "Maven cannot fetch org.postgresql:postgresql:0.0.0"),
        ({"driver_class": "org.example.Driver"}, "no class org.example.Driver in the driver's jar"),
        ({"url": "jdbc:postgres://127.0.0.1/d"}, "No suitable driver"),
        ({"url": "jdbc:postgresql://127.0.0.1:{free}/d"}, "refused"),
        ({"url": "jdbc:postgresql://127.0.0.1:{port}/none"}, 'database "none" does not exist'),
    ],
)
def test_a_driver_that_cannot_work_is_bad_input_and_leaves_no_bundle(
    lab: Lab, server: Server, changes: dict[str, str], cause: str
) -> None:
    changes = dict(changes)
    password = changes.pop("password", "opensesame")
    if "url" in changes:
        changes["url"] = changes["url"].format(free=free_port(), port=server.port)
    file = lab.folder / "study.toml"
    file.write_text(study_at(server.port, **changes) + PLAN.format(blocks=1, measure_s=1))
    done = lab.run("run", file, "--bundle", lab.bundle, PASSWORD=password)
    assert done.returncode == 2, done.stderr
    assert cause in " ".join(done.stderr.split())
    assert "hint:" in done.stderr
    assert "Traceback" not in done.stderr and password not in done.stderr
    assert not lab.bundle.exists()
    assert nothing_left(lab)


def test_a_killed_jvm_voids_its_run_and_the_block_is_redone(lab: Lab, server: Server) -> None:
    started(lab, study_at(server.port))
    lab.wait_for(lambda: engines(lab), "a run under load")
    os.kill(engines(lab)[0], signal.SIGKILL)
    code, err = ended(lab)
    assert code == 0, err
    status, cause = statuses(lab)
    assert status[0] == "void"
    assert status[-2:] == ["done", "done"]
    assert "SIGKILL" in cause


def test_a_server_of_the_lab_that_is_killed_voids_the_run(lab: Lab) -> None:
    started(lab, OWN)
    lab.wait_for(lambda: engines(lab), "a run under load")
    os.kill(next(pid for pid in lab.ours("postgres -D") if parent_is_not_postgres(pid)), signal.SIGKILL)
    code, err = ended(lab)
    assert code == 0, err
    status, cause = statuses(lab)
    assert status[0] == "void"
    assert status[-2:] == ["done", "done"]
    assert "lost" in cause or "connect" in cause, cause


def test_a_server_at_an_address_that_is_lost_ends_the_study_and_finished_runs_are_kept(lab: Lab) -> None:
    with postgres() as mortal:
        started(lab, study_at(mortal.port), blocks=9)
        lab.wait_for(lambda: lab.runs() >= 1 and engines(lab), "a second run under load")
        postmaster = int((mortal.folder / "data" / "postmaster.pid").read_text().split()[0])
        os.kill(postmaster, signal.SIGKILL)
        code, err = ended(lab)
    # as for the native engine: what the study names cannot be reached
    assert code == 2, err
    assert "the driver cannot connect" in err and "hint: check the URL, the server" in err
    assert "finished runs are kept, continue with" in err and f"resume {lab.bundle}" in err
    assert "Traceback" not in err
    status, _ = statuses(lab)
    assert status[0] == "done"
    assert "void" in status


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_study_keeps_finished_runs_and_leaves_no_jvm(
    lab: Lab, server: Server, number: signal.Signals
) -> None:
    started(lab, study_at(server.port), blocks=9)
    lab.wait_for(lambda: lab.runs() >= 1 and engines(lab), "a second run under load")
    lab.processes[0].send_signal(number)
    code, err = ended(lab)
    assert code == (3 if number == signal.SIGINT else -signal.SIGKILL), err
    assert len(Bundle(lab.bundle).evidence().runs["run"]) == lab.runs() >= 1
    left = "select count(*) from pg_stat_activity where application_name = 'PostgreSQL JDBC Driver'"
    lab.wait_for(lambda: server.ask(left) == 0, "the end of the driver's sessions")


@pytest.mark.parametrize(
    ("driver", "url"),
    [
        (PGJDBC, "jdbc:postgresql://127.0.0.1:{port}/d"),
        # it knows no limit of its own
        ("com.h2database:h2:2.3.232", "jdbc:h2:tcp://127.0.0.1:{port}/d"),
    ],
)
def test_a_server_that_accepts_and_says_nothing_is_bad_input(lab: Lab, driver: str, url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = url.format(port=silent.getsockname()[1])
        file = lab.folder / "study.toml"
        study = study_at(0, driver, url=address) + PLAN.format(blocks=1, measure_s=1)
        file.write_text(study.replace("driver_heap_mib", "driver_login_s = 1\ndriver_heap_mib"))
        done = lab.run("run", file, "--bundle", lab.bundle, PASSWORD="opensesame")
    assert done.returncode == 2, done.stderr
    err = " ".join(done.stderr.split())
    assert "the driver cannot connect" in err and "hint: check the URL, the server" in err
    assert "workload.driver_login_s" in err and "Traceback" not in err
    assert not lab.bundle.exists()
    assert nothing_left(lab)


def test_an_interrupt_while_the_driver_connects_ends_at_once(lab: Lab) -> None:
    """A server that accepts and says nothing: the driver waits for it."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        started(lab, study_at(silent.getsockname()[1]))
        lab.wait_for(lambda: lab.ours(f"{JVM} prepare"), "a driver that connects")
        lab.processes[0].send_signal(signal.SIGINT)
        code, err = ended(lab)
    assert code == 3, err
