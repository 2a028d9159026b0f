"""Real PostgreSQL servers of every version on this machine, one of each a session."""

import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from live_postgres import Server, bindirs, start_server, stop_server

from steelyard.monitors import Monitor, Target


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
        if server.process.poll() is None:
            stop_server(server)
        shutil.rmtree(server.folder, ignore_errors=True)


@pytest.fixture
def opened() -> Iterator[Any]:
    """Opens monitors, and closes them whatever happens."""
    monitors: list[Monitor] = []

    def open_(monitor: Monitor, target: Target) -> Monitor:
        monitors.append(monitor)
        monitor.open(target)
        return monitor

    yield open_
    for monitor in monitors:
        monitor.close()
