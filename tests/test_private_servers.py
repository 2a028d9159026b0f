"""Nobody but the lab gets at the servers of a study, and a server's account owns nothing else."""

from __future__ import annotations

import os
import pwd
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import psycopg
import pymysql
import pytest

from laboratory import Lab, small_study
from mariadb_server import needs_mariadb
from processes import as_nobody, as_user
from steelyard.study.errors import InputError
from steelyard.subjects.servers.account import account_of_servers
from test_hardness import parent_is_not_postgres

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs a server as somebody else")
PROGRAMS = {"postgres": "postgres -D", "mariadb": "mariadbd --no-defaults"}


@pytest.fixture(params=["postgres", "mariadb"])
def running(request: pytest.FixtureRequest, lab: Lab) -> tuple[str, Lab, Path]:
    """A study under way: the subject, its lab, the socket of its server."""
    if request.param == "mariadb":
        needs_mariadb()
    study = small_study(lab.folder, subject=request.param, measure_s=60)
    lab.start("run", study, "--bundle", lab.bundle, DBPASS="opensesame", MALLOC_ARENA_MAX="2")
    lab.wait_for(lambda: lab.ours("steelyard.lab.engines.process"), "a run under load")
    found = [
        path
        for path in lab.folder.glob("steelyard-*/sockets/*")
        if path.is_socket() and path.suffix in (".5432", ".sock")
    ]
    assert len(found) == 1
    return request.param, lab, found[0]


def attempt(work: Callable[[], object]) -> str:
    """'' when it works, else the name of the error."""
    try:
        work()
    except Exception as error:
        return type(error).__name__
    return ""


@needs_root
def test_another_user_cannot_list_read_or_connect(running: tuple[str, Lab, Path]) -> None:
    _, lab, place = running
    folder = place.parents[1]
    log = folder / "server.log"
    assert log.exists()

    def connect() -> None:
        with socket.socket(socket.AF_UNIX) as peer:
            peer.connect(str(place))

    def tries() -> dict[str, str]:
        return {
            "list": attempt(lambda: list(folder.iterdir())),
            "list sockets": attempt(lambda: list(place.parent.iterdir())),
            "read the log": attempt(log.read_bytes),
            "connect": attempt(connect),
        }

    assert as_nobody(tries) == dict.fromkeys(tries(), "PermissionError")
    assert set(tries().values()) == {""}, "what is refused to another user works for the lab"
    assert not [
        p for p in folder.rglob("*") if p.stat().st_mode & 0o077 and p.parent == folder and p.is_dir()
    ]
    lab.processes[0].send_signal(signal.SIGINT)


@needs_root
def test_a_user_who_reached_the_socket_would_not_be_let_in(running: tuple[str, Lab, Path]) -> None:
    subject, _, place = running
    for closed in (place.parents[1], place.parent, place):
        closed.chmod(0o777)

    def log_in() -> str:
        try:
            if subject == "postgres":
                psycopg.connect(host=str(place.parent), user="postgres", dbname="postgres").close()
            else:
                pymysql.connect(unix_socket=str(place), user="root").close()
        except (psycopg.Error, pymysql.MySQLError) as error:
            return str(error)
        return "let in"

    told = as_nobody(log_in)
    assert "Peer authentication failed" in told or "Access denied" in told


def test_a_server_gets_the_environment_without_its_secrets(running: tuple[str, Lab, Path]) -> None:
    subject, lab, _ = running
    server = next(pid for pid in lab.ours(PROGRAMS[subject]) if parent_is_not_postgres(pid))
    variables = Path(f"/proc/{server}/environ").read_bytes()
    assert b"MALLOC_ARENA_MAX=2" in variables
    assert b"opensesame" not in variables


@needs_root
def test_a_server_runs_as_a_user_that_owns_no_other_server(running: tuple[str, Lab, Path]) -> None:
    subject, lab, _ = running
    owners = {pwd.getpwuid(Path(f"/proc/{pid}").stat().st_uid).pw_name for pid in lab.ours(PROGRAMS[subject])}
    assert owners == {"steelyard"}


@needs_root
def test_a_caller_without_a_name_is_refused_before_anything_is_made() -> None:
    def account() -> str:
        try:
            account_of_servers()
        except InputError as error:
            return f"{error} ({error.hint})"
        return "accepted"

    assert as_user(54321, account) == (
        "user 54321 has no name on this machine: servers refuse to run as this user"
        " (add the user to /etc/passwd, or run as another user)"
    )
