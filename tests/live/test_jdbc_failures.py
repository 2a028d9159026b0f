"""What goes wrong with a driver, as a user meets it: a clear error or a void run, and nothing left behind."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator

import pytest
from java_engine import needs_java
from jdbc_failures import (
    JVM,
    cannot_work,
    ended,
    interrupted,
    silent_server,
    started,
    study_at,
)
from laboratory import Lab
from servers import Server, postgres

pytestmark = needs_java


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with postgres() as running:
        yield running


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"user": "scrammed", "password": "wrong"}, "password authentication failed"),
        ({"driver": "no_such.jar"}, "there is no file"),
        ({"driver": "study.toml"}, "study.toml is no jar"),
        ({"url": "jdbc:postgresql://127.0.0.1:{free}/d"}, "refused"),
    ],
)
def test_a_driver_that_cannot_work_is_bad_input_and_leaves_no_bundle(
    lab: Lab, server: Server, changes: dict[str, str], cause: str
) -> None:
    cannot_work(lab, server, changes, cause)


def test_a_killed_study_keeps_finished_runs_and_leaves_no_jvm(lab: Lab, server: Server) -> None:
    interrupted(lab, server, signal.SIGKILL)


def test_a_server_that_accepts_and_says_nothing_is_bad_input(lab: Lab) -> None:
    # H2's driver knows no limit of its own
    silent_server(lab, "com.h2database:h2:2.3.232", "jdbc:h2:tcp://127.0.0.1:{port}/d")


def test_an_interrupt_while_the_driver_connects_ends_at_once(lab: Lab) -> None:
    """A server that accepts and says nothing: the driver waits for it."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        started(lab, study_at(silent.getsockname()[1]))
        lab.wait_for(lambda: lab.ours(f"{JVM} prepare"), "a driver that connects")
        lab.processes[0].send_signal(signal.SIGINT)
        code, err = ended(lab)
    assert code == 3, err
