"""A server of a study under way, and what other users and the server itself may not have."""

from __future__ import annotations

import os
import pwd
import socket
from collections.abc import Callable
from pathlib import Path

import psycopg
import pymysql
from laboratory import Lab, parent_is_not_postgres, small_study
from processes import as_nobody

PROGRAMS = {"postgres": "postgres -D", "mariadb": "mariadbd --no-defaults"}


def under_way(lab: Lab, subject: str) -> Path:
    """Starts a study whose server runs for a minute; the socket of the server."""
    study = small_study(lab.folder, subject=subject, measure_s=60)
    lab.start("run", study, "--bundle", lab.bundle, DBPASS="opensesame", MALLOC_ARENA_MAX="2")
    lab.wait_for(lambda: lab.ours("steelyard.lab.engines.process"), "a run under load")
    found = [
        path
        for path in lab.folder.glob("steelyard-*/sockets/*")
        if path.is_socket() and path.suffix in (".5432", ".sock")
    ]
    assert len(found) == 1
    return found[0]


def attempt(work: Callable[[], object]) -> str:
    """'' when it works, else the name of the error."""
    try:
        work()
    except Exception as error:
        return type(error).__name__
    return ""


def another_user_cannot_list_read_or_connect(place: Path) -> None:
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


def a_user_who_reached_the_socket_would_not_be_let_in(subject: str, place: Path) -> None:
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


def a_server_gets_the_environment_without_its_secrets(subject: str, lab: Lab) -> None:
    server = next(pid for pid in lab.ours(PROGRAMS[subject]) if parent_is_not_postgres(pid))
    variables = Path(f"/proc/{server}/environ").read_bytes()
    assert b"MALLOC_ARENA_MAX=2" in variables
    assert b"opensesame" not in variables


def a_server_runs_as_a_user_that_owns_no_other_server(subject: str, lab: Lab) -> None:
    owners = {pwd.getpwuid(Path(f"/proc/{pid}").stat().st_uid).pw_name for pid in lab.ours(PROGRAMS[subject])}
    assert owners == {"steelyard"}


def check_privacy(lab: Lab, subject: str) -> None:
    """As root, as the claims on other users need it; as anybody else, the claim on the environment alone."""
    place = under_way(lab, subject)
    a_server_gets_the_environment_without_its_secrets(subject, lab)
    if os.geteuid() == 0:
        a_server_runs_as_a_user_that_owns_no_other_server(subject, lab)
        another_user_cannot_list_read_or_connect(place)
        a_user_who_reached_the_socket_would_not_be_let_in(subject, place)
