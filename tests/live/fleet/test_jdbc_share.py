"""Java engines that share a plan do the work of one, as the native engine's do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from java_engine import PGJDBC, class_path, needs_java
from java_hosts import CONNECT, NEXT, WORK, Javas, drawn, share, share_server, turn
from servers import Server, plan

from steelyard import _core
from steelyard.errors import InputError
from steelyard.fleet.on_host import driver
from steelyard.fleet.place import refuse_without_drivers

pytestmark = needs_java


@pytest.fixture(scope="module")
def pgjdbc() -> list[str]:
    return class_path(PGJDBC)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with share_server() as running:
        yield running


def test_a_host_sends_what_the_native_engine_sends_with_the_same_share(
    server: Server, pgjdbc: list[str]
) -> None:
    own = plan(server.endpoint(), **WORK, points=[2], **share(1, 2))
    commands = iter([CONNECT, turn(), NEXT])
    native = json.loads(
        _core.load_run(json.dumps(own), lambda _: None, lambda _: json.dumps(next(commands)()))
    )
    expected = drawn(server)
    java = Javas(server, pgjdbc, own).result([CONNECT, turn(), NEXT])
    found = drawn(server)
    assert java.tables["clients"]["client"] == native["clients"]["client"] == [1]
    both = min(len(found), len(expected))
    assert both > 3 and found[:both] == expected[:both]
    # numbers that host 0 does not use
    assert found[:2] == [(found[0][0], 10, 1), (found[1][0], 16, 3)]


class _Hosts:
    """Two hosts; the second lacks the jar."""

    hosts = ("load1", "load2")

    def call(self, operation: str, calls: Mapping[str, Mapping[str, Any]], _limit_s: float) -> dict[str, Any]:
        assert operation == "driver"
        there = {"load1": PGJDBC, "load2": "/nowhere/driver.jar"}
        return {host: asyncio.run(driver(there[host])) for host in calls}


def test_a_host_without_the_driver_is_named() -> None:
    hosts: Any = _Hosts()
    with pytest.raises(InputError, match=r"host load2: .*there is no file /nowhere/driver\.jar") as refused:
        refuse_without_drivers(hosts, {"driver.jar"})
    assert refused.value.hint.startswith("on load2: ")
