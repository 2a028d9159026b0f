"""The load engine against real servers, by every combination of handle, text and kind of parameters."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import mariadb_server
import pytest
import servers
from handles import COMBINATIONS, REPRESENTATIVE, mariadb_counts_the_same, postgres_counts_the_same, run

from steelyard import _core

OTHERS = [one for one in COMBINATIONS if one not in REPRESENTATIVE]


@pytest.fixture(scope="module")
def postgres() -> Iterator[servers.Server]:
    with servers.postgres() as running:
        yield running


@pytest.fixture(scope="module")
def mariadb() -> Iterator[mariadb_server.Server]:
    with mariadb_server.mariadb("--max-connections=20") as running:
        yield running


@pytest.mark.parametrize(("handle", "text", "parameters"), OTHERS)
def test_every_combination_executes_what_postgresql_counts(
    postgres: servers.Server, handle: str, text: str, parameters: str
) -> None:
    postgres_counts_the_same(postgres, handle, text, parameters)


@pytest.mark.parametrize(("handle", "text", "parameters"), OTHERS)
def test_every_combination_executes_what_mariadb_counts(
    mariadb: mariadb_server.Server, handle: str, text: str, parameters: str
) -> None:
    mariadb_counts_the_same(mariadb, handle, text, parameters)


@pytest.mark.parametrize("io", ["epoll", "io_uring"])
@pytest.mark.parametrize("handle", ["none", "unnamed", "per-use", "left"])
def test_both_ways_to_the_kernel_do_the_same(tmp_path: Path, io: str, handle: str) -> None:
    with servers.stub(str(tmp_path / ".s.PGSQL.5432")):
        null = {"host": str(tmp_path), "port": 5432, "user": "nobody", "password": None, "database": "null"}
        asked = servers.plan(
            {**null, "tls": "disable", "ca_file": None}, io=io, handle=handle, points=[1, 40]
        )
        try:
            result = run(asked)
        except _core.LoadError as error:
            pytest.skip(str(error))
    assert all(count > 0 for count in result["clients"]["transactions"])
    assert result["errors"]["count"] == [] and result["engine"]["reconnections"] == 0


def test_a_mariadb_that_is_killed_ends_the_run() -> None:
    with mariadb_server.mariadb() as mortal:

        def kill(line: str) -> None:
            if json.loads(line).get("phase") == "measure":
                mortal.process.send_signal(signal.SIGKILL)

        with pytest.raises(_core.LoadError, match="all connections were lost"):
            _core.load_run(json.dumps(servers.plan(mortal.endpoint(), measure_s=30)), kill)
