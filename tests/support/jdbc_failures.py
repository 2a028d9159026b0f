"""Studies by a JDBC driver that end badly: how they are started, and what is left of them."""

from __future__ import annotations

import signal
import socket

from java_engine import PGJDBC
from laboratory import Lab, nothing_left, text_of
from servers import Server, free_port

from steelyard.bundle.reader import Bundle

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


def interrupted(lab: Lab, server: Server, number: signal.Signals) -> None:
    """Finished runs are kept, and no JVM and no session is left."""
    started(lab, study_at(server.port), blocks=9, measure_s=0.5)
    lab.wait_for(lambda: lab.runs() >= 1 and engines(lab), "a second run under load")
    lab.processes[0].send_signal(number)
    code, err = ended(lab)
    assert code == (3 if number == signal.SIGINT else -signal.SIGKILL), err
    assert len(Bundle(lab.bundle).evidence().view("runs")["run"]) == lab.runs() >= 1
    left = "select count(*) from pg_stat_activity where application_name = 'PostgreSQL JDBC Driver'"
    lab.wait_for(lambda: server.ask(left) == 0, "the end of the driver's sessions")


def cannot_work(lab: Lab, server: Server, changes: dict[str, str], cause: str) -> None:
    """Bad input: a hint, no bundle, nothing left."""
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


def silent_server(lab: Lab, driver: str, url: str) -> None:
    """A server that accepts and says nothing is bad input."""
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
