"""Real PostgreSQL servers of every version on this machine, one of each a session."""

import shutil
from collections.abc import Iterator

import pytest
from live_postgres import Server, bindirs, start_server, stop_server

from steelyard.host.processes.process_mark import free, shared_memory


@pytest.fixture(scope="session", params=bindirs(), ids=lambda bindir: bindir.parent.name)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    server = start_server(request.param)
    with server.connect() as connection:
        connection.execute("create extension pg_stat_statements")
    try:
        yield server
    finally:
        stop_server(server)


@pytest.fixture
def mortal_server() -> Iterator[Server]:
    """One that a test may kill."""
    server = start_server(bindirs()[0])
    try:
        yield server
    finally:
        memory = shared_memory([server.process.pid])
        if server.process.poll() is None:
            stop_server(server)
        free(memory)
        shutil.rmtree(server.folder, ignore_errors=True)
