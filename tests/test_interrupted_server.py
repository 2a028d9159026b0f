"""A server that dies, restarts or recovers under load gives no result: the run is void and redone."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

import servers
from laboratory import Lab, small_study
from mariadb_server import needs_mariadb
from processes import family
from steelyard.bundle.reader import Bundle
from test_hardness import nothing_left, parent_is_not_postgres, under_load

ROW = "select status, cause from runs order by run"


def postmaster(lab: Lab) -> int:
    return next(pid for pid in lab.ours("postgres -D") if parent_is_not_postgres(pid))


def titled(pids: list[int], title: str) -> int:
    """The process of PostgreSQL whose title holds this."""
    return next(
        pid for pid in pids if title in Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    )


def under_way(lab: Lab, subject: str, measure_s: float = 3) -> None:
    study = small_study(lab.folder, subject=subject, blocks=1, measure_s=measure_s)
    lab.start("run", study, "--bundle", lab.bundle)
    lab.wait_for(lambda: under_load(lab), "a run under load")


def ended(lab: Lab) -> tuple[list[str], str]:
    """Status of each run, and the cause of the first."""
    _, err = lab.processes[0].communicate(timeout=150)
    assert lab.processes[0].returncode == 0, err
    rows = Bundle(lab.bundle).columns(ROW)
    lab.wait_for(lambda: nothing_left(lab), "the end of everything")
    return list(map(str, rows["status"])), str(rows["cause"][0])


@pytest.mark.parametrize("title", ["steelyard", "checkpointer"])
def test_a_killed_process_of_a_server_voids_the_run(lab: Lab, title: str) -> None:
    """The postmaster ends all others, recovers and goes on: clients reconnect, and 'done' would be wrong."""
    under_way(lab, "postgres")
    os.kill(titled(family(postmaster(lab))[1:], title), signal.SIGKILL)
    status, cause = ended(lab)
    assert status == ["void", "done", "done"]
    assert "crash" in cause or "connections were lost" in cause, cause
    assert "was terminated by signal 9" in (lab.bundle / "logs" / "0001.log").read_text()


def test_one_terminated_session_voids_the_run(lab: Lab) -> None:
    under_way(lab, "postgres")
    folder = next(lab.folder.glob("steelyard-*/sockets"))
    with psycopg.connect(host=str(folder), user="postgres", dbname="postgres", autocommit=True) as own:
        own.execute(
            "select pg_terminate_backend(min(pid)) from pg_stat_activity"
            " where backend_type = 'client backend' and application_name <> 'steelyard-monitor'"
            " and datname like 'steelyard%' and pid <> pg_backend_pid()"
        )
    status, cause = ended(lab)
    assert status == ["void", "done", "done"]
    assert "connection" in cause and "lost" in cause


def test_a_killed_mariadb_voids_the_run(lab: Lab) -> None:
    needs_mariadb()
    under_way(lab, "mariadb")
    os.kill(lab.ours("mariadbd --no-defaults")[0], signal.SIGKILL)
    status, cause = ended(lab)
    assert status == ["void", "done", "done"]
    assert "lost" in cause or "SIGKILL" in cause


@pytest.fixture
def server() -> Iterator[servers.Server]:
    with servers.postgres() as running:
        yield running


def test_a_crash_of_a_server_at_an_address_voids_the_run(lab: Lab, server: servers.Server) -> None:
    study = small_study(lab.folder, subject="postgres", blocks=1, measure_s=3)
    dsn = f'kind = "postgres"\ndsn = "host={server.folder} port={server.port} user=postgres dbname=postgres"'
    work = '[workload]\nkind = "sql"\nstatements = {one = {sql = "select 1"}}'
    text = study.read_text().replace('kind = "postgres"', dsn)
    study.write_text(text.replace("[workload]\nrows = 1000", work))
    lab.start("run", study, "--bundle", lab.bundle)
    lab.wait_for(lambda: under_load(lab), "a run under load")
    with psycopg.connect(host=str(server.folder), port=server.port, user="postgres", autocommit=True) as own:
        row = own.execute(
            "select pid from pg_stat_activity where backend_type = 'background writer'"
        ).fetchone()
    assert row is not None
    os.kill(row[0], signal.SIGKILL)
    status, cause = ended(lab)
    assert status == ["void", "done", "done"]
    assert "crash" in cause or "connections were lost" in cause, cause
