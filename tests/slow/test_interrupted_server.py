"""A server that dies or restarts under load gives no result: other servers, and other ways to die."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import psycopg
import pytest
import servers
from interrupted_server import check_killed_process, ended, under_way
from laboratory import Lab, small_study, under_load
from needs import needs


def test_a_killed_checkpointer_voids_the_run(lab: Lab) -> None:
    check_killed_process(lab, "checkpointer")


def test_a_killed_mariadb_voids_the_run(lab: Lab) -> None:
    needs("MariaDB")
    under_way(lab, "mariadb")
    os.kill(lab.ours("mariadbd --no-defaults")[0], signal.SIGKILL)
    status, cause = ended(lab)
    assert status == ["void", "done", "done"]
    assert "lost" in cause or "SIGKILL" in cause


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
