"""What goes wrong with a driver, as a user meets it: rarer causes, and a run that is voided and redone."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
from java_engine import PGJDBC, needs_java
from jdbc_failures import (
    cannot_work,
    ended,
    engines,
    interrupted,
    silent_server,
    started,
    statuses,
    study_at,
)
from laboratory import Lab, parent_is_not_postgres
from servers import Server, postgres

pytestmark = needs_java

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


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with postgres() as running:
        yield running


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"driver": "org.postgresql:postgresql:0.0.0"}, "Maven cannot fetch org.postgresql:postgresql:0.0.0"),
        ({"driver_class": "org.example.Driver"}, "no class org.example.Driver in the driver's jar"),
        ({"url": "jdbc:postgres://127.0.0.1/d"}, "No suitable driver"),
        ({"url": "jdbc:postgresql://127.0.0.1:{port}/none"}, 'database "none" does not exist'),
    ],
)
def test_a_driver_that_cannot_work_is_bad_input_and_leaves_no_bundle(
    lab: Lab, server: Server, changes: dict[str, str], cause: str
) -> None:
    cannot_work(lab, server, changes, cause)


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


def test_an_interrupted_study_keeps_finished_runs_and_leaves_no_jvm(lab: Lab, server: Server) -> None:
    interrupted(lab, server, signal.SIGINT)


def test_a_server_that_accepts_and_says_nothing_is_bad_input(lab: Lab) -> None:
    silent_server(lab, PGJDBC, "jdbc:postgresql://127.0.0.1:{port}/d")


def test_a_server_at_an_address_that_is_lost_ends_the_study_and_finished_runs_are_kept(lab: Lab) -> None:
    with postgres() as mortal:
        started(lab, study_at(mortal.port), blocks=4, measure_s=0.5)
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
